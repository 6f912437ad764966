"""Words of a tool that a model or a person will read: one line, no secrets, no broken characters, not too long."""

import re
from typing import Final

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
_REPLACED: Final = re.compile("[\ud800-\udfff\x00-\x08\x0b-\x1f\x7f]")


def clean(text: str, limit: int) -> str:
    """`text` without secrets of known forms and with lone surrogates and control characters replaced; at most `limit`
    characters, the last one an ellipsis when something was left out.
    """
    text = _REPLACED.sub("\N{REPLACEMENT CHARACTER}", text[: 8 * limit])
    for pattern, stars in _SECRETS:
        text = pattern.sub(stars, text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def first_line(text: str, limit: int) -> str:
    """The first line that says something, cleaned: what follows may be a stack trace."""
    return clean(next((line.strip() for line in text[: 8 * limit].splitlines() if line.strip()), ""), limit)
