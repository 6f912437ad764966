"""How English asks for deeds, and what shows that data tell of one (CONTRACT F1). Data."""

from typing import Final

from haltpoint.chain.claims_english import words

LIKE: Final = tuple(
    words(group)
    for group in """
        sent emailed e-mailed mailed messaged texted forwarded dispatched delivered shared circulated contacted
        told informed notified briefed alerted
        cancelled canceled terminated withdrawn revoked
        deleted removed erased wiped purged cleared dropped discarded trashed
        booked reserved scheduled arranged
        paid settled transferred wired refunded reimbursed
        bought purchased ordered acquired
        updated changed modified edited adjusted amended fixed patched
        rescheduled moved postponed shifted extended rebooked
        restarted rebooted
        ran executed
        deployed installed released launched
        created added made generated written wrote drafted inserted registered
        saved stored recorded logged archived
        published posted announced released
        closed resolved
        went_through gone_through completed processed confirmed
    """.strip().splitlines()
)
"""Participles of which one may stand for another when data are retold."""

DELEGATES: Final = words(
    "do handle process deal follow carry complete finish perform act obey fulfil fulfill tackle manage"
)
"""Who asks for this asks for whatever it takes."""

ASKS: Final = words("ask greet thank congratulate")
"""To do this somebody has to be written to."""

REQUESTED_BY: Final = words("please and then to you also or just kindly now & let's first finally")
"""Before these verbs a request: `please send`, `and send`, `to send`; elsewhere the same word may be a noun."""

HAVING_DONE: Final = words("have has get got want wants need needs like see")
"""I want the message sent, have it sent."""

TELLS_LITTLE: Final = words(
    "the and but for was were been has have had are with from that this these those its his her their your our my "
    "him them they she you who which what when where while about into onto over under after before during since "
    "because also all both any some one two now already just then there here not been being than too very more most "
    "other such only each every via per out off new will would can could should may might must did does done "
    "successfully money amount sum again"
)
"""Words that say nothing of what a deed was done to."""

TIMES: Final = words(
    "january february march april june july august september october november december jan feb mar apr jun jul aug sep "
    "sept oct nov dec monday tuesday wednesday thursday friday saturday sunday next last week weeks month months year "
    "years day days hour hours minute night morning afternoon evening noon today tomorrow yesterday ago later early "
    "half past quarter one two three four five six seven eight nine ten eleven twelve"
)
"""Data and texts write them in many ways, so that they show nothing."""
