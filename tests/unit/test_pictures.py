"""The pictures show the system as it is, and their words have a contrast of 4.5:1 at least (WCAG AA)."""

from tests.pictures import architecture


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_the_picture_of_the_services_is_that_of_the_table_of_messages() -> None:
    assert architecture.PICTURE.read_text() == architecture.drawn(), (
        "stale: run `python -m tests.pictures.architecture`"
    )
