"""The default patterns that restrict (CONTRACT C2): `ask-first` and `do-not`, English and German, and words of deeds.

They err towards a question: what they take for a condition costs the user one yes. Not taken for one: how something is
written ("don't be too formal", "never mention ..."), reading ("do not open ..."), "do not forget to", "don't worry".
"""

from typing import Final

from haltpoint.contracts.policy import Does, Pattern

_REST: Final = r"[^,;:.!?\n()]*"
_STYLE: Final = (
    "forget|hesitate|worry|bother|be|have|need|use|include|mention|exceed|repeat|translate|know|think|mind|care|make"
    "|invent|guess|assume|ask|let|say|want|look|search|read|open|list|check|stop|wait|get|take|only|miss|lose|hurry"
)
_BEGIN: Final = r"(?:^\W*|[,;:(]\s*|\b(?:and|but|or|so|then|please|you|just|also)\s+)"
_SIGN_EN: Final = "(?:ok|okay|approval|confirmation|permission|consent|go-ahead|agreement|yes)"
_SIGN_DE: Final = "(?:best(?:ä|ae)tig|freigabe|freigeb|zustimm|erlaubnis|einverst|einwillig|genehmig|okay|ok\\b)"
_TUN: Final = (
    r"(?:(?:ab|an|zu|ver|weg|auf)?(?:zu)?(?:schreib|send|schick|mail|l(?:ö|oe)sch|zahl|(?:ü|ue)berweis|speicher"
    r"|bestell|buch|kauf|antwort|kontaktier|benachrichtig|informier|(?:ver)?(?:ö|oe)ffentlich|(?:ä|ae)nder"
    r"|(?:ü|ue)berschreib|ruf|storn|entfern|k(?:ü|ue)ndig|erstell)\w*)"
)

_DO_NOT: Final = (
    rf"{_BEGIN}(?:please\s+)?(?:do not|don't|dont|never|must not|mustn't|should not|shouldn't|may not|are not to)\s+"
    rf"(?:ever |yet |actually |also |just |please )*(?!(?:{_STYLE})\b|\w+ed\b)[a-z]{_REST}"
    rf"|\b(?:do not|don't|wouldn't) (?:want|like) (?:you|anyone|anything|anybody) (?:to )?\w{_REST}"
    r"|\b(?:without|avoid|refrain from) (?:actually |ever )?(?:send|writ|mail|messag|reply|contact|notif|delet|remov"
    rf"|pay|buy|order|book|sav|publish|post|shar|chang|edit){_REST}"
    rf"|\b(?:under no circumstances|on no account){_REST}"
    rf"|(?:^\W*|[,;:(]\s*|\b(?:und|aber|bitte|dann|oder|doch)\s+)(?:bitte\s+)?{_TUN}\b(?:(?!\b(?:dass|daß|ob|weil|wenn|falls"
    rf"|ich)\b)[^,;:.!?\n()])*?\b(?:nicht|nichts|nie|niemals|kein\w*)\b{_REST}|(?<!vergiss )(?<!vergessen )\b(?:nicht"
    rf"|nichts|nie|niemals|kein\w* \w+) (?:\w+ ){{0,3}}?{_TUN}{_REST}|\bohne\b(?: \w+){{0,6}}? {_TUN}{_REST}"
)
_ASK_FIRST: Final = (
    r"(?<!don't )(?<!not )(?<!never )(?<!need to )(?<!have to )\b(?:"
    r"(?:ask|consult) me\b[^.!?\n]*?\b(?:(?<!the )first|before(?:hand)?|prior)\b|show me\b[^.!?\n]*?\bbefore\b"
    r"|(?:check|confirm|clear it) (?:back )?with me\b|run (?:it|this|that|them) (?:by|past) me\b"
    r"|(?:let|allow) me (?:to )?(?:first )?(?:confirm|approve|review|check|decide|sign off)\b"
    rf"){_REST}"
    r"|\bbefore\b[^.!?\n]*?[, ](?:please )?(?:ask|consult|show|check with|confirm with) me\b"
    rf"|\b(?:wait|waiting) (?:for|until) (?:me|i|my)\b{_REST}"
    r"|\b(?:ask|get (?:an? |the )?(?:approval|confirmation|permission|ok)) first\b"
    r"|\b(?:once|when|after|until|unless|only if) i(?:'ve| have)? (?:confirm|approv|agree|say|said|ok|give|allow)\w*"
    rf"|\bmy (?:explicit |prior |written |final )*{_SIGN_EN}\b"
    r"|\bi (?:want|wish|need|have|would like|'d like) to (?:confirm|approve|review)\b"
    r"|\bfrag\w*\s+(?:sie |bitte |doch )*(?:mich|uns|bei mir)\b[^.!?\n]*?\b(?:vorher|zuerst|erst|davor|bevor|ehe|zuvor"
    rf"|nach)\b{_REST}|\b(?:vorher|zuerst|erst|zuvor|davor)\b[^.!?\n]{{0,40}}?\b(?:nach|an|r(?:ü|ue)ck)?(?:fragen|gefragt)\b"
    r"|\b(?:bevor|ehe)\b[^.!?\n]*?\bfrag\w* (?:bitte )?(?:mich|uns|bei mir)\b|\br(?:ü|ue)cksprache\b"
    rf"|\blass\w* (?:sie |es |das )*(?:mich|uns)\b[^.!?\n]*?\b(?:{_SIGN_DE}|pr(?:ü|ue)f|entscheid|absegn|gegenles)\w*"
    rf"|\bwarte\w*\b[^.!?\n]*?\b{_SIGN_DE}\w*|\bmeine?[rnm]? (?:ausdr\w+ )?{_SIGN_DE}\w*"
    rf"|\b(?:bis|wenn|sobald) ich\b[^,.!?\n]*?\b{_SIGN_DE}\w*"
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

CONDITIONS: Final = (
    Pattern(id="ask-first", does=Does.ASK_BEFORE, pattern=_ASK_FIRST, reason="the words want to be asked first"),
    Pattern(id="do-not", does=Does.FORBIDDEN, pattern=_DO_NOT, reason="the words forbid it"),
)
