"""How values look on a page: signs that deceive are spelt out, times are the reader's, and a page
may do nothing but what it has to.
"""

import json
import re
import unicodedata
from datetime import UTC, datetime
from difflib import ndiff
from functools import lru_cache
from typing import Any, Final, cast

import re2
from jinja2 import Environment, PackageLoader
from markupsafe import Markup
from pydantic import TypeAdapter
from starlette.responses import HTMLResponse

from haltpoint.chain.model.canonical import spelt_out
from haltpoint.contracts.views.story import SIGNS
from haltpoint_gateway.pages.assets import address_of
from haltpoint_gateway.pages.forms import as_typed
from haltpoint_gateway.pages.words import WORDS

HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Of every page."""

_UNUSUAL: Final = re.compile(r"[^ -~\n\t]")
_LATIN_WORD: Final = re2.compile(r"[\pL\pN_]*\p{Latin}[\pL\pN_]*")
_FOREIGN: Final = re2.compile(r"[^\PL\p{Latin}]")
"""A letter of another alphabet."""
_SPELT: Final = Markup('<span class="spelt" title="{}">{}</span>')
_TIME: Final = Markup('<time datetime="{0:%FT%T}+00:00">{0:%F %T} UTC</time>')
_MOMENT: Final = TypeAdapter(datetime)
_UNITS: Final = {"d": 86400, "h": 3600, "min": 60, "s": 1, "ms": 0.001}
_SEPARATORS: Final = "\uff20\uff0e\uff0f\uff3c\u2044\u2215"
"""Signs that look like those between the parts of an address."""
_LINE: Final = 60
"""Characters of a value in one line."""


def html(name: str, status: int = 200, **values: Any) -> HTMLResponse:
    """A page out of its template and these values."""
    text = _PAGES.get_template(f"{name}.html").render(
        page=name, w=WORDS, asset=address_of, **values
    )
    return HTMLResponse(text, status, HEADERS)


def spelt(text: Any) -> Markup:
    """A text in which invisible signs, and letters that look like Latin ones inside of a Latin
    word, are spelt out.
    """
    whole = str(text)
    escaped = Markup.escape(whole)
    shown = _UNUSUAL.sub(lambda sign: _shown(sign.group()), escaped)
    if not shown.isascii():
        shown = _LATIN_WORD.sub(_latin, shown)
    return Markup(shown)  # noqa: S704 - it was escaped, and what came in is names of signs


def written(value: Any) -> Markup:
    """A value of JSON: a text as it is, anything else as JSON, indented when it is long."""
    if isinstance(value, str):
        return spelt(value)
    text = json.dumps(value, ensure_ascii=False)
    return spelt(text if len(text) <= _LINE else as_typed(value))


def moment(value: str | int | datetime | None) -> Markup:
    """A moment in UTC, which the page's script puts into the reader's zone; a number counts ms."""
    if value is None:
        return Markup("")
    exact = _MOMENT.validate_python(value).astimezone(UTC)
    return _TIME.format(exact)


def is_at(place: str, name: str) -> bool:
    """Whether a place in the arguments of a call is this argument, or inside of it."""
    return place == name or place.startswith((f"{name}.", f"{name}["))


def lasting(seconds: float) -> str:
    """A length of time in the largest unit of which there are two, or else in the smallest."""
    fitting = (unit for unit, size in _UNITS.items() if seconds >= 2 * size)
    unit = next(fitting, "ms")
    return f"{seconds / _UNITS[unit]:.0f} {unit}"


@lru_cache(maxsize=4096)
def _shown(sign: str) -> str:
    """A sign, spelt out when it is hidden, or another one in a form that is not the plain one."""
    is_styled = sign.isalnum() and unicodedata.normalize("NFKC", sign) != sign
    is_plain = spelt_out(sign) == sign and sign not in _SEPARATORS
    return sign if is_plain and not is_styled else _code(sign)


def _latin(word: Any) -> str:
    return str(_FOREIGN.sub(_named, word.group()))


def _named(letter: Any) -> str:
    return _code(letter.group())


def _code(sign: str) -> str:
    name = unicodedata.name(sign, "control character")
    return _SPELT.format(name, f"U+{ord(sign):04X}")


_PAGES: Final = Environment(
    loader=PackageLoader("haltpoint_gateway.pages"),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
)
_PAGES.filters.update(
    spelt=spelt,
    written=written,
    typed=as_typed,
    moment=moment,
    lasting=lasting,
    sign=SIGNS.__getitem__,
    difference=cast("Any", ndiff),
)
_PAGES.tests["at"] = cast("Any", is_at)
