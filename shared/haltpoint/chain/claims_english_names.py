"""The words in the names of tools, beside the verbs themselves (CONTRACT F1). Data."""

from typing import Final

from haltpoint.chain.claims_english import ANY, SEARCH, words

WORDS: Final = {
    "send": "sms whatsapp slack notifier sender mailer emailer",
    "write": "persist dump put upsert new make build edit upload download",
    "delete": "destroy rm unlink del cancellation",
    "book": "calendar",
    "pay": "checkout",
    "update": "set toggle edit",
    SEARCH: "find get list read lookup look fetch check view show describe retrieve browse web history status details "
    "info",
    "run": "exec launch invoke",
    ANY: "bash shell terminal powershell command python interpreter sql computer browser",
}
"""Words and the kinds that they tell of."""

NOUNS: Final = {
    "send": "message email mail sms notification invitation invite alert reply tweet post",
    "publish": "post tweet comment",
    "book": "event meeting appointment reminder reservation booking alarm timer order",
    "pay": "payment refund purchase transfer donation deposit order charge money",
    "call": "call",
    SEARCH: "search query",
}
"""Things, and the kinds of the deeds that bring them about."""

VERBS: Final = words(
    "persist dump put upsert new make build edit destroy rm unlink del set toggle find get list read lookup look fetch "
    "check view show describe retrieve browse history status details info exec launch invoke "
    "place issue complete finalize process handle confirm initiate perform do leave begin"
)
"""Verbs that the table of verbs has not, and nouns that decide like one: `order_history` orders nothing."""

EITHER: Final = words(
    "message email e-mail mail text post book order charge call phone file record log copy contact alert invite ping "
    "tweet transfer wire refund purchase deposit plan"
)
"""Verbs of the table that may be nouns."""

OTHERS: Final = words(
    "recall retract undo revert restore reject decline refuse deny dismiss ignore hide mute silence snooze flag star "
    "pin tag label sort filter count validate parse format compose prepare preview simulate estimate quote calculate "
    "compare translate review approve accept track watch monitor subscribe receive import sync pause hold skip "
    "acknowledge suppress prevent void expire delay join attend exit follow convert extract test wait print template "
    "request"
)
"""Verbs of no kind, whatever they are done to."""

_THINGS: Final = ("send", "publish", "book", "pay", "call", SEARCH)
BRINGS_ABOUT: Final = {
    **dict.fromkeys(words("create make new place issue submit initiate perform do start begin"), _THINGS),
    **dict.fromkeys(
        words("process complete finalize handle confirm execute run trigger"), ("book", "pay", "call", SEARCH)
    ),
    **dict.fromkeys(words("set put insert register"), ("book",)),
    **dict.fromkeys(words("add"), ("book", "publish")),
    **dict.fromkeys(words("send"), ("pay",)),
    **dict.fromkeys(words("leave drop"), ("send",)),
}
"""Verbs behind which a thing tells what is done, and the kinds of these things: send_payment, set_alarm."""

_RUN: Final = words("run execute exec")
SHELLS: Final = {
    **dict.fromkeys(_RUN, words("bash shell terminal powershell command commands cmd python interpreter sql")),
    "query": words("sql"),
}
"""Verbs, and what may do anything when it is run: run_in_terminal, sql_query."""
CODE: Final = dict.fromkeys(_RUN, words("code script scripts"))
"""The same, where it is the thing that is run: run_python_script, not run_code_review."""

ANSWERS: Final = words("accept decline reject")
ANSWERED: Final = words("invite invites invitation invitations")
"""Who accepts or declines these has replied."""

MAY_BE_POSTED: Final = words("update status details info")
POSTS: Final = words("post email text")
"""In post_update one thing is posted or another updated: it may be either."""

BEHIND: Final = words("to for from in into on at by with via of about as")
BRANDS: Final = words("google")
"""Verbs that are names in front of others: google_calendar."""
SAYS_NOTHING: Final = words("tool api function action async sync batch bulk now safe new endpoint service handler")
