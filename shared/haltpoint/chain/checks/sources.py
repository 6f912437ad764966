"""Where each value of a call comes from, found by comparison and never by a model (CONTRACT C13).

The order: the user's words, a person, the task's context, a whole scalar of a receipt, a piece of free text in one, and
the model where it is found nowhere. A value that a tool was called with is no result of it.

Where an author declares the origin of a value (`FromResult`), it must have that one (C6): the places in the arguments
are `recipient_id`, `letters[].recipient_id`.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import lru_cache
from typing import Any, Final

from haltpoint.chain.checks import human_tool
from haltpoint.chain.checks.documents import Document, document
from haltpoint.chain.checks.places import Leaf, is_default, leaves
from haltpoint.chain.model.canonical import ELSEWHERE, Form, folders_of, form_of
from haltpoint.chain.model.references import Path, parse_path, read_json, values_at, walk, write_json
from haltpoint.chain.model.schemas import compiled
from haltpoint.chain.model.state import Action
from haltpoint.chain.model.work import Work
from haltpoint.contracts.reasons import Source, SourceKind
from haltpoint.contracts.results import ErrorType
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.plans import ProposedCall
from haltpoint.contracts.work.thoughts import Correction, Violation

GOAL = "goal"
"""The origin that is the user's words."""
SAID = "said"
"""The key in the data of a receipt that a person completed: the words as they were typed."""
MODEL: Final = Source(source=SourceKind.MODEL)
UNSAFE: Final = frozenset({SourceKind.TEXT, SourceKind.MODEL})
"""The sources of a target that a person is asked about."""
_EDITED: Final = Source(source=SourceKind.PERSON)
"""Of a value that a person wrote into a call: it is in no document."""


def provenance_fault(
    call: ProposedCall,
    spec: ToolSpec,
    context: dict[str, Any],
    actions: Mapping[str, Action],
    words: Sequence[str] = (),
) -> Correction | None:
    """The correction for the first argument whose value was made up; None when each has an origin."""
    found = without_origin(call, spec, context, actions, words)
    if found is None:
        return None
    text = f"The {found[0]} of {call.tool} must not be made up: it is taken from {told(found[1])}."
    if tools := tools_of(found[1]):
        text += f" Call {tools[0]} first, then {call.tool} with the value that its result holds."
    return Correction(violation=Violation.NO_PROVENANCE, tool=call.tool, message=text)


def without_origin(
    call: ProposedCall,
    spec: ToolSpec,
    context: dict[str, Any],
    actions: Mapping[str, Action],
    words: Sequence[str] = (),
    own: Sequence[Any] = (),
) -> tuple[str, tuple[str, ...]] | None:
    """The place of the first value that was made up, and where it has to come from; None when each has an origin.
    Origins, any of which is enough: the value at a declared path in a successful receipt of the declared tool, the id
    of an option that this tool offered and a person selected, the whole of a text that a person typed as an answer, any
    value in the task's context, and for the origin `goal` the user's `words`. Of askHuman only what was typed: its
    options, and the words of its forms, are a model's own. Of a list every element must have an origin; null, a
    declared default and the `own` values, an author's or a person's, need none.
    """
    for place, origins in spec.provenance.items():
        path = parse_path(place) or (place,)
        values = values_at(call.arguments, path)
        known = [None, *own, *(one for inside, one in walk(context) if inside)] if values else []
        known += _given(origins, actions) if values else ()
        for value in values:
            wanted = value if isinstance(value, list) and not _among(value, known) else [value]
            left = [one for one in wanted if not _among(one, known)]
            made_up = any(GOAL not in origins or not _is_said(one, words) for one in left)
            if made_up and not is_default(spec, value, path):
                return place, origins
    return None


def _among(value: Any, known: list[Any]) -> bool:
    """Equality that does not take 1 for True."""
    return any(type(value) is type(one) and value == one for one in known)


def _is_said(value: Any, words: Sequence[str]) -> bool:
    scalar = isinstance(value, str | int | float) and not isinstance(value, bool) and value != ""
    return scalar and any(form_of(value, resolved=False).found_in(text) for text in words)


def _given(origins: Sequence[str], actions: Mapping[str, Action]) -> Iterator[Any]:
    """The values at the origins, in receipts of their tools, and what a person picked there or typed anywhere."""
    paths = defaultdict[str, list[Path]](list)
    for tool, _, path in (origin.partition(".") for origin in origins):
        paths[tool].append(parse_path(path) or ())
    for action in actions.values():
        if _is_origin(action, paths.keys()):
            for at in (*paths[action.tool], ("selected", "id")):
                yield from _inside(action.data, at)
        elif by_a_person(action) and not _inside(action.data, ("selected",)):
            yield from _inside(action.data, (SAID,))  # what was picked is a tool's own, whatever it is called


@lru_cache(maxsize=256)
def _inside(data: str, path: Path) -> list[Any]:
    """The values at a path of a receipt: it is the same in each turn."""
    return values_at(read_json(data), path)


def origin_actions(spec: ToolSpec, actions: Mapping[str, Action]) -> tuple[str, ...]:
    """The actions whose receipts may be the origin of a value that this tool takes."""
    tools = {tool for origins in spec.provenance.values() for tool in tools_of(origins)}
    return tuple([one.id for one in actions.values() if _is_origin(one, tools) or by_a_person(one)])


def _is_origin(action: Action, tools: Set[str]) -> bool:
    by_a_tool = action.tool in tools and action.tool != human_tool.NAME
    return by_a_tool and action.satisfies and not action.in_models_words


