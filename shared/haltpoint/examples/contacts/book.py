"""The address book: CSV and vCard files of one folder, read with the standard library."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Self

from haltpoint.examples.contacts.matching import Contact, Found, find

HERE = Path(__file__).parent


class BookError(Exception):
    """An address book that cannot be read: says the file, the place and what is wrong."""


@dataclass(frozen=True, slots=True)
class Book:
    """Everybody we know. Its today is the day of its newest message, so that it never grows
    stale.
    """

    contacts: tuple[Contact, ...]
    today: date

    @classmethod
    def read(cls, folder: Path = HERE) -> Self:
        """Read all .csv and .vcf files of a folder. Raises BookError, also for an id that occurs
        twice.
        """
        contacts: dict[str, Contact] = {}
        for contact in _read_all(folder):
            if contact.id in contacts:
                raise BookError(f"{folder}: more than one contact has the id {contact.id}")
            contacts[contact.id] = contact
        everybody = tuple(contacts.values())
        days = [contact.last_contact for contact in everybody if contact.last_contact]
        return cls(everybody, max(days, default=date.min))

    def find(self, query: str) -> list[Found]:
        """Everybody who may be meant, the likeliest first."""
        return find(self.contacts, query, self.today)

    def get(self, contact_id: str) -> Contact | None:
        """The person with this id."""
        for contact in self.contacts:
            if contact.id == contact_id:
                return contact
        return None


def _read_all(folder: Path) -> Iterator[Contact]:
    for path in sorted(folder.iterdir()):
        if path.suffix in _READERS:
            yield from _READERS[path.suffix](path)


def read_csv(path: Path) -> Iterator[Contact]:
    """Rows with the columns id, name, nickname, email, phone, organization, last_contact (ISO date
    or empty).
    """
    with path.open(encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(lines)
        columns = rows.fieldnames or ()
        for name in ("id", "name"):
            if name not in columns:
                raise BookError(f"{path}: no column {name}")
        for row in rows:
            yield _contact(row, f"{path}:{rows.line_num}")


def read_vcard(path: Path) -> Iterator[Contact]:
    """Cards (versions 3 and 4): UID, FN, NICKNAME, EMAIL, TEL, ORG and X-LAST-CONTACT; of each the
    first counts.
    """
    card: dict[str, str] | None = None
    for number, line in _unfolded(path.read_text(encoding="utf-8")):
        head, _, value = line.partition(":")
        group_and_name = head.split(";")[0]  # without parameters
        name = group_and_name.split(".")[-1].upper()
        if name == "BEGIN":
            card = {}
        elif card is None:
            raise BookError(f"{path}:{number}: {name} outside of a card")
        elif name == "END":
            yield _contact(card, f"{path}:{number}")
            card = None
        elif name in _PROPERTIES:
            card.setdefault(_PROPERTIES[name], _text(name, value))
    if card is not None:
        raise BookError(f"{path}: the last card has no END")


_READERS = {".csv": read_csv, ".vcf": read_vcard}
_ENDS = {"ORG": ";", "NICKNAME": ","}
"""The signs behind the first part of a structured value."""

_PROPERTIES = {
    "UID": "id",
    "FN": "name",
    "NICKNAME": "nickname",
    "EMAIL": "email",
    "TEL": "phone",
    "ORG": "organization",
    "X-LAST-CONTACT": "last_contact",
}


def _contact(fields: dict[str, str], place: str) -> Contact:
    known: dict[str, str] = {}
    for key in _PROPERTIES.values():
        value = fields.get(key) or ""
        known[key] = value.strip()
    if not known["id"] or not known["name"]:
        raise BookError(f"{place}: a contact needs an id and a name")
    day = known.pop("last_contact")
    try:
        last_contact = date.fromisoformat(day) if day else None
    except ValueError as error:
        raise BookError(f"{place}: last contact {day!r} is not a date like 2026-11-20") from error
    return Contact(**known, last_contact=last_contact)


def _unfolded(text: str) -> Iterator[tuple[int, str]]:
    """Logical lines with the number of their first: a line that begins with a blank continues the
    one before it.
    """
    whole = ""
    first = 1
    for number, line in enumerate(text.splitlines(), 1):
        if line[:1] in (" ", "\t"):
            whole += line[1:]
            continue
        if whole:
            yield first, whole
        whole = line
        first = number
    if whole:
        yield first, whole


def _text(name: str, value: str) -> str:
    """The first part of a structured value, with the escapes of vCard taken back."""
    end = _ENDS.get(name)
    part = ""
    escaped = False
    for letter in value:
        if escaped:
            part += "\n" if letter in "nN" else letter
            escaped = False
        elif letter == "\\":
            escaped = True
        elif letter == end:
            break
        else:
            part += letter
    return part.removeprefix("tel:")
