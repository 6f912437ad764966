"""docs/reference/http.md: every route, every body and every problem, out of the gateway."""

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from typer.testing import CliRunner

import haltpoint_gateway
from haltpoint.cli.main import app
from haltpoint.contracts.base import JsonObject
from haltpoint_gateway.problems import WHERE
from tests.reference.markdown import code, page, prose, table, words

INTRODUCTION: Final = """\
Each request has `Authorization: Bearer KEY`. [HTTP and Python clients](../guides/clients.md)
begins with examples. The gateway serves this as OpenAPI at `/openapi.json`, and `haltpoint schema
openapi` prints it."""
OUR_OWN: Final = frozenset({"Handed", "Assignment", "Earlier", "Entry", "KnownReceipt", "Below"})
"""Bodies that the runtime writes for itself."""
Schema = JsonObject


def written() -> str:
    """The page."""
    printed = CliRunner().invoke(app, ["schema", "openapi"], catch_exceptions=False).output
    document = json.loads(printed)
    routes = [part for line in routes_of(document) for part in route(*line)]
    bodies = [part for line in bodies_of(document) for part in body(*line)]
    rows = sorted({(code(name), str(status)) for status, name in problems()})
    return page(
        "HTTP API",
        INTRODUCTION,
        *routes,
        "## Problems",
        "An error is a problem document (RFC 9457). `detail` says what happened, `hint` helps.",
        table(("code", "status"), rows),
        "## Bodies",
        *bodies,
    )


def routes_of(document: Schema) -> Iterator[tuple[str, Schema]]:
    """Each method and path with what it does."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def route(name: str, operation: Schema) -> Iterator[str]:
    """The section of one route."""
    yield f"## {name}"
    yield prose(operation.get("description"))
    parameters = [parameter(line) for line in operation.get("parameters", ())]
    if parameters:
        yield table(("parameter", "in", "value", "meaning"), parameters)
    yield "; ".join((*sent(operation), *returned(operation))) + "."


def parameter(line: Schema) -> tuple[str, str, str, str]:
    """One parameter."""
    meaning = words(line.get("description"))
    return code(line["name"]), line["in"], kind_of(line["schema"]), meaning


def sent(operation: Schema) -> Iterator[str]:
    """The body that it takes."""
    for content in operation.get("requestBody", {}).get("content", {}).values():
        yield f"Body: {kind_of(content['schema'])}"


def returned(operation: Schema) -> Iterator[str]:
    """What it answers when all is well."""
    for status, response in operation["responses"].items():
        if status.startswith("2"):
            schemas = [
                content.get("schema", {}) for content in response.get("content", {}).values()
            ]
            kinds = dict.fromkeys(filter(None, map(kind_of, schemas)))
            yield " ".join((f"`{status}`", *([" or ".join(kinds)] if kinds else [])))


def kind_of(schema: Schema) -> str:
    """The form of a value in words, with a link to a body."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name in OUR_OWN:
            return "object"
        return f"[{short(name)}](#{short(name).lower()})"
    if "anyOf" in schema:
        kinds = [kind_of(part) for part in schema["anyOf"] if part.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    if "enum" in schema:
        return ", ".join(map(code, schema["enum"]))
    if "const" in schema:
        return code(json.dumps(schema["const"]))
    kind = schema.get("type", "")
    if kind == "array":
        return f"list of {kind_of(schema.get('items', {})) or 'values'}"
    return str(kind)


def short(name: str) -> str:
    """The name of a body; of two with one name with that of their module before it."""
    *_, module, own = ("", *name.split("__"))
    return f"{module.capitalize()}{own}" if name.startswith("haltpoint__") else name


def bodies_of(document: Schema) -> Iterator[tuple[str, Schema]]:
    """The bodies, by name."""
    for name, schema in sorted(document["components"]["schemas"].items()):
        if name not in OUR_OWN:
            yield short(name), schema


def body(name: str, schema: Schema) -> Iterator[str]:
    """The section of one body."""
    yield f"### {name}"
    yield from filter(None, [prose(schema.get("description"))])
    if "enum" in schema:
        yield ", ".join(map(code, schema["enum"]))
    needed = set(schema.get("required", ()))
    rows = [
        (
            code(field),
            kind_of(part) + (", required" if field in needed else ""),
            words(part.get("description")),
        )
        for field, part in schema.get("properties", {}).items()
    ]
    if rows:
        yield table(("field", "value", "meaning"), rows)


def problems() -> Iterator[tuple[int, str]]:
    """The status and code of every problem that the gateway's code makes."""
    for kind in WHERE:
        yield 404, f"no_such_{kind}"
    for file in Path(haltpoint_gateway.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            match node:
                case ast.Call(
                    func=ast.Name(id="Problem"),
                    args=[ast.Constant(value=int(status)), ast.Constant(value=str(name)), *_],
                ):
                    yield status, name
