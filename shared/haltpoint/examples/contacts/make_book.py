"""Make the address book: contacts.csv and friends.vcf, always the same.

    python -m haltpoint.examples.contacts.make_book

The people are invented; any likeness is chance. Some are there for a reason: three whom "John" may mean, one Jane, many
with a J, accents, word orders, shared surnames, entries with gaps. Nobody is called anything like Zorgblort.
"""

import csv
import io
import random
from datetime import date, timedelta
from pathlib import Path

from haltpoint.examples.contacts.matching import Contact, plain

HERE = Path(__file__).parent
TODAY = date(2026, 11, 20)
COLUMNS = ("id", "name", "nickname", "email", "phone", "organization", "last_contact")

CAST = (
    Contact("user_abc123", "John Doe", "", "john.doe@example.com", "+1 555 0101", "Harbour Lights", TODAY),
    Contact(
        "user_def456", "John Smith", "", "jsmith@example.com", "+1 555 0102", "Smith & Daughters", date(2026, 9, 15)
    ),
    Contact(
        "user_jan001",
        "Jane Smith",
        "",
        "jane.smith@example.com",
        "+1 555 0104",
        "Smith & Daughters",
        date(2026, 11, 12),
    ),
    Contact(
        "user_jos001", "José Álvarez", "Pepe", "jose.alvarez@example.com", "+34 555 0105", "Faro", date(2026, 11, 2)
    ),
    Contact("user_jul001", "Julia Berg", "", "julia.berg@example.com", "", "", None),
    Contact("user_jur001", "Jürgen Groß", "", "j.gross@example.com", "+49 555 0107", "Werft Nord", date(2026, 3, 3)),
    Contact("user_zoe001", "Zoë Ångström", "", "zoe@example.com", "+46 555 0108", "", date(2026, 10, 30)),
    Contact("user_lee001", "Lee Min-jun", "", "minjun@example.com", "", "Hanok Tea", None),
)
FRIENDS = (
    Contact("user_ghi789", "Jonathan Lee", "Jon", "jon.lee@example.com", "+1 555 0103", "", None),
    Contact(
        "user_oyv001",
        "Øyvind Dahl",
        "",
        "oyvind.dahl@example.com",
        "+47 555 0110",
        "Fjord; Rederi, AS",
        date(2026, 11, 19),
    ),
    Contact("user_soc001", "Siobhán O'Connor", "", "siobhan@example.com", "+353 555 0111", "", date(2026, 6, 1)),
)
FIRST = """
Ada Aisha Akira Alba Amara Anders Anika Anton Aylin Bastien Beatriz Benedikt Bruno Camila Carmen Cedric
Chiara Chloé Clara Daan Dalia Dario Diego Dmitri Edith Elif Elias Emeka Erik Esther Fatima Felix Fiona
Florian Freya Gabriel Gloria Greta Gustav Hana Harriet Hector Helena Hugo Ibrahim Ida Ingrid Ioana Isabel
Ivan Kai Karim Katya Kenji Khadija Klara Kofi Lars Laura Leila Leon Linnéa Luca Lucía Magnus Malik Marta
Matteo Mei Mila Miriam Nadia Naomi Nikola Nora Olga Omar Oscar Paloma Pavel Petra Priya Quentin Rafael Ravi
Rosa Ruben Sakura Samir Selma Sven Tariq Tessa Theo Tomás Uma Ursula Valentina Viktor Wanda Xenia Yara Yusuf
Zeynep Jakub Jasmine Joaquín Judith Justyna
"""
LAST = """
Abe Adler Aguilar Ahmed Bianchi Blanc Bondarenko Castillo Cohen Costa Demir Dubois Eriksen Evans Fischer
Fontaine Fujita García Georgiou Hansen Haddad Horvat Ibsen Ito Kaya Keller Kowalski Kraus Laurent Lindqvist
López Maier Mbeki Moreau Müller Nakamura Nguyen Novák Nowak O'Brien Okafor Olsen Öztürk Papadakis Pereira
Petrov Quinn Rahman Ramos Ricci Rossi Santos Sato Schneider Silva Sørensen Tanaka Torres Usman Vargas
Vermeer Vogel Wagner Weiss Yamamoto Yıldız Zieliński Žižka
"""
FIRMS = (
    "",
    "",
    "Harbour Lights",
    "Northwind Books",
    "Blue Fern",
    "Quarry Lane",
    "Open Field",
    "Rue Verte",
    "Kestrel Works",
)


def people(count: int, chance: random.Random) -> list[Contact]:
    """Invent people: no name twice, now and then without phone, address or any message so far."""
    made: dict[str, Contact] = {}
    while len(made) < count:
        name = f"{chance.choice(FIRST.split())} {chance.choice(LAST.split())}"
        number = len(made)
        if name in made:
            continue
        made[name] = Contact(
            id=f"user_{chance.randrange(16**6):06x}",
            name=name,
            email=f"{plain(name).replace(' ', '.')}@example.com" if chance.random() < 0.9 else "",
            phone=f"+44 555 {1000 + number}" if chance.random() < 0.7 else "",
            organization=chance.choice(FIRMS),
            last_contact=TODAY - timedelta(days=chance.randrange(1, 700)) if chance.random() < 0.6 else None,
        )
    return list(made.values())


def as_csv(contacts: list[Contact]) -> str:
    """The rows of `book.read_csv`."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    for one in contacts:
        rows.writerow([getattr(one, column) or "" for column in COLUMNS])
    return text.getvalue()


def as_vcards(contacts: list[Contact]) -> str:
    """Cards of version 4.0, with the line ends, escapes and folding that the standard asks for."""
    lines: list[str] = []
    for one in contacts:
        day = one.last_contact.isoformat() if one.last_contact else ""
        properties = {
            "UID": one.id,
            "FN": _escaped(one.name),
            "NICKNAME": _escaped(one.nickname),
            "EMAIL;TYPE=home": one.email,
            "TEL;TYPE=cell": one.phone,
            "ORG": _escaped(one.organization),
            "X-LAST-CONTACT": day,
        }
        lines += ["BEGIN:VCARD", "VERSION:4.0"]
        lines += [f"{name}:{value}" for name, value in properties.items() if value]
        lines += ["END:VCARD"]
    return "".join(_folded(line) for line in lines)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace(";", "\\;").replace(",", "\\,")


def _folded(line: str) -> str:
    """At most 60 letters (75 bytes are allowed, and a letter here has at most two in our data)."""
    parts = [line[:36]] + [line[at : at + 35] for at in range(36, len(line), 35)]
    return "\r\n ".join(parts) + "\r\n"


def main(folder: Path = HERE) -> None:
    """Write both files."""
    chance = random.Random(20261120)
    crowd = people(320, chance)
    (folder / "contacts.csv").write_text(as_csv([*CAST, *crowd[:260]]), encoding="utf-8")
    (folder / "friends.vcf").write_text(as_vcards([*FRIENDS, *crowd[260:]]), encoding="utf-8", newline="")


if __name__ == "__main__":
    main()
