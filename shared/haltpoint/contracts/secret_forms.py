"""How secrets are named, and what they look like: the tables, and which names are of secrets."""

import re
from functools import lru_cache
from typing import Final

_ENDS: Final = (
    r"pass_?(?:word|wd|phrase|code|key)s?|passwort|kennwort|mot_?de_?passe|contrase[nñ]a|senha"
    r"|wachtwoord|pwds?|secrets?|token|credentials?|cookies?|authorization|seed_?phrase|mnemonic"
    r"|(?:api|access|account|auth|private|secret|signing|encryption|decryption|master|licen[cs]e"
    r"|shared|hmac|ssh)_?keys?"
)
"""Names of secrets, whatever comes before them: `db_password`, `dbpassword`."""
_WORDS: Final = (
    r"pw|auth|bearer|jwt|(?:credit|debit|bank)?card|(?:cc|card)_?(?:number|num|no)|iban"
    r"|ssn|cvv|cvc|csc|otp|totp|pin|puk|(?:mfa|fa|factor|sms|verification|security|recovery|backup"
    r"|access|auth|login|unlock|activation|one_?time)_?codes?"
)
"""Other words end like these: they are names only as whole words."""
_SUFFIXES: Final = (
    r"number|num|nr|no|value|code|hash|header|headers|confirm|confirmation|confirmed|again|repeat"
    r"|repeated|verify|new|old|current|plain|plaintext|raw|str|string|pem|der|base|b|v|hex|encoded"
    r"|encrypted|\d{1,9}"
)
"""What may follow. `max_tokens`, `tokens_used`, `card_id`, `password_policy` are none."""
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+")
_NAMED: Final = re.compile(
    r"(?!.*(?:max|min|input|output|prompt|completion|total|stop|special|bos|eos|pad)_tokens?\Z)"
    rf"(?:.*(?:{_ENDS})|(?:.*_)?(?:{_WORDS}|pass|tokens))(?:_(?:{_SUFFIXES}))*\Z"
)
COUNTED: Final = re.compile(r"(?i)(?:\A|.*[\W_])(?:pass|tokens)\Z")
"""The names of numbers, too: `tokens: 512`."""
COUNTS: Final = re.compile(r"[\d. -]*")
KNOWN_BY_ITS_END: Final = re.compile(r"(?i)(?:card|iban)(?:[ _-]?(?:number|num|no))?\Z")
VALUE: Final = re.compile(
    r"(?:[bru]|\w+\()?(\\*[\"'`])(?:(?!\1)(?:\\.|[^\\])){0,4096}+\1"
    r"|\[[^\[\]{}]*[\"'][^\[\]{}]*\]|(?!(?:null|true|false|none|\*{3}\w{4})\b|[{\[(])"
    r"(?:(?<=(?:ord|ort|ase|ass|ard|ber|ban): )"
    r"(?:(?: (?!\S*[:=]))?[^\s\"'\\<>]*[^\s\"'\\<>,;.)}\]])+"
    r"|\d[\d -]{6,30}\d\b|[^\s,;&\"')}\]\\]+)",
    re.DOTALL | re.IGNORECASE,
)
"""In quotes; of what people write in words (passwords, phrases, cards) all up to a mark or the next
name; else a word or a number.
"""
LINE: Final = re.compile(r"(?:=\\*\"[^\"\r\n]*\"|[^\r\n\"'<>\\])+()")
"""All of a header or an element."""
HEAD: Final = re.compile(
    r"((?<![\w-])[\w-]*(?i:authorization|cookies?))\s{0,8}[:=]\s{0,8}(?![bru]?\\*[\"'])"
    r"|<(?:\w+:)?([\w-]++)[^<>]{0,200}(?<!/)>(?:<!\[CDATA\[)?(?=[^<]+</)"
    r"|(?<![\w-])(-{1,2}[\w-]++)\\*[\"']?,?\s{1,8}(?!-)"
    r"|(?<=[\"'])([\w-]++)\\*[\"'],?\s{0,8}\\*[\"']?(?i:value)\\*[\"']?\s{0,8}[:=]\s{0,8}"
    r"|[(\[,]\s?[(\[]b?\\*[\"']([\w-]++)\\*[\"'],\s?"
    r"|(?:(?<![\w\\-])|(?<=\\[nrt]))(?!(?:\w+ |(?<=\w ))(?i:pass|tokens)\b"
    r"|(?i:[\w-]*?(?:\b|_)(?:pass|tokens))\\*[\"']?\s*[:=]\s*\d+\b)"
    r"((?:\w++ )?[\w-]++)(\\*[\"'`])?(?:\]|%5D|\*\*)?"
    r"(?:\s{0,8}[:=：]{1,2}>?(?:\*\*(?=\s))?\s{0,8}"
    r"(?:[|>][+-]?\s+)?|(?<=\w) (?=\\*[\"'][^\"'\s]{4}))"
)
"""How a text names the value behind: a header, an element, an option, an entry with a name and a
value, a pair in a list, and `password=...`, `"pin": 1234`, in JSON inside of JSON, too. A sentence
names nothing: `all tests pass: ...`.
"""
_LIKE_PAIR: Final = (
    rf"(?i:(?:{_ENDS}|{_WORDS})(?:_?(?:{_SUFFIXES}))*(?:\\*[\"'`\]]|%5D|\*)*(?:\s+[\w:]{{1,20}})?"
    rf"\s*[:=：,>}}\]\"']|-\w*(?:{_ENDS}|{_WORDS})\s|(?:pass|tokens)\\*[\"']?\s*[:=]+>?\s*[^\s\dn])"
).replace("_?", "[ _-]?")
"""The same as far as linear time can tell."""

