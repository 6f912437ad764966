"""Write the reference: `make reference`."""

from tests.reference.pages import FOLDER, PAGES

for name, written in PAGES.items():
    (FOLDER / name).write_text(written())
