"""One signature per call, however a model spells it (CONTRACT C14).

Names in any order, defaults of the schema filled in, texts in their canonical spelling (an IBAN with blanks, an address
in capitals), numbers as the schema types them: "7" is 7 where an integer is asked for, 7.0 is 7 everywhere. All else
tells two calls apart.
"""

import hashlib
import json
from functools import lru_cache
from typing import Any, Final

from haltpoint.chain import human_tool
from haltpoint.chain.canonical import canonical
from haltpoint.chain.nodes import Node, below, said
from haltpoint.chain.references import read_json
from haltpoint.chain.schemas import Compiled, compiled
from haltpoint.chain.typed import kinds_of, leaves_of, meant, number_of
from haltpoint.contracts.tools import ToolSpec

_SHORT: Final = 2000  # characters of arguments whose signature is remembered


def signature_of(spec: ToolSpec, text: str) -> str:
    """The signature of a call whose arguments are JSON text; short ones are remembered."""
    known = compiled(spec)
    return _remembered(known, text) if len(text) <= _SHORT else signature(spec, read_json(text))


@lru_cache(maxsize=8192)
def _remembered(known: Compiled, text: str) -> str:
    return signature(known.spec, read_json(text))


def signature(spec: ToolSpec, arguments: dict[str, Any]) -> str:
    """Sixteen hex digits over the tool and its arguments; of askHuman over what the question says."""
    if spec.name == human_tool.NAME:
        arguments = human_tool.asked_in(arguments)
    canonical = [spec.name, _canonical(arguments, spec.parameters, spec.parameters)]
    return hashlib.sha256(json.dumps(canonical, sort_keys=True).encode()).hexdigest()[:16]


def _canonical(value: Any, schema: Any, root: Node) -> Any:
    if isinstance(value, str):
        bare = value.strip()
        value = number_of(bare, kinds_of(leaves_of(schema, root), bare))
        value = canonical(bare) if isinstance(value, str) else value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, (list, dict)):
        return value
    leaf = meant(value, leaves_of(schema, root))
    if isinstance(value, list):
        return [_canonical(one, below(leaf, place), root) for place, one in enumerate(value)]
    given = {**dict(said(leaf, "default")), **value}
    return {name: _canonical(one, below(leaf, name), root) for name, one in given.items()}
