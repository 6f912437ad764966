"""What an undo gets, out of the record of the call that it takes back (CONTRACT E7)."""

import pytest
from msgspec.structs import replace
from pydantic import SecretStr

from haltpoint import Ctx, hook, register
from haltpoint.chain.model.state import Action
from haltpoint.chain.model.statuses import ActionStatus
from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.results import ErrorType, Metadata, NextAction, Outcome
from haltpoint.runtime.store.receipts import Finished, ReceiptStore
from haltpoint.tools.hooks import hook_of
from haltpoint_tool_worker.registry import Registry
from tests.support.builders import failed
from tests.unit.tool_worker.calling import Call, Paper, fault_of


class Asked:
    """A reader of receipts that has none, and knows what it was asked for."""

    def __init__(self) -> None:
        self.ids: list[str] = []

    async def action(self, action: str) -> None:
        self.ids.append(action)


def plant(name: str) -> str:
    """Plant it."""
    return name


def planted(tool: str = "plant", outcome: Outcome | None = None) -> Action:
    ran = Outcome(
        success=True, next_action=NextAction.CONTINUE, metadata=Metadata(arguments='{"name":"Ash"}')
    )
    done = ActionStatus.DONE
    return Action(
        "c.s.1",
        0,
        1,
        tool,
        '{"name":"ash"}',
        status=done,
        outcome=outcome or ran,
        data='{"value":"ash"}',
    )


GIVEN: list[JsonObject] = []


def uproot(arguments: JsonObject, result: JsonObject) -> None:
    """Take it out again."""
    GIVEN.append({"arguments": arguments, "result": result})


async def undone(action: Action | None) -> Finished:
    GIVEN.clear()
    paper = Paper({} if action is None else {"c.s.1": action})
    tools, arguments = (register(plant, undo=uproot),), '{"action_id": "c.s.1"}'
    call = Call(tools, "plant~undo", arguments, paper=paper, action_id="c~undo-1.u1.1")
    finished = await call.receipt()
    assert paper.asked_for == ["c.s.1"]
    return finished


async def test_e7_an_undo_gets_the_arguments_that_ran_and_the_result() -> None:
    assert (await undone(planted())).outcome.satisfies
    assert GIVEN == [{"arguments": {"name": "Ash"}, "result": {"value": "ash"}}]


@pytest.mark.parametrize(
    "action", [None, planted("other"), planted(outcome=failed(ErrorType.SERVER))]
)
async def test_e7_only_a_success_of_the_tool_is_undone(action: Action | None) -> None:
    fault = fault_of(await undone(action))
    assert (fault.error_type, fault.no_effect, GIVEN) == (ErrorType.NOT_FOUND, True, [])


async def test_e7_of_another_tree_of_chains_no_receipt_is_read() -> None:
    store = ReceiptStore.__new__(ReceiptStore)
    store._reader = asked = Asked()  # type: ignore[assignment]
    others = ("d.s.1", "c.s.2", "c~u-1.s.1")
    assert await store.receipts("c~undo-1.u1.1", others) == {}
    assert asked.ids == ["c.s.2", "c~u-1.s.1"]


def keep(secret_key: str, label: SecretStr) -> str:
    """Keep it."""
    return f"{secret_key} {label}"


def let_go(arguments: JsonObject, result: JsonObject) -> None:
    """Take it out again."""
    raise ValueError(f"{arguments['secret_key']} {arguments['label']} {result['api_key']}")


async def test_what_a_failing_undo_says_has_no_secret_of_its_deed() -> None:
    arguments = '{"secret_key":"kept-one","label":"kept-two"}'
    ran = Outcome(True, NextAction.CONTINUE)
    done = replace(planted("keep", ran), arguments=arguments, data='{"api_key":"kept-three"}')
    paper = Paper({"c.s.1": done})
    tools = (register(keep, undo=let_go),)
    call = Call(
        tools, "keep~undo", '{"action_id": "c.s.1"}', paper=paper, action_id="c~undo-1.u1.1"
    )
    message = fault_of(await call.receipt()).message
    assert "ValueError: *** *** ***" in message


async def test_what_a_hook_gives_to_a_call_is_hidden_as_well() -> None:
    @hook.pre(tools="keep")
    async def other(call: hook.Call, ctx: Ctx[None]) -> hook.Modify:
        return hook.modify({**call.arguments, "secret_key": "given-by-hook"})

    def told(secret_key: str) -> str:
        """Keep it."""
        raise ValueError(secret_key)

    registry = Registry()
    registry.add(register(told, name="keep"))
    found = hook_of(other)
    assert found is not None
    registry.prepare([found])
    finished = await Call(registry, "keep", '{"secret_key":"given"}').receipt()
    assert "ValueError: ***" in fault_of(finished).message
