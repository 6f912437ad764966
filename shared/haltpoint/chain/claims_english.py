"""How English tells of things done: verbs, their forms and kinds, and the small words around them (CONTRACT F1). Data.

An entry is `base/past/participle`; what is missing is regular. A mark behind it: `*` only together with a thing that
lasts (a file, an event), since "I wrote a summary" is kept by the text itself; `+` only with a person as the one who
did it ("the tool is called lookup"); `=` also in the present ("the message is sent"); `<` tells of the deed from
the other end ("John has received the message").
"""

import re
from dataclasses import dataclass
from typing import Final

SEARCH: Final = "search"
ANY: Final = "any"


def words(text: str) -> frozenset[str]:
    """A set of words as people write one."""
    return frozenset(text.split())


_KINDS: Final = {
    "send": "send/sent= email e-mail mail message text notify/notified forward deliver dispatch reply/replied "
    "tell/told+ inform let/let+ "
    "remind+ contact+ ping/pinged invite alert post share* submit/submitted tweet reach_out/reached_out+ "
    "announce* upload relay convey pass/passed receive< get/got<",
    "publish": "publish post share* tweet announce* upload",
    "write": "write/wrote/written* save= store= create* add* append record* log/logged* insert* export copy/copied* "
    "register* "
    "generate* put/put* draft* set_up/set_up* file*",
    "delete": "delete= erase= wipe= purge trash remove* clear* uninstall drop/dropped* archive cancel/cancelled= "
    "cancel/canceled= "
    "revoke= unsubscribe",
    "book": "book= rebook reserve= schedule reschedule arrange* set_up/set_up* set/set*= order buy/bought purchase "
    "put/put* "
    "plan/planned*",
    "pay": "pay/paid= transfer/transferred= wire refund= charge purchase buy/bought order donate "
    "withdraw/withdrew/withdrawn deposit",
    "update": "update* change* modify/modified* edit* rename replace* move* fix* patch* assign* mark* close* reopen* "
    "reschedule "
    "adjust* extend* reset/reset* open* merge* overwrite/overwrote/overwritten*",
    "call": "call+ phone+ dial/dialled+ dial/dialed+ ring/rang/rung+",
    SEARCH: "search look_up/looked_up query/queried google",
    "run": "run/ran/run* execute* deploy install restart reboot launch* start* stop/stopped* trigger/triggered* "
    "enable* disable* "
    "turn_on/turned_on turn_off/turned_off switch_on/switched_on switch_off/switched_off unlock lock block unblock "
    "download*",
}
EFFECTS: Final = frozenset(_KINDS) - {SEARCH}
"""Kinds of which a claim is unfounded also when no tool at all could have done it."""

SAME: Final = {"write": ("update",), "update": ("write",)}
"""Who writes a file has changed it too: a tool of the first kind carries the others as well."""

NO_VERBS: Final = words("tool my the ai do handle process manage api mcp server service use with a an and or to for")

NOUN_KINDS: Final = {
    **dict.fromkeys(("payment", "payments", "transfer", "refund", "purchase", "donation", "deposit", "order"), "pay"),
    **dict.fromkeys(("booking", "reservation", "appointment"), "book"),
    **dict.fromkeys(("call",), "call"),
    **dict.fromkeys(("message", "note", "line"), "send"),
}
LIGHT: Final = (
    "make/made drop/dropped leave/left give/gave/given place complete finalize process issue submit/submitted "
    "shoot/shot go_out/went_out/gone_out< go_through/went_through/gone_through<"
)
"""Verbs whose noun tells what was done: made a payment, placed the order; the transfer went through."""
WITH_MESSAGES: Final = words("shoot go_out go_through")
"""Those of them that any message tells of: shot him an email, the invitation has gone out."""

THINGS: Final = words(
    "file files document documents doc folder folders directory record records entry entries row rows ticket tickets "
    "issue issues event "
    "events meeting meetings appointment appointments reminder reminders account accounts user users page pages "
    "database repository repo "
    "branch calendar contact contacts backup backups invoice invoices order orders channel channels alarm alarms "
    "timer timers server "
    "servers service services script scripts test tests command commands job jobs workflow pipeline program query "
    "container instance "
    "machine settings setting configuration subscription subscriptions password permission permissions spreadsheet "
    "disk drive cart "
    "wishlist reservation reservations booking bookings card contract deployment task tasks address addresses profile "
    "profiles"
)
HEADS: Final = THINGS | words(
    "message messages email emails e-mail e-mails mail mails text texts sms notification notifications invitation "
    "invitations invite "
    "invites reply response post tweet payment payments transfer money refund flight flights hotel table room ticket "
    "seat report note "
    "notes alert copy letter newsletter memo request form application comment package photo photos image images "
    "changes data"
)
"""Things that may head a line of news: `Message sent`, `Flight booked`."""

