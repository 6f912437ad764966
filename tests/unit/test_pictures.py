"""The pictures show the system as it is, and their words have a contrast of 4.5:1 at least (WCAG
AA).
"""

from tests.pictures import architecture


def test_the_picture_of_the_services_is_that_of_the_table_of_messages() -> None:
    assert architecture.PICTURE.read_text() == architecture.drawn(), (
        "stale: run `python -m tests.pictures.architecture`"
    )
