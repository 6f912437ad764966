"""Natural requests over contacts, files and pages, with the truth about each: for real models."""

from typing import Any, Final

from haltpoint.evals.case import Case

_SEND: Final[tuple[tuple[str, str, str | None], ...]] = (
    ("Tell Jane that the meeting is at three", "Jane", "user_a11"),
    ("Please let Tom know I'm running ten minutes late", "Tom", "user_t41"),
    ("Message Priya: the invoice has arrived", "Priya", "user_p51"),
    ("Write to Grace that lunch is cancelled", "Grace", "user_g71"),
    ("Send Emil Berg a message saying thank you for yesterday", "Emil Berg", "user_e81"),
    ("Could you tell Hannah that her parcel is at the desk?", "Hannah", "user_h91"),
    ("Tell John Smith the contract is signed", "John Smith", "user_j02"),
    ("Let Maria Lopez know that the room has changed to B2", "Maria Lopez", "user_m31"),
    ("Tell John I'm running late", "John", "user_j01"),
    ("Ask Sarah to call me back", "Sarah", "user_s22"),
    ("Tell Lukas that the train is on time", "Lukas", "user_l61"),
    ("Message John: can we move to Friday?", "John", "user_j03"),
    ("Tell J hello", "J", "user_a11"),
    ("Send Sarah Klein the words: see you at noon", "Sarah Klein", "user_s22"),
    ("Tell Zorgblort hello", "Zorgblort", None),
    ("Let Quentin know that we are closed on Monday", "Quentin", None),
)
_PAGES: Final[tuple[tuple[str, str, str, str], ...]] = (
    ("Publish the page Holiday plan", "publish_page", "Holiday plan", "page_302"),
    ("Please publish the welcome guide", "publish_page", "Welcome guide", "page_305"),
    ("Publish the office rules page for everybody", "publish_page", "Office rules", "page_306"),
    ("Publish the release notes", "publish_page", "Release notes", "page_304"),
    ("Put the page Release notes 2.1 online", "publish_page", "Release notes 2.1", "page_303"),
    ("What does the page Travel costs say about taxis?", "read_page", "Travel costs", "page_301"),
    ("Read the office rules page and tell me where bicycles go", "read_page", "Office rules", "page_306"),
    ("When is everybody away, according to the holiday plan page?", "read_page", "Holiday plan", "page_302"),
)
_FILES: Final[tuple[tuple[str, str, str, bool], ...]] = (
    ("Write a file agenda.txt that says: budget, rooms, holidays", "write_file", "agenda.txt", True),
    ("Save a shopping list with paper and toner to the file list.txt", "write_file", "list.txt", True),
    ("Create a file hello.md with the text Hello world", "write_file", "hello.md", True),
    ("What does todo.txt say?", "read_file", "todo.txt", False),
    ("How much is toner, according to prices.csv?", "read_file", "prices.csv", False),
    ("Who was present, according to minutes.txt?", "read_file", "minutes.txt", False),
    ("Save a note: water the plants on Friday", "save_note", "notes", False),
    ("Keep a note for me that the printer is out of paper", "save_note", "notes", False),
)


def _case(number: int, goal: str, tool: str, target: str | None, **more: Any) -> Case:
    return Case(f"real/{number}", "real", goal, tool, target, **more)


REQUESTS: Final[tuple[Case, ...]] = tuple(
    case
    for number in range(max(len(_SEND), len(_PAGES), len(_FILES)))
    for case in (
        *(_case(number, goal, "send_message", who, query=name) for goal, name, who in _SEND[number : number + 1]),
        *(_case(100 + number, goal, tool, page, query=name) for goal, tool, name, page in _PAGES[number : number + 1]),
        *(
            _case(200 + number, goal, tool, name, by_words=words)
            for goal, tool, name, words in _FILES[number : number + 1]
        ),
    )
)
"""Contacts, pages and files in turn, so that the first few are a fair part of all."""
