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
from haltpoint.runtime.views.story import Story, tell

_fields: Final = Decoder(dict[str, Raw]).decode
_parts: Final = Decoder(list[Raw]).decode


def as_json(record: ChainRecord, typed: Collection[str], *, story: bool = False) -> bytes:
    """The view of a chain; `typed` are the parameters that tools type as secrets. The stars come
    first: the story cuts what is long.
    """
    told = Told(record)
    view = view_of(record, told)
    text = view.model_dump_json().encode()
    stars = without_secrets_in(text, typed)
    if not story:
        return stars
    shown = view if stars == text else _starred(view, text, stars)
    lines = door(Story).dump_json(tell(shown, told.ended))
    return b'%s,"story":%s}' % (stars.removesuffix(b"}"), lines)


def _starred(view: ChainView, text: bytes, stars: bytes) -> ChainView:
    """The view of a text with stars. Of a long chain few steps have any: the others stay as they
    are.
    """
    fields = _fields(stars)
    before, after = _parts(_fields(text)["steps"]), _parts(fields.pop("steps"))
    steps = [
        step if old == new else door(StepView).validate_json(bytes(new))
        for step, old, new in zip(view.steps, before, after, strict=True)
    ]
    rest = ChainView.model_validate_json(json.encode(fields))
    return rest.model_copy(update={"steps": tuple(steps)})