MESSAGES: Final = words(
    "message messages email emails e-mail e-mails mail mails text texts sms note notes reply notification "
    "notifications invitation invitations invite alert answer"
)
"""What an agent sends in somebody's name, and what carries any news at all."""

ME: Final = frozenset({"i", "we"})
HIM: Final = words("him her them")
PERFECT: Final = frozenset({"i've", "we've", "ive", "weve"})
OTHERS: Final = words(
    "he she they you it who which that someone somebody everyone you've they've he's she's it's you'd"
)
BEHIND_OBJECT: Final = words(
    "the a an your my our his her its their this these those to for with from up down out in on at off over back about "
    "into by as via"
)
"""What no verb begins with: `it` and `you` before these are whom or what a thing was done to."""
MODALS: Final = words(
    "will would can could shall should may might must to i'll we'll i'd we'd you'll he'll she'll they'll it'll ought "
    "going gonna"
)
ADVERBS: Final = words(
    "just already now also then finally all both since too indeed duly again once even so ever actually already first "
    "next in_fact "
    "hereby both"
)
NEGATIONS: Final = words(
    "not never no none nothing nobody neither nor cannot without unable hardly barely yet instead rather decline "
    "declined almost nearly "
    "avoid avoided dont didnt havent hasnt wasnt couldnt cant wont"
)
COUNTS: Final = words("the a all both your my our these those two three four five some many other")
"""Before `failing` these make it a quality: the failing tests were fixed."""
NOTHING: Final = words("nothing no none neither nobody zero 0")
CONDITIONS: Final = words(
    "if once when unless until till whether before after whenever suppose supposing assuming wish wished pretend "
    "imagine soon case "
    "lest where while provided hope hoping"
)
FRONTED: Final = words("after before once when while without instead rather unable yet as no since given you")
"""What may stand before the main clause and turns only itself: `after the lookup I sent it`."""
AS_WANTED: Final = words("you soon the requested asked instructed agreed planned discussed promised usual always ever")
"""As you asked, as soon as: not `as John said`."""
NO_MATTER: Final = words("problem problems worries doubt")
AFTER_A_NOUN: Final = words(
    "to in on for from at with by of about is was are were has have had will can could should would may might must "
    "did does and or"
)
"""After `the message I sent` what follows is one of these; after `the lookup I sent` it is what was sent."""
DAYTIMES: Final = words("noon midnight today tonight tomorrow morning evening lunchtime eod")
"""By then, not by them."""
REPORTS: Final = words(
    "said says say saying told tells tell reported claimed writes wrote thinks think thought asked asks mentions "
    "mentioned stated "
    "suggests suggested doubt doubts guess guessed supposedly apparently allegedly expect expected replied wonder "
    "wondering example e.g"
)
REPORTS_THAT: Final = words(
    "check verify ensure confirm consider sure report reports claim claims states reply know knows shows show "
    "explains announces adds notes records describes complains"
)
"""Reports when `that` follows: elsewhere they are nouns, or no reports."""
LEARNED: Final = words("found learned learnt read discovered")
"""The same, also of the one who speaks."""
WANTED: Final = words(
    "request requests instruction instructions plan wish wishes goal task preference preferences requirement "
    "requirements"
)
"""According to these something is done; according to anything else it is told."""
FINITE: Final = words(
    "is are was were has have had will can may must should could would do does did contain contains include includes "
    "say says show "
    "shows mean means need needs cannot can't won't isn't aren't wasn't"
)
NEVER_IN_NEWS: Final = words(
    "last latest previous when no not any every each if that which who of_course found here there here's there's "
    "these those following "
    "total list number show find see get read open check use want with how what why i we you he she they it than like "
    "as once until "
    "before after wants wanted needs asked user received unread unless be been being"
)
HABITS: Final = words(
    "every each daily weekly monthly yearly always usually often automatically when whenever if once only after never "
    "sometimes"
)
MONTHS: Final = words(
    "january february march april june july august september october november december jan feb mar apr jun jul aug "
    "sep sept oct nov dec "
    "monday tuesday wednesday thursday friday saturday sunday"
)
LONG_AGO: Final = words("yesterday ago previously originally earlier")
JUST_NOW: Final = words("moment moments second seconds instant minute minutes")
"""So long `ago` is now."""
ALONG: Final = words(
    "the a an your my our his her their it them this that these those all both to successfully as off out into in via "
    "for with and now him them "
    "at on from everything two three four five"
)
LEADS: Final = words(
    "done ok okay great perfect success good news all set sure yes finished completed update status result also then "
    "now and just already "
    "finally first next well thanks summary confirmed alright absolutely certainly understood task step "
    "complete"
)
MEANS: Final = words("me us myself ourselves mail email e-mail sms post text phone default hand bank card now then")
TELLING: Final = words("let tell inform remind notify alert invite contact message text email")
TOLD_NEWS: Final = words("tell inform notify alert remind")
TO_THE_USER: Final = words("you that me us")
ONLY_WITH: Final = {"let": words("know"), "pass": words("on along")}
CALLED_HOW: Final = words("about back by and on at regarding already twice")
NOT_WITH: Final = {
    "save": words("you us me time money energy effort trouble space"),
    "pay": words("attention heed close off"),
    "order": words("by alphabetically"),
    "call": words("tool tools function api method it this"),
    "log": words("in out"),
    "pass": words("chance opportunity offer"),
    "book": words("out up"),
    "post": words("below above"),
}


