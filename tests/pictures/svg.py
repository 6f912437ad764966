"""Boxes, words and arrows in a picture that follows a light or a dark page."""

from html import escape
from typing import Final

STYLE: Final = """
svg { --page: #ffffff; --box: #eef3fb; --line: #44546a; --word: #1b2430; --note: #4a5563 }
@media (prefers-color-scheme: dark) {
  svg { --page: #14181f; --box: #222c3a; --line: #9fb2cc; --word: #eef2f7; --note: #b7c3d2 }
}
text { font: 14px system-ui, sans-serif; fill: var(--note) }
.name { font-weight: 600; font-size: 15px; fill: var(--word) }
rect { fill: var(--box); stroke: var(--line) }
.page { fill: var(--page); stroke: none }
.quiet { fill: none; stroke-dasharray: 4 4 }
path { fill: none; stroke: var(--line); stroke-width: 1.5; marker-end: url(#head) }
marker path { fill: var(--line); stroke: none; marker-end: none }
"""


def picture(width: int, height: int, title: str, parts: list[str]) -> str:
    """The whole file."""
    head = '<marker id="head" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">'
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
            f"<title>{escape(title)}</title>",
            f"<style>{STYLE}</style>",
            f'<defs>{head}<path d="M0 0 L8 4 L0 8 Z"/></marker></defs>',
            f'<rect class="page" width="{width}" height="{height}"/>',
            *parts,
            "</svg>\n",
        )
    )


def box(
    x: int, y: int, width: int, height: int, name: str, *notes: str, quiet: bool = False
) -> str:
    """A frame with a name and lines below it; a quiet one only holds others."""
    kind = ' class="quiet"' if quiet else ""
    frame = f'<rect{kind} x="{x}" y="{y}" width="{width}" height="{height}" rx="6"/>'
    return "\n".join(
        (
            frame,
            text(x + 12, y + 24, name, "name"),
            *(text(x + 12, y + 46 + 18 * n, one) for n, one in enumerate(notes)),
        )
    )


def text(x: int, y: int, words: str, kind: str = "note") -> str:
    """One line of words."""
    return f'<text class="{kind}" x="{x}" y="{y}">{escape(words)}</text>'


def arrow(*points: tuple[int, int]) -> str:
    """A line through these points, with a head at its end."""
    return f'<path d="M{" L".join(f"{x} {y}" for x, y in points)}"/>'
