"""The site: pages and their sections in one SQLite file.

Every change is made once under its key, in one transaction with the record of its result: who
repeats a key gets the first result, and nothing is made twice. What cannot be done raises ToolError
before anything has changed.
"""

import json
import secrets
import sqlite3
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from difflib import SequenceMatcher
from pathlib import Path
from typing import Final, Literal, TypeVar

from pydantic import BaseModel

from haltpoint import ToolError

HERE: Final = Path(__file__).parent
_TABLES: Final = """
    CREATE TABLE IF NOT EXISTS pages (page_id TEXT PRIMARY KEY, slug TEXT UNIQUE, name TEXT);
    CREATE TABLE IF NOT EXISTS sections (
        section_id TEXT PRIMARY KEY, page_id TEXT REFERENCES pages, type TEXT, position INTEGER,
        heading TEXT, text TEXT);
    CREATE TABLE IF NOT EXISTS changes (key TEXT PRIMARY KEY, result TEXT);
"""

Made = TypeVar("Made", bound=BaseModel)
SectionType = Literal["hero", "features", "cta", "text"]


class Section(BaseModel):
    """A part of a page, without its text."""

    section_id: str
    page_id: str
    type: SectionType
    position: int
    heading: str


class WholeSection(Section):
    """A part of a page."""

    text: str


class Page(BaseModel):
    """A page with its sections in their order."""

    page_id: str
    slug: str
    name: str
    sections: list[WholeSection] | list[Section]


class Hit(BaseModel):
    """A page or a section that a search may mean. `score` is at most 1."""

    type: Literal["page", "section"]
    id: str
    name: str
    score: float


