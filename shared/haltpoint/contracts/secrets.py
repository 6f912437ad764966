"""Secrets in texts and JSON values: known by their name, by their form, or by the type of a tool's
parameter. Three stars take their place.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import field
from functools import cache, lru_cache
from typing import Any, Final, TypeAlias

import re2
from msgspec import Raw, json

from haltpoint.contracts.base import value as frozen

Names: TypeAlias = Collection[str]

STARS: Final = "***"

_NAMES: Final = (
    r"pass[_-]?(?:words?|wds?|phrases?|codes?|keys?)|pwds?|secrets?|credentials?|cookies?|token"
    r"|authorization|(?:api|access|account|private|secret|signing|encryption)[ _-]?keys?"
    r"|(?:api|access|auth|refresh)[ _-]?tokens"
)
_SHORT: Final = "auth|card|iban|ssn|cvv|cvc|otp|totp|pin"
"""Other words end like these: they are names only as a separate word."""
_CAPITAL: Final = "Auth|Card|Iban|Ssn|Cvv|Cvc|Otp|Totp|Pin"
_SUFFIX: Final = r"(?:[ _-]?(?:number|no|value|code|hash|header|confirmation|again|\d{1,9}))?"
_NAME: Final = (
    rf"(?:(?i:{_NAMES})|(?<![A-Za-z])(?i:{_SHORT})|(?<=[a-z0-9])(?:{_CAPITAL}))(?i:{_SUFFIX})"
)
"""How the name of a secret ends. `max_tokens` and `card_id` end in another way."""
_NAMED: Final = re.compile(rf"{_NAME}\Z")
_KNOWN_BY_ITS_END: Final = re.compile(r"(?i)(?:card|iban)(?:[ _-]?(?:number|no))?\Z")
_PAIR: Final = re.compile(
    rf"({_NAME})(\\*[\"']?)(\s{{0,8}}[:=]\s{{0,8}})"
    r"(?:(\\*[\"'])(?:(?!\4)(?:\\.|.)){0,4096}?\4"
    r"|(?!(?:null|true|false|None)\b|[{\[(])(?:\d[\d -]{6,30}\d|[^\s,;&\"')}\]\\]+))",
    re.DOTALL,
)
"""A name and its value in a text: `password=...`, `"pin": 1234`, in JSON inside of JSON, too."""

_LIKE_PAIR: Final = rf"(?i:(?:{_NAMES}|{_SHORT}){_SUFFIX}\\*[\"']?\s*[:=])"
"""The same as far as linear time can tell."""

_PREFIXES: Final = (
    r"sk|pk|rk|gsk|xai|pplx|tvly|nvapi|gh[oprsu]|github_pat|gl(?:pat|dt|rt|cbt|ptt|soat|sa|c)|npm"
    r"|pypi|rubygems|dckr_pat|do[opr]_v1|GOCSPX|HRKU|PMAK|NRAK|xapp|xox[abceoprs]|ntn|lin_api|figd"
    r"|sntry[su]|sbp|pscale_(?:tkn|pw|oauth)|whsec|sq0[a-z]{3}|shp(?:at|ca|pa|ss)|AGE-SECRET-KEY"
)
"""Of model providers, code hosts, package indexes, clouds, chat, payment."""

FORMS: Final = (
    rf"\b(?:{_PREFIXES})[-_][\w-]{{8,}}",
    r"\b(?:hp|hf|r8)_[\w-]{30,}",
    r"\b(?:key-|SK|dapi)[0-9a-f]{32}",
    r"\bEAAA[\w-]{40,}",
    r"\b(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{12,}",
    r"\bAIza[\w-]{30,}",
    r"\bya29\.[\w.-]{20,}",
    r"\bAT(?:ATT|BB|CTT)[\w=-]{20,}",
    r"\bSG\.[\w-]{16,}\.[\w-]{16,}",
    r"\bhv[bsr]\.[\w-]{20,}",
    r"\bpat\w{14}\.[0-9a-f]{40,}",
    r"\b[0-9a-f]{32}-us\d{1,2}\b",
    r"\b\d{8,10}:AA[\w-]{30,}",
    r"\b[MNO][\w-]{22,27}\.[\w-]{6}\.[\w-]{27,}",
    r"\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)*",
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----[^\"'-]*(?:-----END [A-Z ]*-----)?",
    r"(hooks\.slack\.com/services/)[\w/]{20,}",
    r"([?&]sig=)[\w%+/=-]{20,}",
    r"(://)[^/@\s:\"\\]*:[^/@\s\"\\]*(@)",
    r"((?i:\b(?:bearer|basic)) +)[\w.~+/=-]{8,}",
)
"""Secrets that are known by what they look like; what is in a group stays."""

_FORM: Final = "|".join(FORMS)
_LIKE_SECRET: Final = rf"{_FORM}|{_LIKE_PAIR}"
"""The forms and the names, in one look."""
_compiled: Final = cache(re2.compile)

_level: Final = json.Decoder(dict[str, Raw] | list[Raw] | str | int | float | bool | None).decode
"""The outermost JSON value."""

_SHORTEST: Final = 3
"""Characters of a value that is searched for in other texts."""
_INSIDE: Final = 6
"""Characters of a value that is searched for inside of words, too."""
_SMALL: Final = 2048
"""Bytes of JSON that are read whole rather than looked at part by part."""
_ARGUMENTS: Final = frozenset({"arguments", "ran", "input"})
"""The fields of views that have the arguments of a call."""
_DATA: Final = _ARGUMENTS | {"data", "result", "value"}
"""Those that have values of tools and people; in others a word may be that of a state."""
_TOKEN: Final = re.compile(r"[\w.:~/+-]*")
"""An id, a time, the word of a state: no text in which words are searched for."""


@lru_cache(maxsize=4096)
def names_secret(name: str) -> bool:
    """Whether what has this name is a secret, whatever it looks like."""
    return _NAMED.search(name) is not None


def typed_in(schema: Any, name: str = "") -> Iterator[str]:
    """The names of the parameters that a tool types as `SecretStr`, by its JSON Schema."""
    if isinstance(schema, list):
        for option in schema:
            yield from typed_in(option, name)
    elif isinstance(schema, dict):
        if schema.get("writeOnly") is True:
            yield name
        for key, inner in schema.items():
            yield from typed_in(inner, name if key in ("anyOf", "items") else key)


def without_secrets(text: str, values: Iterable[str] = ()) -> str:
    """The text with stars in place of secrets of known forms and names, and of these values."""
    for hidden in sorted(values, key=len, reverse=True):
        text = _without(text, hidden)
    readable = text if text.isascii() else text.encode(errors="replace").decode()
    if not _compiled(_LIKE_SECRET).search(readable):
        return text
    return _PAIR.sub(_starred_pair, _compiled(_FORM).sub(_stars_between, readable))


def without_secrets_in(text: bytes, typed: Names = ()) -> bytes:
    """JSON text with stars; as it is when there is nothing to hide."""
    value = _opened(text, typed)
    return json.encode(starred(value, typed=typed))


def _opened(text: bytes, names: Names = ()) -> Any:
    """JSON text for `starred`: parts without secrets, also in fields of these names, stay text. A
    long view has few others.
    """
    is_named = any(json.encode(name) in text for name in names)
    if not (is_named or _compiled(_LIKE_SECRET).search(text.decode())):
        return Raw(text)
    if len(text) < _SMALL:
        return json.decode(text)
    level = _level(text)
    if isinstance(level, list):
        return [_opened(bytes(inner), names) for inner in level]
    if not isinstance(level, dict):
        return level
    return {
        name: json.decode(inner)
        if name == "properties" or name in names or names_secret(name)
        else _opened(bytes(inner), names)
        for name, inner in level.items()
    }


def starred(value: Any, names: Names = (), *, typed: Names = (), values: Iterable[str] = ()) -> Any:
    """JSON values with stars in place of secrets: in fields of these names and of names that say
    so, in texts, and wherever a secret of such a field is again. The names `typed` count in
    arguments alone; `values` are secrets, too.
    """
    hidden = frozenset((*values, *secret_values(value, names, typed)))
    return _Stars(hidden, typed).over(value, names)


def secret_values(value: Any, names: Names = (), typed: Names = ()) -> Iterator[str]:
    """The texts and numbers in fields that are secret, line by line."""
    if isinstance(value, list | tuple):
        for inner in value:
            yield from secret_values(inner, names, typed)
    elif isinstance(value, dict):
        for name, inner in value.items():
            if _is_schema(name, inner):
                continue
            if names_secret(name) or name in names:
                yield from lines_in(inner)
            else:
                yield from secret_values(inner, _below(name, names, typed), typed)


def lines_in(value: Any) -> Iterator[str]:
    """The lines of all texts and numbers of JSON values."""
    if isinstance(value, dict | list | tuple):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from lines_in(inner)
    elif value is not None and not isinstance(value, bool):
        yield from filter(None, map(str.strip, str(value).splitlines()))


def unstarred(given: Any, shown: Any, original: Any) -> Any:
    """What a person sends back: where it is as it was shown, or stars, it is the original."""
    if given in (shown, STARS):
        return original
    if isinstance(given, dict) and isinstance(original, dict):
        known = given.keys() & original.keys()
        kept = {name: unstarred(given[name], shown[name], original[name]) for name in known}
        return {**given, **kept}
    return given


@frozen
class _Stars:
    """Puts stars into JSON values; `values` are starred in all texts."""

    values: frozenset[str]
    typed: Names
    texts: dict[str, str] = field(default_factory=dict)
    """Texts with their stars: many come again and again."""

    def over(self, shown: Any, names: Names, *, is_data: bool = False) -> Any:
        """The JSON values with stars."""
        if is_data and str(shown) in self.values and len(str(shown)) >= _SHORTEST:
            return STARS
        if isinstance(shown, str):
            if shown not in self.texts:
                self.texts[shown] = without_secrets(shown, self.values)
            return self.texts[shown]
        if isinstance(shown, Raw):
            text = bytes(shown)
            is_plain = not any(json.encode(hidden)[1:-1] in text for hidden in self.values)
            return shown if is_plain else self.over(json.decode(text), names, is_data=is_data)
        if isinstance(shown, list | tuple):
            return [self.over(inner, names, is_data=is_data) for inner in shown]
        if isinstance(shown, dict):
            return {
                _key(name): self._field(name, inner, names, is_data=is_data or name in _DATA)
                for name, inner in shown.items()
            }
        return shown

    def _field(self, name: str, inner: Any, names: Names, *, is_data: bool) -> Any:
        if _is_schema(name, inner):
            return inner
        if names_secret(name) or name in names:
            return _stars_for(name, inner)
        return self.over(inner, _below(name, names, self.typed), is_data=is_data)


def _is_schema(name: str, inner: Any) -> bool:
    """Whether these are the properties of a JSON Schema, where names have no values."""
    if name != "properties" or not isinstance(inner, dict):
        return False
    return all(isinstance(schema, dict) for schema in inner.values())


def _below(name: str, names: Names, typed: Names) -> Names:
    return typed if name in _ARGUMENTS and typed else names


@lru_cache(maxsize=4096)
def _key(name: str) -> str:
    return without_secrets(name)


def _stars_for(name: str, hidden: Any) -> Any:
    """Stars; nothing where nothing is given, and of a card or an IBAN the end."""
    if hidden is None or isinstance(hidden, bool) or hidden == "":
        return hidden
    text = str(hidden)
    is_long = len(text) > 2 * _INSIDE and not text.startswith(STARS)
    return STARS + text[-4:] if is_long and _KNOWN_BY_ITS_END.search(name) else STARS


def _without(text: str, hidden: str) -> str:
    """The text without a value. One that is a word, a number or short is a status, a part of a time
    or in an id by chance, so it is searched for as a word of a text alone. No status is a number.
    """
    is_number = hidden.isdecimal()
    is_plain = hidden.replace("_", "").isalpha() or is_number
    if len(hidden) >= _INSIDE and not is_plain:
        return text.replace(hidden, STARS)
    is_whole = text == hidden and is_number
    if len(hidden) < _SHORTEST or (_TOKEN.fullmatch(text) and not is_whole):
        return text
    return re.sub(rf"(?<!\w){re.escape(hidden)}(?!\w)", STARS, text)


def _stars_between(form: Any) -> str:
    before, *after = [group for group in form.groups() if group] or [""]
    return f"{before}{STARS}{''.join(after)}"


def _starred_pair(pair: re.Match[str]) -> str:
    name, close, sign, quote = pair.groups()
    mark = quote or close
    return f"{name}{close}{sign}{mark}{STARS}{mark}"
