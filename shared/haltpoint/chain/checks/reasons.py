"""Why a call of a model is refused (CONTRACT C6), or why a person decides before it runs, all reasons in one list
(G5), and how far a yes goes.

Targets are values that say to whom or where: a person decides about one that is only in a text, or nowhere (C13).
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from posixpath import isabs, join, normpath
from typing import Any, Final
from urllib.parse import unquote

from haltpoint.chain.checks import human_tool
from haltpoint.chain.checks.checked import CheckedCall
from haltpoint.chain.checks.contract import call_form, callable_tools, listed, may_call, unknown
from haltpoint.chain.checks.documents import SHORT
from haltpoint.chain.checks.intent import tellable
from haltpoint.chain.checks.places import Leaf, is_at, is_default, is_target
from haltpoint.chain.checks.sources import MODEL, UNSAFE
from haltpoint.chain.checks.templates import within
from haltpoint.chain.model.canonical import ELSEWHERE, folders_of, form_of, plain
from haltpoint.chain.model.references import KEYS, read_json, references, write_json, write_text
from haltpoint.chain.model.state import Action
from haltpoint.chain.model.statuses import PlanOrigin
from haltpoint.chain.model.work import Work
from haltpoint.contracts.base import MAX_ARGUMENTS
from haltpoint.contracts.reasons import Grant, Reach, Reason, ReasonKind, Source, SourceKind
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.thoughts import Correction, Violation

SHOWN: Final = 20
"""Values of one call that a question names one by one."""
_WIDTH: Final = 80
_NAME: Final = r"((?:[\w-]+\.)+(?:xn--[a-z\d-]+|[^\W\d_]{2,})|\d+(?:\.\d+){3}|\[[\da-f.]*:[\da-f:.]+\])"
_USER: Final = r"(?:[^\s/\\?#@]*+@)*+"
_URL: Final = re.compile(
    rf"(?:[a-z][a-z0-9+.-]{{0,20}}://|(?:https?|wss?|ftp):(?:[/\\]++|(?={_NAME}))|[/\\]{{2}}(?={_USER}{_NAME}))\S+",
    re.IGNORECASE,
)
_FIRST: Final = re.compile(
    rf"{_URL.pattern}.*"
    rf"|[^\w\[\s]*+(?P<user>(?:[^/\\?#@]*+@)++)?+{_NAME}\.?(?::\d*)?(?:[/\\]\S*|(?(user)[?#]\S+|[?#]\S*)|(?(user)(?!)))",
    re.IGNORECASE | re.DOTALL,
)
"""What a tool may read as one URL: words that begin with one, and one without its scheme that stands alone. An e-mail
address is none, and words are none.
"""
_HOST: Final = re.compile(rf"(?:[a-z][a-z0-9+.-]*://)?{_NAME}(?::\d{{1,5}})?(?:[/?#][^\s\\]*)?", re.IGNORECASE)
"""A URL or host whose host every client reads alike: without a user's name (`@`) before it, and without a backslash."""
_DROPPED: Final = re.compile(r"[\0-\x1f\x7f]+(?!\w+://)")
_CODED: Final = re.compile("%(?!2e)[0-9a-f]{2}", re.IGNORECASE)
_NO_SIGNS: Final = str.maketrans("？：／＃＠＼．｡", "      。。")
_DOT: Final = re.compile(r"(?<=[a-z0-9])。(?=[a-z0-9])", re.IGNORECASE)
_WHY: Final = {
    SourceKind.TEXT: "This value comes from a text that the model read, not from your words.",
    SourceKind.MODEL: "The model wrote this value: it is not in your words and in no result.",
    SourceKind.HOOK: "A hook of the worker wrote this value.",
}
_ANSWERED: Final = "This value is in what a person answered, and is not the whole answer."
_UNSEEN: Final = "It was not compared with your words and the results."


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


def targets(checked: CheckedCall) -> tuple[Reason, ...]:
    """The reasons to ask about the values of a call that say to whom or where, and come from nobody (C13)."""
    tool, found = checked.spec.name, list[Reason]()
    unknown = list(_unnamed(checked))
    for leaf, source in unknown[:SHOWN]:
        answered = source is not None and checked.known.is_answered(source)
        found.append(about_target(tool, leaf, source, answered=answered))
    if len(unknown) > SHOWN:
        more = f"{len(unknown) - SHOWN} more values of {tool}"
        words = f"{more} are not known to be in your words, nor whole in a result."
        found.append(Reason(kind=ReasonKind.TARGET, words=words))
    return tuple(found)


def about_target(tool: str, leaf: Leaf, source: Source | None, *, answered: bool = False) -> Reason:
    """The reason to ask about one value of a call; `answered`: a person's answer holds it beside other words."""
    place, value = leaf.place[:SHORT], leaf.value[:500] if isinstance(leaf.value, str) else leaf.value
    shown = write_text(value)
    shown = shown if len(shown) <= _WIDTH else f"{shown[: _WIDTH - 1]}…"
    why = _ANSWERED if answered else _WHY[source.source] if source else _UNSEEN
    words = f"{tool} will run with {place} = {shown}. {why}"
    return Reason(kind=ReasonKind.TARGET, words=words, parameter=place, value=value, source=source)


