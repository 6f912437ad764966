"""Whether a call may be made at all: a known tool, allowed here, with arguments that fit (CONTRACT C6, C9)."""

from haltpoint.chain.checks import human_tool
from haltpoint.chain.checks.bounds import tellable
from haltpoint.chain.checks.checked import CheckedCall
from haltpoint.chain.checks.contract import call_form, callable_tools, listed, may_call, unknown
from haltpoint.chain.model.references import references, write_json
from haltpoint.contracts.base import MAX_ARGUMENTS
from haltpoint.contracts.work.thoughts import Correction, Violation


def form_fault(checked: CheckedCall) -> Correction | None:
    """Whether the tool may be called here, with these arguments (C6, C9). The correction names no tool but the one that
    was called and those that may be shown (D1).
    """
    work, spec = checked.work, checked.spec
    step, tools, mode, task = work.steps[checked.index], work.world.tools, checked.mode, work.task
    form = ""
    if spec.name not in tools:
        violation, text = Violation.UNKNOWN_TOOL, unknown(spec.name, tools, tellable(work, checked.index))
    elif not may_call(step, spec, mode, task):
        known = tellable(work, checked.index)
        names = listed([name for name in callable_tools(step, tools, mode, task) if name in known])
        text = f"{spec.name} may not be called in step {step.id!r}. Tools that may be called here: {names}."
        violation = Violation.NOT_ALLOWED
    else:
        faults: tuple[str, ...] = (f"they have more than {MAX_ARGUMENTS} bytes",)
        if len(write_json(checked.arguments)) <= MAX_ARGUMENTS:
            faults = human_tool.call_faults(spec, checked.arguments)
            if spec.plan is not None and references(checked.arguments):
                faults = (*faults, "$from: only the steps of a skill itself refer to results")
        if not faults:
            return None
        text = f"The arguments of {spec.name} are wrong: {'; '.join(faults)}."
        form = f"The form is: {call_form(spec)}" if spec.name in tellable(work, checked.index) else ""
        violation = Violation.BAD_ARGUMENTS
    return Correction(violation=violation, tool=spec.name, message=text, form=form)
