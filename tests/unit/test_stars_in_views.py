"""Every view can be read with stars in it, whatever the parameters of tools are called."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from pydantic import TypeAdapter

from haltpoint.contracts.doors import View
from haltpoint.contracts.results import NextAction
from haltpoint.contracts.secrets import without_secrets_in
from haltpoint.contracts.views.chains import ChainView, EventView, Page, ProgressView, RequestView
from tests.unit.test_secrets import NAMES

for module in ("people.audit", "people.keys", "people.notices", "public_facts", "views.deployment"):
    import_module(f"haltpoint.contracts.{module}")

HIDDEN = "Zq9x Yq9x"
TEXTS = {"date-time": "2026-11-28T12:00:00Z", "date": "2026-11-28"}
QUESTIONS = ("error", "clarification", "confirmation")


def views(kind: type[View] = View) -> Iterator[type[View]]:
    for view in kind.__subclasses__():
        yield view
        yield from views(view)


VIEWS = [*(view for view in views() if view is not Page), EventView, ProgressView]


class Example:
    """JSON by a schema. What the names of parameters are keys of has the name of each secret."""

    def __init__(self, schema: Any, next_action: NextAction) -> None:
        self._parts = schema.get("$defs", {})
        self._result = {"next_action": next_action, "success": next_action != NextAction.ERROR}
        others = [kind for kind in QUESTIONS if not next_action.startswith(kind)]
        self._result |= dict.fromkeys(others)

    def of(self, schema: Any, above: tuple[str, ...] = ()) -> Any:
        match schema:
            case {"$ref": str(there)}:
                part = there.rpartition("/")[2]
                return self.of(self._parts[part], (*above, part))
            case {"const": known} | {"enum": [known, *_]}:
                return known
            case {"anyOf": [first, *_]}:
                return self.of(first, above)
            case {"properties": dict(fields)}:
                return self._object(fields, above)
            case {"additionalProperties": {"$ref": "#/$defs/Entry"} as entry}:
                return {"0123456789abcdef": self.of(entry, above)}  # of a ledger: a digest
            case {"additionalProperties": dict(inner)}:
                return {name: self.of(inner, above) for name in NAMES.split()}
            case {"type": "array"}:
                items = schema.get("items", {})
                return [] if _is_above(items, above) else [self.of(items, above)]
            case {"pattern": str(wanted)} if ":" in wanted:
                return "module:function"
            case {"type": "string"}:
                return TEXTS.get(schema.get("format", ""), "password")
            case {"type": "integer" | "number"}:
                return 1
            case {"type": "boolean"}:
                return True
            case _:
                return dict.fromkeys(NAMES.split(), HIDDEN)

    def _object(self, fields: Any, above: tuple[str, ...]) -> Any:
        made = {
            name: self.of(schema, above)
            for name, schema in fields.items()
            if not _is_above(schema, above)
        }
        is_result = {"next_action", "metadata"} <= fields.keys()
        return {**made, **self._result} if is_result else made


def _is_above(schema: Any, above: tuple[str, ...]) -> bool:
    parts = (schema, *schema.get("anyOf", ()))
    return any(part.get("$ref", "").rpartition("/")[2] in above for part in parts)


@pytest.mark.parametrize(
    ("view", "next_action"),
    [(view, NextAction.CONTINUE) for view in VIEWS]
    + [(ChainView, next_action) for next_action in NextAction],
)
def test_a_view_is_read_again_with_stars_for_parameters_of_every_name(
    view: Any, next_action: NextAction
) -> None:
    adapter = TypeAdapter(view)
    schema = adapter.json_schema()
    text = adapter.dump_json(adapter.validate_python(Example(schema, next_action).of(schema)))
    shown = without_secrets_in(text)
    assert HIDDEN not in shown.decode()
    assert shown.count(b'"source":') == text.count(b'"source":')
    assert type(adapter.validate_json(shown)) is view


def test_the_generated_views_have_all_kinds_of_names() -> None:
    schema = RequestView.model_json_schema()
    made = Example(schema, NextAction.CONTINUE).of(schema)
    assert made["sources"].keys() == made["others"][0]["sources"].keys() == {*NAMES.split()}
    assert made["arguments"]["iban"] == HIDDEN
