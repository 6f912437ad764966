"""The patterns that are on without a policy file (CONTRACT C2). Conservative: what they miss, F1 may still find.

Each asks for words in the place of a request ("write ...", "could you write ...", "I want you to write ..."), so that
"I write files for a living" asks for nothing. Their tools are globs over names as people give them; a glob needs the
action and its object (`*write*file*`), or names that mean nothing else (`write_plan*`).
"""

from typing import Final

from haltpoint.chain.patterns_conditions import CONDITIONS
from haltpoint.contracts.policy import Pattern

_LEAD: Final = (
    r"(?:(?:please|kindly|now|then|and|also|first|second|next|finally|ok|okay|so|just|hey|hi|hello|well|again|quickly"
    r"|afterwards|yes|great|thanks|thank you|perfect|maybe|or|to|go ahead and|let's|let us|help me(?: to)?|remember to"
    r"|be sure to|make sure (?:to|you|that you)|don't forget to|do not forget to|never forget to|try to|try and"
    r"|your task is to|todo|task) )*"
)
_ASK: Final = (
    rf"(?:^\W*{_LEAD}|\b(?:can|could|would|will|won't|why don't) (?:you|we) (?:please |kindly |also |just |now |then "
    rf"|maybe |possibly |quickly )*{_LEAD}|\b(?:want|need|like|expect|require) you to {_LEAD}|\bi(?:'d like| would like"
    rf"| want| need| wish) to {_LEAD}"
    r"|\bplease (?:also |just |now |then )?|^\W*(?!(?:i|we|you|he|she|they|it|this|that|these|those|the|my|our|your|his"
    r"|her|their|there|who|what)\b)\w.*? (?:and|then) (?:also |then |please |just |finally )*)"
)
_NAME: Final = (
    r"[\w/~-][\w./~-]*\.(?:md|txt|csv|tsv|json|jsonl|ya?ml|toml|ini|cfg|conf|env|py|js|ts|tsx|jsx|html?|css|scss|sh|bat"
    r"|ps1|sql|xml|log|rs|go|java|kt|c|h|cpp|hpp|cs|rb|php|swift|tex|rst|docx?|xlsx?|pptx?|pdf|ipynb|svg|png|jpe?g)"
)
_THEN: Final = (
    r"(?=\s*$|\s*[.,;:!?\")\]']|\s+(?:called|named|titled|with|in|at|to|for|from|that|which|containing|and|or|on|of|as"
    r"|under|into|inside|please|now|then|again|there|here|using|holding|listing|describing|where|by|via|so|based"
    r"|through|today|first|too|instead|when)\b"
    rf"|\s+(?:§|{_NAME}))"
)
_ADJECTIVE: Final = (
    r"(?!(?:about|regarding|how|why|what|that|which|who|where|when|if|from|for|with|without|like|than|because|to|into"
    r"|of|on|in|as|by|and|or|is|are|was|were)\b)[\w.'/-]+\s+"
)
_FILE: Final = rf"(?:files?|{_NAME}){_THEN}"
_TARGET: Final = (
    rf"(?:to|into|as|inside)\s+(?:(?:an?|the|my|our|your|this|that|some|another|new)\s+(?:[\w-]+\s+){{0,2}}?)?{_FILE}"
    rf"|in\s+(?:an?|another|some)\s+(?:[\w-]+\s+){{0,2}}?{_FILE}"
)
_GAP: Final = (
    r"(?:(?:this|that|it|them|everything|all|§)\s+|(?!\s))(?:(?!(?:about|regarding|how|why|what|that|which|who|where"
    r"|when|if|explaining|describing|from|for|without|like|than|because|to|into|as|inside{no})\b)[^\s]+\s+){{0,10}}?"
)
_WRITE: Final = (
    rf"{_ASK}(?:(?:write|save|create|append|overwrite|store|generate|make(?! sure))"
    rf"\s+(?:(?:me|us)\s+)?(?:{_ADJECTIVE}){{0,4}}?{_FILE}"
    rf"|(?:write|append|create|store)\s+{_GAP.format(no='|of')}(?:{_TARGET})|save\s+{_GAP.format(no='')}(?:{_TARGET}))"
)
_DATABASE: Final = r"(?:db|database|databases)\b"
_SEARCH: Final = (
    rf"{_ASK}(?:query\s+(?:[\w'-]+\s+){{0,3}}?{_DATABASE}"
    r"|(?:query|search|find|look up|look|fetch|get)\s+(?!out\b)(?:[^\s]+\s+){0,10}?(?:in|from|through)\s+(?:the|our"
    r"|my|your|this|that)\s+"
    rf"(?:[\w-]+\s+){{0,2}}?{_DATABASE}{_THEN}"
    rf"|search\s+(?:the|our|my|your|this|that)\s+(?:[\w-]+\s+){{0,2}}?{_DATABASE}{_THEN})"
)
_SKILL: Final = ("*skill*",)


def _run(short: str, long: str) -> str:
    return (
        rf"{_ASK}(?:(?:run|execute|perform|do|start|apply)\s+(?:(?:the|a|an|our|my|another|new|this|that)\s+)?"
        rf"(?:{short}(?=\s*$|\W|\s+(?:on|over|for|skill|analysis|again|now|with|and|please)\b)|{long}\b)"
        rf"|{_ANALYZE[short]})"
    )


_ANALYZE: Final = {
    "pcc": r"analy[sz]e\s+(?:[\w-]+\s+){0,3}?requirements?\b",
    "cap": r"analy[sz]e\s+(?:[\w-]+\s+){0,3}?capabilit(?:y|ies)\b",
    "red": r"analy[sz]e\s+(?:[\w-]+\s+){0,3}?risks?\b",
}

PATTERNS: Final = (
    Pattern(
        id="file-write",
        pattern=_WRITE,
        tools=(
            "*write*file*", "*file*write*", "*save*file*", "*file*save*", "*create*file*", "*file*create*",
            "*append*file*", "*overwrite*", "*edit*file*", "write", "save", "write_text", "save_text", "write_plan*",
            "*text_editor*", "*edit_tool*", "*put*file*", "*upload*file*", "bash", "*shell*", "*run_command*",
            "*execute_command*", "*terminal*",
        ),
        reason="the words ask for a file to be written",
    ),
    Pattern(
        id="database-search",
        pattern=_SEARCH,
        tools=("*database*", "db", "db_*", "*_db", "*_db_*", "*sql*", "*query*", "*search*record*"),
        reason="the words ask for a search in a database",
    ),
    Pattern(
        id="skill-pcc",
        pattern=_run("pcc", r"(?:requirements?|pcc)\s+analysis"),
        tools=(*_SKILL, "pcc", "pcc_*", "*_pcc", "*requirement*"),
        reason="the words ask for an analysis of requirements, which is a skill",
    ),
    Pattern(
        id="skill-cap",
        pattern=_run("cap", r"capabilit(?:y|ies)\s+analysis"),
        tools=(*_SKILL, "cap", "cap_*", "*_cap", "*capability*"),
        reason="the words ask for an analysis of capabilities, which is a skill",
    ),
    Pattern(
        id="skill-red",
        pattern=_run("red", r"risk\s+analysis"),
        tools=(*_SKILL, "red", "red_*", "*_red", "*risk*"),
        reason="the words ask for an analysis of risks, which is a skill",
    ),
    *CONDITIONS,
)  # fmt: skip
"""In the order in which they are told."""
