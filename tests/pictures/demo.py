"""Draw docs/pictures/demo.svg: the demo in a terminal, with a person at it. Needs tmux: `python -m
tests.pictures.demo`.
"""

import io
import re
import subprocess
import sys
import time
from html import unescape
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from haltpoint.cli.commands.demo.show import CASES

PICTURE: Final = Path(__file__).parents[2] / "docs" / "pictures" / "demo.svg"
_FIRST, _LAST = CASES[0].what, " · 1 question"
_WIDTH: Final = 100
_TERMINAL: Final = ("tmux", "-L", "haltpoint-picture")
# Every colour has a contrast of 4.5:1 at least with the background, dimmed ones too.
_THEME: Final = TerminalTheme(
    (22, 24, 28),
    (228, 230, 235),
    [
        *((22, 24, 28), (255, 150, 150), (150, 220, 120), (250, 205, 90)),
        *((150, 190, 255), (240, 190, 252), (125, 215, 235), (228, 230, 235)),
    ],
)


def main() -> None:
    """Run the demo, choose the first John, and draw what stands on the screen when his message has
    gone out.
    """
    demo = f"env -u CI COLORTERM=truecolor {sys.executable} -m haltpoint demo; sleep 600"
    subprocess.run(
        [*_TERMINAL, "new-session", "-d", "-x", str(_WIDTH), "-y", "120", demo], check=True
    )
    try:
        _screen_with("Your choice")
        subprocess.run([*_TERMINAL, "send-keys", "1", "Enter"], check=True)
        lines = _screen_with(_LAST).split("\n")
    finally:
        subprocess.run([*_TERMINAL, "kill-server"], check=True)
    first = next(number for number, line in enumerate(lines) if _FIRST in line)
    last = next(number for number, line in enumerate(lines) if _LAST in line)
    console = Console(record=True, width=_WIDTH, file=io.StringIO())
    for line in lines[first : last + 1]:
        console.print(Text.from_ansi(line.rstrip()))
    console.save_svg(str(PICTURE), title="haltpoint demo", theme=_THEME)


def sentences() -> list[str]:
    """What the picture shows, but for values that differ each time: from each mark to the next, as
    `bare` words.
    """
    found = re.findall(
        r'<text class="[^"]*" x="([\d.]+)" y="([\d.]+)"[^>]*>([^<]*)</text>', PICTURE.read_text()
    )
    placed = sorted((float(y), float(x), unescape(words)) for x, y, words in found)
    shown = bare("".join(words for *_, words in placed))
    pieces = re.split("(?=[⊘✗↺◆◇»✓▸→■╭│╰]|Yourchoice)", shown)
    untimed = (re.sub(r"\d+\.\ds$", "", piece) for piece in pieces)  # that of the next line
    return [piece for piece in untimed if piece[:1] in "⊘✗↺◆◇"]


def bare(text: str) -> str:
    """Without spaces, and without the brackets that notes have where there is no terminal."""
    return re.sub(r"[\s()]", "", text)


def _screen_with(words: str) -> str:
    """What stands on the screen, in its colours, as soon as these words do."""
    for _ in range(600):
        shown = subprocess.run(
            [*_TERMINAL, "capture-pane", "-p", "-e"], check=True, capture_output=True, text=True
        ).stdout
        if words in shown:
            return shown
        time.sleep(0.1)  # between two looks: a terminal tells nobody that it has changed
    raise TimeoutError(f"the demo did not say {words!r}")


if __name__ == "__main__":
    main()
