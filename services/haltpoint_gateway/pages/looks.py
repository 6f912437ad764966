"""How values look on a page: signs that deceive are spelt out, times are the reader's, and a page
may do nothing but what it has to.
"""

import json
import re
import unicodedata
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

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

_WORD: Final = re.compile(r"\w+")
_SPELT: Final = Markup('<span class="spelt" title="{title}">{code}</span>')
_TIME: Final = Markup('<time datetime="{}">{:%Y-%m-%d %H:%M:%S} UTC</time>')
_MOMENT: Final = TypeAdapter(datetime)
_UNITS: Final = {"d": 86400, "h": 3600, "min": 60, "s": 1}
_LATIN: Final = "LATIN"
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
    line = re.sub(r"[\n\t]", "", whole)
    if line.isascii() and line.isprintable():
        return Markup.escape(whole)
    strange = {place for place, sign in enumerate(whole) if _is_hidden(sign)}
    strange.update(_look_alikes(whole))
    return Markup("").join(
        _named(sign) if place in strange else sign for place, sign in enumerate(whole)
    )


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
    read = _MOMENT.validate_python(value)
    exact = read.astimezone(UTC)
    return _TIME.format(exact.isoformat(timespec="seconds"), exact)


def is_at(place: str, name: str) -> bool:
    """Whether a place in the arguments of a call is this argument, or inside of it."""
    return place == name or place.startswith((f"{name}.", f"{name}["))


def lasting(seconds: float) -> str:
    """A length of time in the largest unit of which there are two."""
    for unit, size in _UNITS.items():
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds * 1000:.0f} ms"


def _named(sign: str) -> Markup:
    name = unicodedata.name(sign, "control character")
    return _SPELT.format(title=name, code=f"U+{ord(sign):04X}")


@lru_cache(maxsize=4096)
def _is_hidden(sign: str) -> bool:
    if sign in "\n\t":
        return False
    return sign in _SEPARATORS or spelt_out(sign) != sign


def _look_alikes(text: str) -> Iterator[int]:
    """The places of letters that are not Latin in words that have Latin ones, and of letters in
    another form than the plain one.
    """
    for word in _WORD.finditer(text):
        has_latin = any(_script(sign) == _LATIN for sign in word.group())
        for place, sign in enumerate(word.group(), word.start()):
            is_styled = unicodedata.normalize("NFKC", sign) != sign and sign.isalnum()
            is_foreign = has_latin and _script(sign) not in ("", _LATIN)
            if is_styled or is_foreign:
                yield place


@lru_cache(maxsize=4096)
def _script(sign: str) -> str:
    return unicodedata.name(sign, "").partition(" ")[0] if sign.isalpha() else ""


_PAGES: Final = Environment(
    loader=PackageLoader("haltpoint_gateway.pages"),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
)
_PAGES.filters.update(spelt=spelt, written=written, typed=as_typed, moment=moment, lasting=lasting)
_PAGES.filters.update(sign=SIGNS.__getitem__)
_TESTS: Final[dict[str, Any]] = {"at": is_at}
_PAGES.tests.update(_TESTS)