def granted(work: Work, action: Action, arguments: str, reach: Reach) -> tuple[Grant, ...]:
    """The chain's grants with those of a person's yes to this call, as far as it goes; `arguments` is JSON text. A yes
    for a path covers its folder, written with a slash at its end. Of a destructive tool a yes never covers more than
    the call.
    """
    spec = work.world.tools.get(action.tool)
    if spec is None or spec.destructive or reach is Reach.CALL or work.origin is PlanOrigin.LITERAL:
        return work.granted
    if reach is Reach.TOOL:
        return tuple(dict.fromkeys((*work.granted, Grant(tool=action.tool))))
    new = list[Grant]()
    checked = CheckedCall(work, action.step, spec, read_json(arguments))
    for leaf, _ in _unnamed(checked):
        value = next(_folders(leaf, checked.judged), leaf.form.text) if reach is Reach.VALUE else None
        new.append(Grant(tool=action.tool, parameter=leaf.parameter, value=value))
    return tuple(dict.fromkeys((*work.granted, *new)))


def _unnamed(checked: CheckedCall) -> Iterator[tuple[Leaf, Source | None]]:
    """The targets that come out of a text or from nowhere, and that neither the tool nor an earlier yes covers. A value
    that has the origin which its tool declares is checked before, and needs no more (C6). Without a source are those of
    very many, or at a very long place, which were not looked for. Of a list of addresses each is looked at by itself.
    """
    spec = checked.judged
    for leaf in checked.leaves if spec.outward or not spec.read_only else ():
        source = checked.sources.get(leaf.place)
        parts = leaf.addresses if source is not None and source.source in UNSAFE else ()
        for one in parts or (leaf,):
            its = checked.known.source(one) if parts else source
            if _is_unsure(checked, one, its) and not _is_covered(checked, one):
                yield one, MODEL if spec.read_only else its


def _is_unsure(checked: CheckedCall, leaf: Leaf, source: Source | None) -> bool:
    spec = checked.judged
    if spec.read_only:
        return _carries_out(checked, leaf, source or MODEL)
    unsafe = source is None or source.source in _WHY
    return unsafe and not is_at(leaf.path, spec.provenance) and is_target(leaf, spec)


def _carries_out(checked: CheckedCall, leaf: Leaf, source: Source) -> bool:
    """Whether data could leave the system by a value: a URL or host that the model put together. One whose host the
    user, a person or the context names carries data nowhere else.
    """
    text, known = str(leaf.value).strip(), checked.known
    host = _HOST.fullmatch(text)
    if source.source is not SourceKind.MODEL or (host and known.named(form_of(host[1]))):
        return False
    if host and "://" in text and known.named(form_of(text.partition("://")[2])):  # written without its scheme
        return False
    if host or any(map(_FIRST.fullmatch, _to_clients(text))) or is_target(leaf, checked.judged):
        return True
    parts = (part[0].rstrip(".,;:!?)]}>'\"") for part in _URL.finditer(text))
    return any(known.source(replace(leaf, value=part)).source is SourceKind.MODEL for part in parts)


def _to_clients(text: str) -> Iterator[str]:
    """A text as HTTP clients read a URL: they drop line breaks and what is not seen, a host's letters become plain, and
    `%2e` and `。` a dot; but no letter becomes a sign of a URL. A few read what is coded as the sign that it is.
    """
    for one in (text, _CODED.sub("_", text)):
        yield _DOT.sub(".", plain(_DROPPED.sub("", unquote(one)).translate(_NO_SIGNS)))


def _folders(leaf: Leaf, spec: ToolSpec) -> Iterator[str]:
    """The folders that a value is judged by, as a yes names them: with a slash at the end."""
    folders = folders_of(str(leaf.value)) if leaf.is_path or within(leaf, spec) else ()
    return (f"{folder.rstrip('/')}/" for folder in folders)


def _is_covered(checked: CheckedCall, leaf: Leaf) -> bool:
    """Whether a value is a default, itself or with what it is inside of, or the tool's folder or a yes covers it."""
    spec, value, around = checked.judged, str(leaf.value), list[Any]([checked.arguments])
    for part in leaf.path:
        around.append(leaf.value if part is KEYS else around[-1][part])
    if any(is_default(spec, one, leaf.path[:level]) for level, one in enumerate(around)):
        return True
    folder = within(leaf, spec)
    if (
        folder
        and not ELSEWHERE.match(value)
        and normpath(folder) in folders_of(join(folder, value) if isabs(folder) else value)
    ):
        return True
    covering = {None, leaf.form.text, *_folders(leaf, spec)}
    return any(
        one.value in covering
        for one in checked.work.granted
        if one.tool == spec.name and one.parameter in (None, leaf.parameter)
    )
