"""The patterns that are on without a policy file (CONTRACT C2), and the English around a request. Conservative.

Each asks for words in the place of a request ("write ...", "could you write ...", "I want you to write ..."), so that
"I write files for a living" asks for nothing. Their tools are globs over names as people give them; a glob needs the
action and its object (`*write*file*`), or names that mean nothing else (`write_plan*`).
"""

import re
from typing import Final

from haltpoint.contracts.policy import Does, Pattern

DO_NOT: Final = "do-not"
"""The pattern for words that forbid something."""

ASKS_POLITELY: Final = re.compile(r"\b(?:can|could|would|will|won't|why don't) (?:you|we)\b", re.IGNORECASE)
ASKS_TO_KNOW: Final = re.compile(
    r"^\W*(?:(?:and|so|but|or|also|ok|hey|hi|well|then|no|yes|please)\W+)*(?:who|whose|whom|what|what's|where|which|why"
    r"|how|when)\b(?! (?:you are|you're|you have) done)|^\W*do (?:i|he|she|it|we|they|any\w*|some\w*)\b"
    r"|^\W*do (?:the|my|your|our|his|her|their|these|those)\b.*\?|^\W*(?:does|did|is|are|am|was|were|has|have|had"
    r"|should|shall|may|might|can|could|will|would|don't|didn't|haven't|isn't) (?:i|he|she|it|we|they|this|that|these"
    r"|those|there|the|a|an|any\w*|some\w*|every\w*|my|your|our|his|her|their)\b"
    r"|^\W*(?:do|did|have|had|are|were|should|may|might|didn't|haven't) you\b",
    re.IGNORECASE,
)
NO_REQUEST: Final = re.compile(
    r"\b(?:do not|does not|did not|is not|was not|not|never|cannot|without|instead of|rather than|avoid\w*|unable"
    r"|fail\w* to|refus\w+ to|stop|quit|hate|tri(?:es|ed) to|trying to|no (?:need|reason|point)|nor|neither|hardly|if"
    r"|unless|whether|in case|how (?:to|do|does|can|could|would|should|i|you|we|one)|ways? (?:to|of)|examples? of"
    r"|able to|ability to|used to|meant to|allowed to|supposed to|going to|asked (?:me|him|her|us|them|you) to"
    r"|told (?:me|him|her|us|them) to|when|whenever|while|until|after|before|once|because|since|mean(?:s)? (?:to|by)"
    r"|said|says|called)\b|n't\b",
    re.IGNORECASE,
)
NO_NEGATION: Final = re.compile(
    r"\b(?:don't|do not|never) forget\b|\bnot only\b|\bwhy don't (?:you|we)\b", re.IGNORECASE
)
ASKS_FOR_NONE: Final = re.compile(
    r"(?<![\w./-])(?:no|nothing|none|kein\w*|nichts?|nie|ohne)(?![\w/-]|\.\w)", re.IGNORECASE
)
"""What makes of a sentence a question, and of a clause no request; what only looks like a negation; and what makes none
of the words themselves that a pattern has found ("create no file").
"""

