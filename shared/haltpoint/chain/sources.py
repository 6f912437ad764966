"""Where each value of a call comes from, found by comparison and never by a model (CONTRACT C13).

The order: the user's words, a person, the task's context, a whole scalar of a receipt, a piece of free text in one, and
the model where it is found nowhere. A value that a tool was called with is no result of it: a tool that gives back what
a model has put in is no source.
"""

import re
from collections.abc import Iterator
from posixpath import dirname, normpath
from typing import Final

from haltpoint.chain.canonical import Form, form_of
from haltpoint.chain.documents import Document, document, holding
from haltpoint.chain.places import Leaf
from haltpoint.chain.provenance import SAID, by_a_person
from haltpoint.chain.references import read_json, write_json
from haltpoint.chain.work import Work
from haltpoint.contracts.reasons import Source, SourceKind

MODEL: Final = Source(source=SourceKind.MODEL)


def users_words(work: Work) -> tuple[str, ...]:
    """What the user has said: the goal, a person's words in its place, and this user's goals before (C15)."""
    task = work.task
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
        self._named, self._results = list[Document](), list[Document]()
        for action in work.actions.values():
            data, outcome = action.data, action.outcome
            if outcome is None or len(data) <= len("{}") or data[0] not in "{[":
                continue
            person = by_a_person(action)
            if person and data[0] == "{" and isinstance(said := read_json(data).get(SAID), str):
                self._said.append((said, Source(source=SourceKind.PERSON, where=action.id)))
            if outcome.satisfies:
                spec = work.world.tools.get(action.tool)
                kind, foreign = SourceKind.PERSON if person else SourceKind.RESULT, spec.foreign if spec else ()
                found = document(kind, f"{action.id} data", data, action.arguments, foreign)
                (self._named if person else self._results).append(found)
        if context := work.task.context:
            self._named.append(document(SourceKind.CONTEXT, "context", write_json(context)))
        self._documents = (*self._results, *self._named)
        self._texts = b"\0".join([one.folded for one in self._documents])

    def source(self, leaf: Leaf) -> Source:
        """Where a value comes from; a path that is found nowhere, by the folder that it is in."""
        form, pieces = form_of(leaf.value), list[Source]()
        named = self.named(form) if form.text else MODEL
        if named is not None:
            return named
        if not leaf.named and not isinstance(leaf.value, str):
            where = next((one.where for one in self._results if form.text in one.numbers), None)
            return MODEL if where is None else Source(source=SourceKind.RESULT, where=where)
        for number in holding(form, self._texts):
            found = self._documents[number].find(form)
            if found is not None and found.source is not SourceKind.TEXT:
                return found
            pieces += () if found is None else (found,)
        return self._folder(leaf) or next(iter(pieces), MODEL)

    def _folder(self, leaf: Leaf) -> Source | None:
        """The source of the nearest folder of a path that anything names."""
        for folder in folders_of(str(leaf.value)) if leaf.is_path and "://" not in str(leaf.value) else ():
            named = None if folder in (".", "/") else self.named(form_of(folder))
            if named is not None:
                return Source(source=named.source, where=f"{named.where} folder {folder}".strip())
        return None

    def named(self, form: Form) -> Source | None:
        """Whether the user, a person or the context names the value."""
        said = (source for words, source in self._said if form.found_in(words))
        whole = (found for one in self._named if (found := one.find(form)) and found.source is not SourceKind.TEXT)
        return next(said, None) or next(whole, None)
