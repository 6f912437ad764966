"""A chain as people read it: with its story, and with stars in place of its secrets. Pure."""

from collections.abc import Collection

from haltpoint.contracts.secrets import without_secrets_in
from haltpoint.contracts.views.chains import ChainView
from haltpoint.runtime.views.chain_view import view_of
from haltpoint.runtime.views.log_view import Told
from haltpoint.runtime.views.record import ChainRecord
from haltpoint.runtime.views.story import tell


def with_story(record: ChainRecord, typed: Collection[str]) -> ChainView:
    """The view of a chain with its story; `typed` are the parameters that tools type as secrets.
    The stars come first: the story cuts what is long.
    """
    told = Told(record)
    view = view_of(record, told)
    text = view.model_dump_json().encode()
    shown = without_secrets_in(text, typed)
    if shown != text:
        view = ChainView.model_validate_json(shown)
    return view.model_copy(update={"story": tell(view, told.ended)})