_IRREGULAR: Final = {
    "begin": "began/begun",
    "build": "built",
    "draw": "drew/drawn",
    "freeze": "froze/frozen",
    "get": "got",
    "give": "gave/given",
    "grow": "grew/grown",
    "hide": "hid/hidden",
    "hold": "held",
    "keep": "kept",
    "lend": "lent",
    "let": "let",
    "light": "lit",
    "put": "put",
    "read": "read",
    "sell": "sold",
    "set": "set",
    "shut": "shut",
    "spend": "spent",
    "take": "took/taken",
    "throw": "threw/thrown",
    "win": "won",
}
_DOUBLED: Final = re.compile(r"[^aeiou]*[aeiou][^aeiouwxy]")


@dataclass(frozen=True, slots=True)
class Verb:
    """One verb. `thing`: only with a lasting thing; `person`: only as somebody's doing; `state`: also in the present.

    `inward`: told of whom it reached.
    """

    base: str
    past: str
    participle: str
    kinds: tuple[str, ...]
    thing: bool = False
    person: bool = False
    state: bool = False
    inward: bool = False

    @property
    def gerund(self) -> str:
        """`sending`, `paying`, `looking up`."""
        first, _, rest = self.base.partition(" ")
        doubled = self.past.startswith(first + first[-1] + "ed")
        stem = first + first[-1] if doubled else first[:-1] if first.endswith("e") else first
        return f"{stem}ing {rest}".strip()


def forms_of(base: str) -> tuple[str, str]:
    """Past and participle: `unlock` -> `unlocked`, `ship` -> `shipped`; of two words the first changes."""
    first, _, rest = base.partition(" ")
    past, _, participle = _IRREGULAR.get(first, regular(first)).partition("/")
    return f"{past} {rest}".strip(), f"{participle or past} {rest}".strip()


def regular(first: str) -> str:
    """The past of one word, when it is regular."""
    if first.endswith("e"):
        return first + "d"
    elif first.endswith("y") and first[-2:-1] not in "aeiou":
        return first[:-1] + "ied"
    return first + (first[-1] if _DOUBLED.fullmatch(first) else "") + "ed"


def _read(entry: str, kind: str) -> Verb:
    forms = entry.rstrip("*+=<")
    marks = entry[len(forms) :]
    base, *rest = (form.replace("_", " ") for form in forms.split("/"))
    past = rest[0] if rest else forms_of(base)[0]
    participle = rest[1] if len(rest) > 1 else past
    return Verb(base, past, participle, (kind,), "*" in marks, "+" in marks, "=" in marks, "<" in marks)


def _light(entry: str) -> Verb:
    verb = _read(entry, "")
    return Verb(verb.base, verb.past, verb.participle, (), inward=verb.inward)


def _table() -> tuple[Verb, ...]:
    found: dict[tuple[str, str], Verb] = {}
    for kind, entries in _KINDS.items():
        for entry in entries.split():
            one = _read(entry, kind)
            known = found.get((one.base, one.past))
            kinds = (*known.kinds, kind) if known else one.kinds
            found[one.base, one.past] = Verb(
                one.base, one.past, one.participle, kinds, one.thing, one.person, one.state, one.inward
            )
    return tuple(found.values())


VERBS: Final = _table()
LIGHT_VERBS: Final = tuple(_light(entry) for entry in LIGHT.split())
LIGHT_BASES: Final = frozenset(verb.base for verb in LIGHT_VERBS)
