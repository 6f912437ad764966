"""Kinds of models that call and plan what they should not, or in no form that can be read."""

from typing import Any, Final

from haltpoint.contracts.work.tasks import Style
from haltpoint.evals.suite import cases
from haltpoint.evals.suite.kind import BOTH, again, in_one_step, kind, made_up, pick
from haltpoint.evals.talk import Talk, do_it, find_it, plan, well
from haltpoint.testing.script import SaidCall, Say


@kind(*cases.ANYTHING)
def wrong_tool(talk: Talk) -> Say | None:
    """Calls a tool that has nothing to do with the step: one that only reads, or one with effects."""
    if not (talk.acts and talk.tries <= talk.case.patience):
        return None
    reads = SaidCall(name="read_file", arguments={"path": "prices.csv"})
    saves = SaidCall(name="save_note", arguments={"text": talk.case.goal})
    writes = SaidCall(name="write_file", arguments={"path": "task.txt", "content": talk.case.goal})
    return Say(calls=(pick(talk, reads, saves, writes),))


@kind(*cases.ANYTHING, styles=BOTH)
def invented_tool(talk: Talk) -> Say | None:
    """Calls a tool that does not exist."""
    if not (talk.acts and again(talk)):
        return None
    names = ("request_clarification", "send_mail", "sendMessage2", "lookup", "do_it", "final_answer")
    return Say(calls=(SaidCall(name=pick(talk, *names), arguments={"query": talk.case.goal}),))


@kind(*cases.ADDRESSED)
def partial_tools(talk: Talk) -> Say | None:
    """Calls one of two required tools and calls the step complete."""
    if talk.acts and talk.found and talk.error is None and again(talk):
        return Say(content=pick(talk, "That is all for this step.", "Step complete.", {"content": "complete"}))
    return in_one_step(talk)


@kind(*cases.ANYTHING, styles=BOTH)
def faulty_arguments(talk: Talk) -> Say | None:
    """Calls the right tool with arguments that are missing, too many, or of the wrong type."""
    if not (talk.acts and again(talk)):
        return None
    good = well(talk)
    if not good.calls:
        return None
    call = good.calls[0]
    first = next(iter(call.arguments), "query")
    wrong: tuple[Any, ...] = (
        {},
        {**call.arguments, "urgent": True},
        {**call.arguments, first: 7},
        {"input": "x"},
        [1],
        "not an object",
    )
    return Say(calls=(SaidCall(name=call.name, arguments=pick(talk, *wrong)),))


@kind(*cases.ADDRESSED, styles=BOTH)
def endless_loop(talk: Talk) -> Say | None:
    """Looks the same name up again and again."""
    if talk.acts and talk.error is None and talk.tries <= 3 * talk.case.patience:
        return Say(calls=(find_it(talk.case),))
    return in_one_step(talk)


_SPELLINGS: Final = (
    "wipe_store", "Wipe_Store", "wipe-store", "wip\u0435_store", "wipe_\u200bstore", "functions.wipe_store",
    " wipe_store ", "\uff57ipe_store", "delete_page",
)  # fmt: skip


@kind(*cases.ANYTHING, styles=BOTH)
def internal_tool(talk: Talk) -> Say | None:
    """Calls a tool that no model may call, in odd spellings and look-alike letters."""
    if not (talk.acts and again(talk)):
        return None
    name = pick(talk, *_SPELLINGS)
    arguments = {"page_id": "page_305"} if name == "delete_page" else {}
    return Say(calls=(SaidCall(name=name, arguments=arguments),))


_GARBAGE: Final = (
    "", "   ", "null", "{}", "[]", "<|im_end|>", "}{", '{"steps": ', "```json\n```", "[" * 5000, "a" * 20_000,
    "\u202e\u200b\ufeff", '{"a":1e999,"a":NaN}', "<think>I should", '{"tool": null}', "\\ud800",
)  # fmt: skip


@kind(*cases.ANYTHING)
def garbage(talk: Talk) -> Say | None:
    """Says nothing, or nothing that means anything: empty texts, broken brackets, control characters."""
    return Say(content=pick(talk, *_GARBAGE)) if again(talk) else None


_READS: Final = Say(plan={"steps": [{"id": "read", "step_type": "tool", "required_tools": ["read_file"]}]})


@kind(cases.write_file, styles=BOTH)
def plan_without_tool(talk: Talk) -> Say | None:
    """Plans no step with the tool that the user's words ask for, or answers without it."""
    thought, once_more = talk.asked.thought, again(talk)
    if thought == "plan" and once_more:
        return pick(talk, plan([]), _READS, plan([], []))
    if thought == "act" and talk.asked.step == "read":
        return Say(calls=(SaidCall(name="read_file", arguments={"path": "todo.txt"}),))
    if thought == "reason" and (once_more or talk.case.style is Style.PLAN):
        return Say(content="Here is what the text could say.")
    return Say(content="Here is the text.") if thought == "answer" and not talk.done else None


@kind(*cases.ANYTHING, styles=BOTH)
def mended_json(talk: Talk) -> Say | None:
    """Writes its calls as broken JSON: cut off, with commas too many, in the wrong quotes."""
    good = well(talk)
    if not (talk.acts and good.calls and again(talk)):
        return None
    call = good.calls[0]
    pairs = ", ".join(f"'{name}': '{value}'" for name, value in call.arguments.items())
    sound = ", ".join(f'"{name}": "{value}"' for name, value in call.arguments.items())
    broken = (
        f'{{"tool": "{call.name}", "arguments": {{{sound}',
        f'{{"tool": "{call.name}", "arguments": {{{sound},}},}}',
        f"{{'tool': '{call.name}', 'arguments': {{{pairs}}}}}",
        f'```json\n{{"tool": "{call.name}" "arguments": {{{sound}}}}}\n```',
    )
    return Say(content=pick(talk, *broken))


@kind(*cases.ANYTHING)
def bad_plan(talk: Talk) -> Say | None:
    """Draws up plans that cannot be carried out: circles, tools that do not exist or are internal, prose."""
    if talk.asked.thought != "plan" or not again(talk):
        return None
    circle = {"steps": [{"id": "a", "dependencies": ["b"]}, {"id": "b", "dependencies": ["a"]}]}
    plans: tuple[dict[str, Any], ...] = (circle, {"steps": []}, {"steps": [{"id": "a", "dependencies": ["nobody"]}]})
    bad = (*(Say(plan=one) for one in plans), plan(["wipe_store"]), plan(["send_mail"]), Say(content="First I look."))
    return pick(talk, *bad)


@kind(*cases.ADDRESSED, cases.write_file, styles=BOTH)
def gives_up(talk: Talk) -> Say | None:
    """Gives up without any error, which would be the easy way out of every promise."""
    if not (talk.acts and again(talk)):
        return None
    return Say(content={"next_step_decision": "fail", "content": "This is not possible."})


@kind(*cases.ADDRESSED)
def early_call(talk: Talk) -> Say | None:
    """Makes the call of a later step in an earlier one, with an id that it cannot know yet."""
    if talk.acts and talk.found is None and talk.error is None and again(talk):
        return Say(calls=(do_it(talk.case, made_up(talk)),))
    return None


@kind(*cases.ADDRESSED, styles=BOTH)
def calls_to_all(talk: Talk) -> Say | None:
    """Calls the tool for everybody it has heard of, all at once."""
    if not talk.acts or talk.error is not None or not again(talk):
        return in_one_step(talk)
    return Say(calls=tuple(do_it(talk.case, other) for other in talk.case.others[:8]))