class Site:
    """One file; several processes may work with it at once. A new one begins with the pages of
    `pages.json`.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        with closing(sqlite3.connect(path)) as database:
            database.executescript(_TABLES)
        for page in json.loads((HERE / "pages.json").read_text(encoding="utf-8")):
            slug = page["slug"]
            made = self.create_page(f"start.{slug}", page["name"], slug)
            for number, section in enumerate(page["sections"]):
                self.add_section(f"start.{slug}.{number}", made.page_id, **section)

    def find(self, query: str) -> list[Hit]:
        """The pages and sections that a query may mean, the likeliest five first."""
        everything = """
            SELECT 'page', page_id, name, slug FROM pages
            UNION ALL SELECT 'section', section_id, heading, type FROM sections"""
        with self._open() as database:
            rows = database.execute(everything).fetchall()
        scored = [
            (max(_likeness(query, name), _likeness(query, other)), kind, id, name)
            for kind, id, name, other in rows
        ]
        hits = [
            Hit(type=kind, id=id, name=name, score=score)
            for score, kind, id, name in scored
            if score > 0.5
        ]
        return sorted(hits, key=lambda hit: -hit.score)[:5]

    def page(self, slug: str | None, page_id: str | None, *, whole: bool) -> Page:
        """The page with this slug or id; `whole`: with the texts of its sections."""
        with self._open() as database:
            row = database.execute(
                "SELECT * FROM pages WHERE slug = ? OR page_id = ?", (slug, page_id)
            ).fetchone()
            if row is None:
                raise ToolError.not_found(
                    f"There is no page {slug or page_id!r}.", suggestion="Search with findResource."
                )
            found = database.execute(
                "SELECT * FROM sections WHERE page_id = ? ORDER BY position", (row["page_id"],)
            )
            form = WholeSection if whole else Section
            sections = [form.model_validate(dict(section)) for section in found]
            return Page.model_validate({**dict(row), "sections": sections})

    def section(self, section_id: str) -> WholeSection:
        """The section with this id."""
        with self._open() as database:
            return _section(database, section_id)

    def create_page(self, key: str, name: str, slug: str) -> Page:
        """A new page without sections."""

        def create(database: sqlite3.Connection) -> Page:
            page = Page(page_id=f"page-{secrets.token_hex(3)}", slug=slug, name=name, sections=[])
            try:
                database.execute("INSERT INTO pages VALUES (?, ?, ?)", (page.page_id, slug, name))
            except sqlite3.IntegrityError:
                taken = f"There is a page {slug!r} already."
                raise ToolError.validation(
                    taken, invalid_fields=["slug"], suggestion="Choose another slug."
                ) from None
            return page

        return self._once(key, Page, create)

    def add_section(
        self, key: str, page_id: str, type: SectionType, heading: str, text: str
    ) -> WholeSection:
        """A new section at the end of a page."""

        def add(database: sqlite3.Connection) -> WholeSection:
            last = "SELECT coalesce(max(position), 0) FROM sections WHERE page_id = ?"
            (position,) = database.execute(last, (page_id,)).fetchone()
            section_id = f"section-{secrets.token_hex(3)}"
            row = (section_id, page_id, type, position + 1, heading, text)
            try:
                database.execute("INSERT INTO sections VALUES (?, ?, ?, ?, ?, ?)", row)
            except sqlite3.IntegrityError:
                raise ToolError.not_found(f"There is no page {page_id!r}.") from None
            return _section(database, section_id)

        return self._once(key, WholeSection, add)

    def update_section(
        self, key: str, section_id: str, heading: str | None, text: str | None
    ) -> WholeSection:
        """Another heading or text; None leaves what is there."""

        def update(database: sqlite3.Connection) -> WholeSection:
            change = (
                "UPDATE sections SET heading = coalesce(?, heading), text = "
                "coalesce(?, text) WHERE section_id = ?"
            )
            database.execute(change, (heading, text, section_id))
            return _section(database, section_id)

        return self._once(key, WholeSection, update)

    def delete_section(self, key: str, section_id: str) -> WholeSection:
        """The section as it was."""

        def delete(database: sqlite3.Connection) -> WholeSection:
            gone = _section(database, section_id)
            database.execute("DELETE FROM sections WHERE section_id = ?", (section_id,))
            return gone

        return self._once(key, WholeSection, delete)

    def restore_section(self, key: str, section: WholeSection) -> WholeSection:
        """The section again where it was, under its id."""

        def restore(database: sqlite3.Connection) -> WholeSection:
            row = (
                section.section_id,
                section.page_id,
                section.type,
                section.position,
                section.heading,
                section.text,
            )
            database.execute("INSERT OR IGNORE INTO sections VALUES (?, ?, ?, ?, ?, ?)", row)
            return _section(database, section.section_id)

        return self._once(key, WholeSection, restore)

    def _once(
        self, key: str, form: type[Made], change: Callable[[sqlite3.Connection], Made]
    ) -> Made:
        with self._open() as database:
            done = database.execute("SELECT result FROM changes WHERE key = ?", (key,)).fetchone()
            if done is not None:
                return form.model_validate_json(done["result"])
            made = change(database)
            database.execute("INSERT INTO changes VALUES (?, ?)", (key, made.model_dump_json()))
            return made

    @contextmanager
    def _open(self) -> Generator[sqlite3.Connection]:
        """A connection within one transaction, which an exception takes back."""
        with (
            closing(sqlite3.connect(self._path, timeout=10, isolation_level=None)) as database,
            database,
        ):
            database.row_factory = sqlite3.Row
            database.execute("PRAGMA foreign_keys = ON")
            database.execute("BEGIN IMMEDIATE")
            yield database


def _section(database: sqlite3.Connection, section_id: str) -> WholeSection:
    row = database.execute("SELECT * FROM sections WHERE section_id = ?", (section_id,)).fetchone()
    if row is None:
        raise ToolError.not_found(
            f"There is no section {section_id!r}.", suggestion="Look at its page with getPage."
        )
    return WholeSection.model_validate(dict(row))


def _likeness(query: str, name: str) -> float:
    wanted, known = query.casefold(), name.casefold()
    return (
        0.9 if wanted in known and wanted != known else SequenceMatcher(None, wanted, known).ratio()
    )