FORMS: Final = (
    (
        r"\b(?:sk|pk|rk|gsk|csk|xai|pplx|tvly|nvapi|pcsk|tgp_v1|lsv2_(?:pt|sk)|gh[oprsu]|github_pat"
        r"|gl(?:pat|dt|rt|cbt|ptt|soat|sa|c|ft|agent|imt|ffct)|npm|pypi|rubygems|CLOJARS|dckr_[po]at|bkua|CCIPAT"
        r"|do[opr]_v1|tskey|vercel_blob_rw|GOCSPX|HRKU|PMAK|CFPAT|NR(?:AK|JS|II)|mdb_sa_sk|xapp"
        r"|xox[abcdeoprs](?:\.xox[a-z])?|ntn|lin_(?:api|oauth)|figd|sntry[su]|sbp|sb_secret"
        r"|pscale_(?:tkn|pw|oauth)|whsec|x(?:key|smtp)sib|sq0[a-z]{3}|shp(?:at|ca|pa|ss)"
        r"|(?:shippo|duffel|rzp)_(?:live|test)|FLWSECK(?:_TEST)?|pdl_\w{2,8}_apikey|AGE-SECRET-KEY)[-_][\w-]{8,}"
        r"(?:\.[0-9a-z]{2}\.[0-9a-z]{7,})?"
    ),
    # Others that words begin with.
    (
        r"\b(?:hf|r8|re|secret|ops|sgp|rnd|pul|pnu|rdme|tfp|nfp|napi|jina|pa|fw|e2b|ph[cx]|sq[pua]|vc[piark]|fo1"
        r"|fm[12][ar]?)[-_][0-9A-Za-z]{20,}[\w+/=-]*"
    ),
    r"\bhp_[\w-]{30,}",
    r"\b(?:key-|SK|dapi)[0-9a-f]{32}",
    r"\bEAA[A-Z][\w-]{40,}",
    r"\b(?:AKIA|ASIA|ABIA|ACCA|LTAI)[0-9A-Za-z]{12,}",
    r"\bABSK[\w+/=]{60,}",
    r"\b(?:AKCp[\w-]{60,}|GR1348941[\w-]{20,})",
    r"\bAIza[\w-]{30,}",
    r"\b(?:ya29\.[\w.-]{20,}|AQ\.Ab[\w-]{30,}|1//0[\w-]{30,})",
    r"\b[0-9A-Za-z]{52,}JQQJ99[0-9A-Za-z]{10,}",
    r"\bv1\.0-[0-9a-f]{24}-[0-9a-f]{100,}",
    r"\b(?:A21AA[\w-]{50,}|AQE[\w+/=-]{60,}|access_token\$production\$[\w$]{20,})",
    r"\bdp\.[a-z]{2,5}\.[\w.-]{20,}",
    r"\bdt0[a-z]\d{2}\.\w{8,}\.\w{20,}",
    r"\b\w{14}\.atlasv1\.[\w-]{20,}",
    r"\b[\w~.-]{3}\dQ~[\w~.-]{30,}",
    r"\bsha256~[\w-]{40,}",
    r"\bAT(?:ATT|BB|CTT)[\w=-]{20,}",
    r"\bSG\.[\w-]{16,}\.[\w-]{16,}",
    r"\bhv[bsr]\.[\w-]{20,}",
    r"\bpat\w{14}\.[0-9a-f]{40,}",
    r"\bpat-\w{2,4}-[0-9a-f-]{30,}",
    r"\b[0-9a-f]{32}-us\d{1,2}\b",
    r"(?:\b|bot)\d{8,10}:AA[\w-]{30,}",
    r"\b[MNO][\w-]{22,27}\.[\w-]{6}\.[\w-]{27,}",
    r"\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)*",
    r"-{4,} ?BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-{4,}(?:[^-\"']|-{1,3}[^-\"'])*(?:-{4,}[^-]*-{4,})?",
    r"(Private-Lines: \d+)[\w+/=\s\\]+",
    r"(://hooks?\.[^\s/\"']+/)[^\s\"'<>]{8,}",
    r"(://[^\s\"'<>]*?hook[^\s/\"'<>]*/)[\w/@.-]*[0-9A-Za-z]{16,}[\w/@.-]*",
    r"([?&](?i:[\w-]*(?:sig|signature|hmac|key))=)[\w%+/=.-]{16,}",
    r"(://)[^/@\s:\"\\]*:(?:\d*[^\d/\s\"\\][^\s\"\\]*|\d*)(@)",
    r"(://)\w{20,}(@)",
    r"((?:\s-u|--(?:proxy-)?user)[ =][\"']?[^\s:\"']*[A-Za-z][^\s:\"']*:)[^\s\"']{3,}",
    r"((?i:\b(?:bearer|basic)) +)[\w.~+/=-]{8,}",
)
"""Secrets that are known by what they look like; what is in a group stays."""

FORM: Final = "|".join(FORMS)
LIKE_SECRET: Final = rf"{FORM}|{_LIKE_PAIR}"
"""The forms and the names, in one look."""


@lru_cache(maxsize=4096)
def names_secret(name: str) -> bool:
    """Whether what has this name is a secret, whatever it looks like."""
    return _NAMED.match("_".join(_WORD.findall(name)).lower()) is not None
