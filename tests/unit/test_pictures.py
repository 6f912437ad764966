"""The pictures show the system as it is, and their words have a contrast of 4.5:1 at least (WCAG AA)."""

import re
from pathlib import Path

import pytest

from tests.pictures import architecture
from tests.pictures.svg import STYLE

DEMO = (Path(__file__).parents[2] / "docs" / "demo.svg").read_text()


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_every_word_of_the_demo_can_be_read_and_a_person_chooses() -> None:
    (screen,) = re.findall(r'<rect fill="(#\w{6})" stroke', DEMO)
    (label,) = set(re.findall(r'<rect fill="(#\w{6})" x', DEMO))
    words = set(re.findall(r"-r\d+ { fill: (#\w{6})", DEMO))
    assert screen in words  # the word STOP, on its label
    assert contrast(screen, label) >= 4.5
    assert [one for one in words - {screen} if contrast(one, screen) < 4.5] == []
    assert "Your&#160;choice&#160;(1-3,&#160;n&#160;none,&#160;a&#160;abort):&#160;1<" in DEMO


@pytest.mark.parametrize("colours", STYLE.split("@media"), ids=["light", "dark"])
def test_every_word_of_a_drawing_can_be_read_on_a_light_and_on_a_dark_page(colours: str) -> None:
    named = dict(re.findall(r"--(\w+): (#\w{6})", colours))
    assert [word for word in ("word", "note") for on in ("page", "box") if contrast(named[word], named[on]) < 4.5] == []


def test_the_picture_of_the_services_is_that_of_the_table_of_messages() -> None:
    assert architecture.PICTURE.read_text() == architecture.drawn(), (
        "stale: run `python -m tests.pictures.architecture`"
    )
