"""Secrets of known forms inside of text: keys, tokens, passwords. Where one is found, three stars
take its place.
"""

import re
from typing import Any, Final

STARS: Final = "***"

# Each bounded where it may begin anywhere, so that no text takes more than a moment.
_SECRETS: Final = (
    (re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{8,}"), rf"\1 {STARS}"),
    (
        re.compile(
            r"(?i)((?:api[_-]?key|access[_-]?key|private[_-]?key|token|secret|passwd|password|pwd|credential"
            r"|authorization|cookie)[\w-]{0,64}[\"']?\s*[:=]\s*)(?:\"[^\"]*\"|'[^']*'|[^\s,;&\"')}\]]+)"
        ),
        rf"\1{STARS}",
    ),
    (re.compile(r"://[^/@\s:]*:[^/@\s]*@"), f"://{STARS}@"),
    (re.compile(r"\b(?:sk|pk|rk|gh[pousr]|github_pat|xox[abprs]|glpat)[-_][\w-]{8,}"), STARS),
    (re.compile(r"\bAKIA[0-9A-Z]{12,}"), STARS),
    (re.compile(r"\beyJ[\w-]{8,512}\.[\w-]{8,}\.[\w-]*"), STARS),
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*", re.DOTALL), STARS),
)


def without_secrets(text: str) -> str:
    """The text with stars in place of secrets."""
    for pattern, stars in _SECRETS:
        text = pattern.sub(stars, text)
    return text


def names_secret(name: str) -> bool:
    """Whether what has this name is a secret, whatever it looks like."""
    return without_secrets(f"{name}=x") != f"{name}=x"


def starred(value: Any) -> Any:
    """JSON values with stars in place of secrets: in texts, and for fields whose name says that
    they are secret.
    """
    if isinstance(value, str):
        return without_secrets(value)
    if isinstance(value, list):
        return [starred(one) for one in value]
    if isinstance(value, dict):
        return {name: STARS if names_secret(name) else starred(one) for name, one in value.items()}
    return value
