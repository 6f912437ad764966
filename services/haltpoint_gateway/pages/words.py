"""All words of the pages, by page: one file of them, `words.toml`."""

import tomllib
from importlib.resources import files
from typing import Any, Final

WORDS: Final[dict[str, Any]] = tomllib.loads(
    (files("haltpoint_gateway.pages") / "words.toml").read_text(encoding="utf-8")
)
