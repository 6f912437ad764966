"""The demo, as `make demo` runs it where nobody is at a terminal."""

import asyncio
import os
import re
import signal
import subprocess
from pathlib import Path

from tests.e2e.running import HALTPOINT, answers
from tests.pictures.demo import bare, sentences
from tests.support import PATIENCE
from tests.support.processes import until


def test_it_answers_by_itself_and_leaves_the_cases_on_the_page_until_ctrl_c(tmp_path: Path) -> None:
    """`make wheel` runs it from an installed wheel."""
    said = tmp_path / "said"
    with said.open("w") as output:
        demo = subprocess.Popen(
            [*HALTPOINT, "demo", "--page"],
            env={**os.environ, "TMPDIR": str(tmp_path)},
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
        until(lambda: "Ctrl-C ends it" in said.read_text())
        text = said.read_text()
        page = re.search(r"The page: (http://\S+)", text)
        assert page
        assert asyncio.run(answers(f"{page[1]}/login"))
        demo.send_signal(signal.SIGINT)
        assert demo.wait(PATIENCE) == 0
    assert text.startswith("Haltpoint demo")
    assert "■ STOP  Which 'John' do you mean?" in text
    assert "This is not a terminal, so the demo chooses: John Doe." in text
    assert "never executed" in text
    assert "wrong recipients" in text
    assert [one for one in sentences() if one not in bare(text)] == [], (
        "stale: run `python -m tests.pictures.demo`"
    )
    assert list(tmp_path.glob("haltpoint-demo-*")) == []
