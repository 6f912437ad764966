"""A chain as people read it: with stars in place of its secrets, and with its story. Pure."""

from collections.abc import Collection
from typing import Final

from msgspec import Raw, json
from msgspec.json import Decoder

from haltpoint.contracts.doors import door
from haltpoint.contracts.secrets import without_secrets_in
from haltpoint.contracts.views.chains import ChainView
from haltpoint.contracts.views.steps import StepView
from haltpoint.runtime.views.chain_view import view_of
from haltpoint.runtime.views.log_view import Told
from haltpoint.runtime.views.record import ChainRecord
from haltpoint.runtime.views.story import tell

_fields: Final = Decoder(dict[str, Raw]).decode
_parts: Final = Decoder(list[Raw]).decode


def shown(record: ChainRecord, typed: Collection[str], *, story: bool = False) -> ChainView:
    """The view of a chain; `typed` are the parameters that tools type as secrets. The stars come
    first: the story cuts what is long.
    """
    told = Told(record)
    view = _starred(view_of(record, told), typed)
    return view.model_copy(update={"story": tell(view, told.ended)}) if story else view


def _starred(view: ChainView, typed: Collection[str]) -> ChainView:
    """The view with stars. Of a long chain few steps have any: the others stay as they are."""
    text = view.model_dump_json().encode()
    stars = without_secrets_in(text, typed)
    if stars == text:
        return view
    fields = _fields(stars)
    before, after = _parts(_fields(text)["steps"]), _parts(fields.pop("steps"))
    steps = [
        step if old == new else door(StepView).validate_json(bytes(new))
        for step, old, new in zip(view.steps, before, after, strict=True)
    ]
    rest = ChainView.model_validate_json(json.encode(fields))
    return rest.model_copy(update={"steps": tuple(steps)})