def by_a_person(action: Action) -> bool:
    """Whether a person completed the receipt, and may have typed a value: it has no mark of a worker."""
    return action.outcome is not None and not action.outcome.metadata.action_id and not action.in_models_words


def denied(action: Action) -> bool:
    """Whether a person denied the call, or one inside of the skill that carried it out (E4). A tool that answers DENIED
    by itself has an error like others: its receipt has the mark of a worker.
    """
    is_denial = action.error is not None and action.error.error_type is ErrorType.DENIED
    return is_denial and (bool(action.child) or by_a_person(action))


def told(origins: Sequence[str]) -> str:
    """Origins in words."""
    return " or ".join("the user's words" if origin == GOAL else origin for origin in origins)


def tools_of(origins: Iterable[str]) -> list[str]:
    """The tools among the origins."""
    return [origin.partition(".")[0] for origin in origins if origin != GOAL]


def users_words(work: Work) -> tuple[str, ...]:
    """The goal, a person's words in its place, and this user's goals before (C15); no answers to questions. Where an
    agent has written the goal, the user's own.
    """
    own = work.task.goal if work.task.asked is None else work.task.asked
    return tuple(words for words in (own, work.goal, *earlier_goals(work)) if words)


def earlier_goals(work: Work) -> tuple[str, ...]:
    """This user's goals before, in the same conversation (C15)."""
    return tuple(one.goal for one in work.task.earlier if one.user == work.task.user)


def written_over(sources: dict[str, Source], before: str, after: str, by: SourceKind) -> dict[str, Source]:
    """The sources of a call whose arguments (JSON text, both) were changed: what was nowhere in it before is `by`'s."""
    old, new = ({leaf.place: leaf for leaf in leaves(read_json(text))} for text in (before, after))
    moved = {one.form.text: sources.get(at) for at, one in old.items()}
    same = {at: sources.get(at) for at, one in new.items() if at in old and old[at].value == one.value}
    found = ((at, same[at] if at in same else moved.get(one.form.text, Source(source=by))) for at, one in new.items())
    return {place: source for place, source in found if source is not None}


class Known:
    """All that a chain knows, looked through for the values of one call."""

    def __init__(self, work: Work) -> None:
        self._goals, self._named, self._results = users_words(work), list[Document](), list[Document]()
        for action in work.receipts.values():
            told, ran = action.told, action.ran
            if told.approval is not None and told.approval.proposed is not None:
                own = [leaf.value for leaf in leaves(read_json(ran)) if told.sources.get(leaf.place) == _EDITED]
                where, seen = f"{action.id} edited", told.approval.proposed
                self._named.append(document(SourceKind.PERSON, where, write_json(own), seen))
            data = action.data
            if action.in_models_words:
                continue
            if action.outcome is None or len(data) <= len("{}") or data[0] not in "{[":
                continue
            person, spec = by_a_person(action), work.world.tools.get(action.tool)
            if action.satisfies or person:  # of what refuses every option, the whole words
                kind, known = (SourceKind.PERSON, self._named) if person else (SourceKind.RESULT, self._results)
                kind = kind if spec or person else SourceKind.TEXT  # what is Foreign in it is no longer known
                tool = compiled(spec) if spec else None
                known.append(document(kind, f"{action.id} data", data, action.arguments, tool))
        if work.answers:
            asked = write_json(work.questions)
            self._named.append(document(SourceKind.PERSON, "answers", write_json(work.answers), asked))
        if context := work.task.context:
            self._named.append(document(SourceKind.CONTEXT, "context", write_json(context)))
        self._documents = (*self._results, *self._named)

    def source(self, leaf: Leaf) -> Source:
        """Where a value comes from; a path that is found nowhere, by the folder that it is in, and a list of addresses
        that is nowhere as it is, by the one whose source is the worst.
        """
        found = self._source(leaf)
        if found.source not in UNSAFE:
            return found
        order = list(SourceKind)
        each = (self._source(one) for one in leaf.addresses)
        return max(each, key=lambda one: order.index(one.source), default=found)

    def _source(self, leaf: Leaf) -> Source:
        form, pieces = leaf.form, list[Source]()
        named = self.named(form) if form.text else MODEL
        if named is not None:
            return named
        amount = not leaf.named and not isinstance(leaf.value, str)
        told = self._results if amount else self._documents
        for one in (one for needle in form.needles for one in told if needle in one.folded):
            if amount and form.text not in one.numbers:
                continue
            found = one.find(form)
            if found is not None and found.source is not SourceKind.TEXT:
                return found
            pieces += () if found is None else (found,)
        return self._folder(leaf) or next(iter(pieces), MODEL)

    def _folder(self, leaf: Leaf) -> Source | None:
        """The source of the nearest folder of a path that anything names."""
        text = str(leaf.value)
        for folder in folders_of(text) if leaf.is_path else ():
            spelled = folder.replace(":/", "://", 1) if "://" in text else folder
            spelled = spelled if "/" in text else folder.replace("/", "\\")
            named = None if folder in (".", "/") or ELSEWHERE.fullmatch(folder) else self.named(form_of(spelled))
            if named is not None:
                return Source(source=named.source, where=f"{named.where} folder {folder}".strip())
        return None

    def is_answered(self, source: Source) -> bool:
        """Whether a value was found in what a person answered."""
        return any(one.kind is SourceKind.PERSON and source.where.startswith(f"{one.where}.") for one in self._named)

    def named(self, form: Form) -> Source | None:
        """Whether the goal names the value, or a person or the context as a whole value."""
        if any(form.found_in(words) for words in self._goals):
            return Source(source=SourceKind.GOAL)
        whole = (found for one in self._named if (found := one.find(form)) and found.source is not SourceKind.TEXT)
        return next(whole, None)
