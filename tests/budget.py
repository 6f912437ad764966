"""The budgets of the rooms of code, held against budget.toml: `make check` asks, `make budget`
lowers.

A room is a folder below shared/haltpoint or services. Its weight is the nodes of Python's syntax
tree without docstrings, imports and load or store marks, so that neither layout nor the Python that
runs this changes it. The weight of statements and the length of functions have bars that are the
same for all rooms; a room above one has a row there until it is not. No row rises here: that takes
a commit that says why.
"""

import ast
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
HOUSE: Final = ("shared/haltpoint", "services")
BESIDE: Final = ("evals", "examples", "tests")
"""Weighed as well, so that code which moves there is not out of sight."""

BARS: Final = {"median": 7, "p90": 14, "p95": 29, "longest": 80}
"""Nodes of a statement, in the median and at the 90th percentile; lines of a function, at the 95th
percentile and of the longest."""

SLACK: Final = 0.02
"""A row of nodes may be this much above what is there before it has to be set down."""

SIMPLE: Final = (
    ast.Assign,
    ast.AnnAssign,
    ast.AugAssign,
    ast.Return,
    ast.Raise,
    ast.Expr,
    ast.Assert,
    ast.Delete,
)

Rows = dict[str, dict[str, int]]
"""Figures by table and room."""


@dataclass(slots=True)
class Room:
    """What was counted in the files of one room: nodes of each statement, lines of each
    function.
    """

    nodes: int = 0
    statements: list[int] = field(default_factory=list)
    functions: list[int] = field(default_factory=list)

    def add(self, source: str) -> None:
        """Count one file."""
        tree = ast.parse(source)
        self.nodes += weight(tree)
        self.statements += statements(tree)
        self.functions += [
            (node.end_lineno or node.lineno) - node.lineno + 1
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ]

    def over(self) -> dict[str, int]:
        """The figures that are above their bars."""
        figures = {
            "median": _rank(self.statements, 50),
            "p90": _rank(self.statements, 90),
            "p95": _rank(self.functions, 95),
            "longest": max(self.functions, default=0),
        }
        return {name: figure for name, figure in figures.items() if figure > BARS[name]}


def weight(node: ast.AST) -> int:
    """The nodes of a tree."""
    if _is_text(node) or isinstance(node, ast.Import | ast.ImportFrom | ast.expr_context):
        return 0
    return 1 + sum(weight(child) for child in ast.iter_child_nodes(node))


def statements(tree: ast.AST) -> Iterator[int]:
    """The weight of each statement inside of a function; of a block it is what stands in its
    head.
    """
    inside = {
        id(node): node
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if node is not function
    }
    for node in inside.values():
        if isinstance(node, SIMPLE) and not _is_text(node):
            yield weight(node)
        elif head := _head(node):
            yield sum(map(weight, head))


def rooms(root: Path, named: set[str]) -> dict[str, Room]:
    """The rooms of the house; a folder inside of one is a room of its own when it has a row."""
    found: dict[str, Room] = {}
    for base in HOUSE:
        for path in sorted((root / base).rglob("*.py")):
            folder = path.parent.relative_to(root / base)
            ways = [str(way) for way in (folder, *folder.parents) if str(way) in named]
            name = ways[0] if ways else next(iter(folder.parts), "top")
            found.setdefault(name, Room()).add(path.read_text(encoding="utf-8"))
    return found


def measure(root: Path, named: set[str]) -> Rows:
    """What is there, table by table; a figure at or below its bar is left out."""
    house = rooms(root, named)
    beside = {name: sum(_weigh(path) for path in (root / name).rglob("*.py")) for name in BESIDE}
    figures: Rows = {"rooms": {name: room.nodes for name, room in house.items()}, "beside": beside}
    for table in BARS:
        figures[table] = {
            name: room.over()[table] for name, room in house.items() if table in room.over()
        }
    return figures


def faults(rows: Rows, figures: Rows) -> list[str]:
    """How the rows and what is there differ."""
    return [
        f"[{table}] {name}: {fault}"
        for table in figures
        for name in sorted({*rows.get(table, {}), *figures[table]})
        if (fault := _fault(rows.get(table, {}).get(name), figures[table].get(name)))
    ]


def lowered(rows: Rows, figures: Rows) -> Rows:
    """The rows set down to what is there; one that nothing needs goes."""
    return {
        table: {
            name: min(row, figures[table][name])
            for name, row in rows.get(table, {}).items()
            if name in figures[table]
        }
        for table in figures
    }


def text(rows: Rows) -> str:
    """The tables as they stand in budget.toml."""
    lines: list[str] = []
    for table, named in rows.items():
        lines += ["", f"[{table}]"]
        lines += [f"{_key(name)} = {row}" for name, row in sorted(named.items())]
    return "\n".join(lines) + "\n"


def _fault(row: int | None, figure: int | None) -> str:
    if figure is None:
        return f"a row of {row}, and nothing there that needs it; `make budget` takes it out"
    if row is None:
        return f"{figure}, and no row"
    if figure > row:
        return f"{figure}, and the row says {row}"
    if figure < row * (1 - SLACK):
        return f"only {figure}, and the row says {row}; `make budget` sets it down"
    return ""


def _head(node: ast.AST) -> list[ast.AST]:
    match node:
        case ast.If(test=test) | ast.While(test=test):
            return [test]
        case ast.For(target=target, iter=values) | ast.AsyncFor(target=target, iter=values):
            return [target, values]
        case ast.With(items=items) | ast.AsyncWith(items=items):
            return [*items]
        case ast.Match(subject=subject):
            return [subject]
        case ast.match_case(pattern=pattern, guard=guard):
            return [pattern, guard] if guard else [pattern]
    return []


def _key(name: str) -> str:
    return f'"{name}"' if "/" in name else name


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _rank(values: list[int], percent: int) -> int:
    return sorted(values)[len(values) * percent // 100] if values else 0


def _weigh(path: Path) -> int:
    return weight(ast.parse(path.read_text(encoding="utf-8")))


def main() -> int:
    """Hold the house against its rows; with --down, set them down first."""
    place = ROOT / "budget.toml"
    head = place.read_text(encoding="utf-8").split("\n[", 1)[0]
    rows: Rows = tomllib.loads(place.read_text(encoding="utf-8"))
    figures = measure(ROOT, set(rows["rooms"]))
    if "--down" in sys.argv:
        rows = lowered(rows, figures)
        place.write_text(f"{head.rstrip()}\n{text(rows)}", encoding="utf-8")
    differing = faults(rows, figures)
    for fault in differing:
        print(f"budget: {fault}")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.setrecursionlimit(10_000)
    sys.exit(main())
