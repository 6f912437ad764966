"""Where each value of a call comes from, found by comparison and never by a model (CONTRACT C13).

The order: the user's words, a person, the task's context, a whole scalar of a receipt, a piece of free text in one, and
the model where it is found nowhere. Receipts are searched as folded text first, and parsed only where that holds the
value. A value that a tool was called with is no result of it: a tool that gives back what a model has put in is no
source.
"""

import re
from collections.abc import Iterable, Iterator
from posixpath import dirname, normpath
from typing import Any, Final

from haltpoint.chain import policy
from haltpoint.chain.canonical import Form, form_of
from haltpoint.chain.documents import SHORT, Document
from haltpoint.chain.places import Leaf, leaves
from haltpoint.chain.provenance import SAID, by_a_person
from haltpoint.chain.references import read_json, write_json
from haltpoint.chain.state import Action, PlanOrigin
from haltpoint.chain.work import Work
from haltpoint.contracts.reasons import Source, SourceKind
from haltpoint.contracts.tasks import Mode
from haltpoint.contracts.tools import Outcome, ToolSpec

MOST: Final = 100
"""Values of a call whose sources are kept; targets are looked at before others."""
MODEL: Final = Source(source=SourceKind.MODEL)


def sources_for(work: Work, index: int, arguments: dict[str, Any], spec: ToolSpec) -> dict[str, Source]:
    """The sources of a call's values by their places; none where nobody looks at them.

    Those are the calls of a submitter's literal plan, and of a read-only tool that neither carries data outward nor
    takes values with an origin.
    """
    unseen = spec.read_only and not spec.outward and not spec.provenance
    if unseen or work.origin is PlanOrigin.LITERAL or policy.mode(work.chain.task, work.steps[index]) is Mode.OFF:
        return {}
    known = Known(work)
    found = sorted(leaves(arguments, spec, work.world.policy.targets), key=lambda leaf: not leaf.named)
    return {leaf.place: known.source(leaf) for leaf in found[:MOST] if len(leaf.place) <= SHORT}


def after_hooks(sources: dict[str, Source], before: str, ran: str) -> dict[str, Source]:
    """The sources of the arguments that ran (JSON text, both): what hooks have written is theirs."""
    old, new = ({leaf.place: leaf.value for leaf in leaves(read_json(text))} for text in (before, ran))
    hook = Source(source=SourceKind.HOOK)
    found = ((place, sources.get(place) if old.get(place) == value else hook) for place, value in new.items())
    return {place: source for place, source in found if source is not None}


def users_words(work: Work) -> tuple[str, ...]:
    """What the user has said: the goal, a person's words in its place, and this user's goals before (C15)."""
    task = work.chain.task
    earlier = (one.goal for one in task.earlier if one.user == task.user)
    return tuple(words for words in (task.goal, work.goal, *earlier) if words)


def folders_of(path: str) -> Iterator[str]:
    """The folders that a path is inside of, the nearest first, resolved by its words alone; the working directory and
    the root only when it is directly in them. Of one that leaves the working directory there are none.
    """
    folder = dirname(normpath(re.sub("^/+", "/", path.replace("\\", "/"))))
    if folder.startswith("..") or normpath(path) == "..":
        return
    yield folder or "."
    while (folder := dirname(folder)) not in ("", "/"):
        yield folder


class Known:
    """All that a chain knows, looked through for the values of one call."""

    def __init__(self, work: Work) -> None:
        self._said = [(words, Source(source=SourceKind.GOAL)) for words in users_words(work)]
        self._named: list[tuple[SourceKind, Document]] = []
        self._results: list[Document] = []
        for action in work.actions.values():
            if action.outcome is not None and len(action.data) > len("{}") and action.data[0] in "{[":
                self._read(action, action.outcome, work.world.tools.get(action.tool))
        if context := work.chain.task.context:
            self._named.append((SourceKind.CONTEXT, Document("context", write_json(context))))

    def _read(self, action: Action, outcome: Outcome, spec: ToolSpec | None) -> None:
        document = Document(f"{action.id} data", action.data, action.arguments, spec.foreign if spec else ())
        person = by_a_person(outcome)
        given = read_json(action.data) if person else None
        if isinstance(given, dict) and isinstance(said := given.get(SAID), str):
            self._said.append((said, Source(source=SourceKind.PERSON, where=action.id)))
        if outcome.satisfies and person:
            self._named.append((SourceKind.PERSON, document))
        elif outcome.satisfies:
            self._results.append(document)

    def source(self, leaf: Leaf) -> Source:
        """Where a value comes from; a path that is found nowhere, by the folder that it is in."""
        form = form_of(leaf.value)
        if not form.text:
            return MODEL
        number = not leaf.named and not isinstance(leaf.value, str)
        whole = (one.number(form) if number else one.whole(form, SourceKind.RESULT) for one in self._results)
        pieces = (one.piece(form) for one in (*self._results, *(one for _, one in self._named)) if not number)
        return self.named(form) or _first(whole) or self._folder(leaf) or _first(pieces) or MODEL

    def _folder(self, leaf: Leaf) -> Source | None:
        """The source of the nearest folder of a path that anything names."""
        folders = folders_of(str(leaf.value)) if leaf.is_path and "://" not in str(leaf.value) else ()
        for folder in folders:
            named = None if folder in (".", "/") else self.named(form_of(folder))
            if named is not None:
                return Source(source=named.source, where=f"{named.where} folder {folder}".strip())
        return None

    def named(self, form: Form) -> Source | None:
        """Whether the user, a person or the context names the value."""
        said = (source for words, source in self._said if form.found_in(words))
        return _first(said) or _first(document.whole(form, kind) for kind, document in self._named)


def _first(found: Iterable[Source | None]) -> Source | None:
    return next((one for one in found if one is not None), None)
