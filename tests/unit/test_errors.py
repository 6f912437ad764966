"""One catalogue of error codes: each is documented for people, and each documented code is raised
somewhere.
"""

import re
from pathlib import Path

from haltpoint.runtime.config.errors import CATALOGUE

CHECKOUT = Path(__file__).parents[2]
PAGE = CHECKOUT / "docs/reference/errors.md"


def documented() -> dict[str, str]:
    return dict(re.findall(r"^\| (HP-\d{3}) \| (.+?) \|", PAGE.read_text(), re.MULTILINE))


def test_every_code_is_documented_and_no_other() -> None:
    assert documented() == CATALOGUE


def test_every_code_is_raised_somewhere() -> None:
    catalogues = {
        CHECKOUT / "shared/haltpoint/runtime/config/errors.py",
        CHECKOUT / "shared/haltpoint/chain/model/outputs.py",
    }
    sources = [path for root in ("shared", "services") for path in (CHECKOUT / root).rglob("*.py")]
    raised = {
        code
        for path in sources
        if path not in catalogues
        for code in re.findall(r"HP-\d{3}", path.read_text())
    }
    members = dict(
        re.findall(
            r"(\w+) = \"(HP-\d{3})\"",
            (CHECKOUT / "shared/haltpoint/chain/model/outputs.py").read_text(),
        )
    )
    core = "".join(
        path.read_text()
        for path in (CHECKOUT / "shared/haltpoint/chain").rglob("*.py")
        if path.name != "outputs.py"
    )
    raised |= {code for name, code in members.items() if f"Code.{name}" in core}
    assert set(CATALOGUE) - raised == set()
