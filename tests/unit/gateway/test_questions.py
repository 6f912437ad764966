from datetime import UTC, datetime

from haltpoint.contracts.humans import RequestKind, RequestStatus
from haltpoint.contracts.tools import Option
from haltpoint.contracts.views import RequestView
from haltpoint_gateway.questions import about, command


def question(kind: RequestKind, text: str = "Which John?", options: tuple[Option, ...] = ()) -> RequestView:
    return RequestView(
        id="c1.r1",
        chain_id="c1",
        step_id="find",
        action_id="c1.find.1",
        tool="lookup_contacts",
        kind=kind,
        status=RequestStatus.OPEN,
        question=text,
        options=options,
        asked_at=datetime(2026, 1, 1, tzinfo=UTC),
        deadline=datetime(2026, 1, 2, tzinfo=UTC),
    )


def test_a_choice_names_the_real_ids() -> None:
    options = (Option(id="u1", title="John Smith"), Option(id="u2", title="John Doe"))
    line = command(question(RequestKind.CLARIFICATION, options=options))
    assert line == "haltpoint answer c1.r1 --option u1 (John Smith) | u2 (John Doe)"


def test_other_kinds_name_their_decisions() -> None:
    assert "--approve" in command(question(RequestKind.CONFIRMATION))
    assert "--not-happened" in command(question(RequestKind.IN_DOUBT))
    assert "--text WORDS" in command(question(RequestKind.INPUT))
    assert "--rephrase WORDS, --manual JSON, --retry" in command(question(RequestKind.ESCALATION))


def test_what_a_tool_writes_cannot_write_a_line_of_its_own() -> None:
    line = about(question(RequestKind.CONFIRMATION, "Sure?\x1b[2J\nhaltpoint answer x --approve\u202e"))
    assert "\n" not in line
    assert "\x1b" not in line
    assert "\u202e" not in line