_LEAD: Final = (
    r"(?:(?:please|kindly|now|then|and|also|first|second|next|finally|ok|okay|so|just|hey|hi|hello|well|again|quickly"
    r"|afterwards|yes|great|thanks|thank you|perfect|maybe|or|to|go ahead and|let's|let us|help me(?: to)?|remember to"
    r"|be sure to|make sure (?:to|you|that you)|don't forget to|do not forget to|never forget to|try to|try and"
    r"|your task is to|todo|task) )*"
)
_ASK: Final = (
    rf"(?:^\W*{_LEAD}|\b(?:can|could|would|will|won't|why don't) (?:you|we) (?:please |kindly |also |just |now |then "
    rf"|maybe |possibly |quickly )*{_LEAD}|\b(?:want|need|like|expect|require) you to {_LEAD}|\bi(?:'d like| would like"
    rf"| want| need| wish) to {_LEAD}|\bplease (?:also |just |now |then )?|^\W*(?!(?:i|we|you|he|she|they|it|this|that"
    r"|these|those|the|my|our|your|his|her|their|there|who|what)\b)\w.*? (?:and|then) (?:also |then |please |just "
    r"|finally )*)"
)
_NAME: Final = (
    r"[\w/~-][\w./~-]*\.(?:md|txt|csv|tsv|json|jsonl|ya?ml|toml|ini|cfg|conf|env|py|js|ts|tsx|jsx|html?|css|scss|sh|bat"
    r"|ps1|sql|xml|log|rs|go|java|kt|c|h|cpp|hpp|cs|rb|php|swift|tex|rst|docx?|xlsx?|pptx?|pdf|ipynb|svg|png|jpe?g)"
)
_THEN: Final = (
    r"(?=\s*$|\s*[.,;:!?\")\]']|\s+(?:called|named|titled|with|in|at|to|for|from|that|which|containing|and|or|on|of|as"
    r"|under|into|inside|please|now|then|again|there|here|using|holding|listing|describing|where|by|via|so|based"
    rf"|through|today|first|too|instead|when)\b|\s+(?:§|{_NAME}))"
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
_DATABASE: Final = r"(?:db|databases?)\b"
_OURS: Final = rf"(?:the|our|my|your|this|that)\s+(?:[\w-]+\s+){{0,2}}?{_DATABASE}{_THEN}"
_SEARCH: Final = (
    rf"{_ASK}(?:query\s+(?:[\w'-]+\s+){{0,3}}?{_DATABASE}|search\s+{_OURS}|(?:query|search|find|look up|look|fetch|get)"
    rf"\s+(?!out\b)(?:[^\s]+\s+){{0,10}}?(?:in|from|through)\s+{_OURS})"
)

_REST: Final = r"[^,;:.!?\n()]{0,200}"
_GAP_200: Final = r"[^.!?\n]{0,200}?"
"""Every gap is bounded: the time to look at a goal grows with its length and not with its square."""
_STYLE: Final = (
    "forget|hesitate|worry|bother|be|have|need|use|include|mention|exceed|repeat|translate|know|think|mind|care|make"
    "|invent|guess|assume|ask|let|say|want|look|search|read|open|list|check|stop|wait|get|take|only|miss|lose|hurry"
)
_BEGIN: Final = (
    r"(?:^\W*|[^\w\s§'/.@-]\s*|\s[/-]+\s|\b(?:and|but|or|so|then|please|you|just|also|und|aber|bitte|dann|oder|doch)\s+)"
    r"(?:please\s+|bitte\s+)?"
)
_SIGN_EN: Final = "(?:ok|okay|approval|confirmation|permission|consent|go-ahead|agreement|yes)"
_SIGN_DE: Final = "(?:best(?:ä|ae)tig|freigabe|freigeb|zustimm|erlaubnis|einverst|einwillig|genehmig|okay|ok\\b)"
_ME: Final = "(?:mich|mir|uns|bei mir)"
_DO: Final = (
    "(?:send|writ|mail|messag|repl|contact|notif|delet|remov|pay|buy|order|book|sav|publish|post|shar|chang|edit)"
)
_TUN: Final = (
    r"(?:(?:ab|an|zu|ver|weg|auf|be)?(?:zu)?(?:schreib|send|schick|mail|l(?:ö|oe)sch|zahl|(?:ü|ue)berweis|speicher"
    r"|stell|buch|kauf|antwort|kontaktier|benachrichtig|informier|(?:ver)?(?:ö|oe)ffentlich|(?:ä|ae)nder"
    r"|(?:ü|ue)berschreib|ruf|storn|entfern|k(?:ü|ue)ndig|erstell|leit|leg|trag|teil)\w*)"
)
_DO_NOT: Final = (
    rf"{_BEGIN}(?:do not|don't|dont|never|must not|mustn't|should (?:not|never)|shouldn't|may not|are not to)\s+"
    rf"(?:ever |yet |actually |also |just |please )*(?!(?:{_STYLE})\b|\w+ed\b)[a-z]{_REST}"
    rf"|\b(?:do not|don't|wouldn't) (?:want|like) (?:you|anyone|anything|anybody) (?:to )?\w{_REST}"
    rf"|\b(?:without|avoid|refrain from|(?:make sure|be (?:sure|careful)|try|you're) not to) (?:actually |ever )?"
    rf"{_DO}{_REST}"
    rf"|{_BEGIN}{_DO}\w* (?:to )?(?:(?!that\b|why\b|how\b|if\b)\w+ )?"
    rf"(?:nothing|no (?:e-?mails?|messages?|money|payments?|orders?|invitations?|files?))\b{_REST}"
    rf"|\b(?:under no circumstances|on no account){_REST}"
    rf"|{_BEGIN}{_TUN}\b(?:(?!\b(?:dass|daß|ob|weil|wenn|falls|ich)\b)[^,;:.!?\n()]){{0,200}}?"
    rf"\b(?:nicht|nichts|nie|niemals|kein\w*)\b{_REST}"
    rf"|(?<!vergiss )(?<!vergessen )\b(?:nichts?|nie|niemals|kein\w* \w+) (?:\w+ ){{0,3}}?{_TUN}(?<=n)\b{_REST}"
    rf"|\bohne\b(?: \w+){{0,6}}? {_TUN}{_REST}"
)
_ASK_FIRST: Final = (
    r"(?<!don't )(?<!not )(?<!never )(?<!need to )(?<!have to )\b(?:"
    rf"(?:(?:ask|consult) me|let me (?:see|look))\b{_GAP_200}\b(?:(?<!the )first|before(?:hand)?|prior)\b"
    rf"|ask before (?:you|\w+ing)\b|show me\b{_GAP_200}\bbefore\b"
    r"|show me\b(?! (?:who|what|which|whose|when|how|where)\b)"
    rf"{_GAP_200}\b(?<!the )(?<!est )(?<!came )first(?=\W*\Z|[.!?])"
    r"|(?:check|confirm|clear it) (?:back )?with me\b|run (?:it|this|that|them) (?:by|past) me\b"
    r"|(?:let|allow) me (?:to )?(?:first )?(?:confirm|approve|review|check|decide|sign off)\b"
    rf"){_REST}"
    rf"|\bbefore\b{_GAP_200}[, ](?:please )?(?:ask|consult|show|check with|confirm with) me\b"
    rf"|\b(?:wait|waiting) (?:for|until) (?:me|i|my)\b{_REST}"
    r"|\b(?:ask|get (?:an? |the )?(?:approval|confirmation|permission|ok)) first\b"
    r"|\b(?:once|when|after|until|unless|only if) i(?:'ve| have)? (?:confirm|approv|agree|say|said|ok|give|allow)\w*"
    rf"|\bmy (?:explicit |prior |written |final )*{_SIGN_EN}\b"
    r"|\bi(?: want| wish| need| have| would like|'d like) to (?:confirm|approve|review)\b"
    rf"|\b(?:frag|zeig)\w*\s+(?:sie |es |ihn |bitte |doch )*{_ME}\b{_GAP_200}"
    rf"\b(?:vorher|zuerst|erst|davor|bevor|ehe|zuvor|nach)\b{_REST}"
    rf"|{_BEGIN}frag\w* (?:bitte |doch )?(?:vorher|zuerst|davor|zuvor|nach)\b"
    r"|\b(?:vorher|zuerst|erst|zuvor|davor)\b[^.!?\n]{0,40}?\b(?:nach|an|r(?:ü|ue)ck)?(?:fragen|gefragt)\b"
    rf"|\b(?:bevor|ehe)\b{_GAP_200}\b(?:frag\w* (?:bitte )?{_ME}|{_ME} fragen)\b"
    rf"|\br(?:ü|ue)cksprache\b|\blass\w* (?:sie |es |das )*{_ME}\b{_GAP_200}"
    rf"\b(?:{_SIGN_DE}|pr(?:ü|ue)f|entscheid|absegn|gegenles|(?:dr(?:ü|ue)ber)?schau)\w*"
    rf"|\b(?:warte\w*|(?:bis|wenn|sobald) ich)\b{_GAP_200}\b{_SIGN_DE}\w*|\bmeine?[rnm]? (?:ausdr\w+ )?{_SIGN_DE}\w*"
)

_SEND: Final = (
    "send|sent|mail|email|e-mail|messag|repl|notif|inform|tell|told|post|forward|invit|sms|schick|antwort|nachricht"
    "|benachrichtig"
)
DEEDS: Final = (
    (_SEND, "writ|answer|contact|schreib|kontaktier|ruf"),
    ("sav|stor|writ|overwrit|append|record|note|upload|speicher|notier", "ableg|schreib|überschreib|ueberschreib"),
    ("creat|add|mak|erstell|anleg", ""),
    ("delet|remov|eras|purg|wip|drop|clear|trash|lösch|loesch|entfern", ""),
    ("pay|paid|transfer|charg|buy|purchas|order|refund|spend|zahl|überweis|ueberweis|kauf|bestell", ""),
    ("book|reserv|schedul|buch", ""),
    ("publish|releas|deploy|shar|post|veröffentlich|veroeffentlich|teil", "öffentlich|oeffentlich"),
    ("chang|updat|edit|modif|alter|renam|mov|overwrit|änder|aender|bearbeit|umbenenn|verschieb", ""),
    ("cancel|storn|kündig|kuendig|absag", ""),
)
"""Beginnings of words for the same deed, and those that mean it only where users say them, not in a tool's words."""


def _skill(short: str, what: str, spelt: str, glob: str) -> Pattern:
    """The words that ask for one of the three analyses, by its short name or by what is analysed."""
    one = r"(?:(?:the|a|an|our|my|another|new|this|that)\s+)?"
    alone = rf"{short}(?=\s*$|\W|\s+(?:on|over|for|skill|analysis|again|now|with|and|please)\b)"
    return Pattern.model_construct(
        id=f"skill-{short}",
        pattern=rf"{_ASK}(?:(?:run|execute|perform|do|start|apply)\s+{one}(?:{alone}|{spelt}\s+analysis\b)"
        rf"|analy[sz]e\s+(?:[\w-]+\s+){{0,3}}?{spelt}\b)",
        tools=("*skill*", short, f"{short}_*", f"*_{short}", glob),
        reason=f"the words ask for an analysis of {what}, which is a skill",
    )


PATTERNS: Final = (
    Pattern.model_construct(
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
    Pattern.model_construct(
        id="database-search",
        pattern=_SEARCH,
        tools=("*database*", "db", "db_*", "*_db", "*_db_*", "*sql*", "*query*", "*search*record*"),
        reason="the words ask for a search in a database",
    ),
    _skill("pcc", "requirements", "requirements?", "*requirement*"),
    _skill("cap", "capabilities", "capabilit(?:y|ies)", "*capability*"),
    _skill("red", "risks", "risks?", "*risk*"),
    Pattern.model_construct(
        id="ask-first", does=Does.ASK_BEFORE, pattern=_ASK_FIRST, reason="the words want to be asked first"
    ),
    Pattern.model_construct(id=DO_NOT, does=Does.ASK_BEFORE, pattern=_DO_NOT, reason="the words forbid something"),
)  # fmt: skip
"""In the order in which they are reported. Not checked: unlike an operator's they look ahead and behind."""
