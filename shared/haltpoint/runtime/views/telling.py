"""A chain as people read it: with stars in place of its secrets, and with its story. Pure."""

from collections.abc import Collection

from haltpoint.contracts.doors import door
from haltpoint.contracts.secrets import without_secrets_in
from haltpoint.contracts.views.chains import ChainView
from haltpoint.runtime.views.chain_view import view_of
from haltpoint.runtime.views.log_view import Told
from haltpoint.runtime.views.record import ChainRecord
from haltpoint.runtime.views.story import Story, tell


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
    shown = view if stars == text else ChainView.model_validate_json(stars)
    lines = door(Story).dump_json(tell(shown, told.ended))
    return b'%s,"story":%s}' % (stars.removesuffix(b"}"), lines)
