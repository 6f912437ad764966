"""Who hears of what: a chain's watchers, and those of the chains above it for progress."""

from haltpoint_gateway.watchers import Watchers


def test_progress_of_a_skill_is_seen_by_whoever_watches_the_chain_that_called_it() -> None:
    watchers = Watchers()
    with (
        watchers.watch("c") as root,
        watchers.watch("c~s-1") as child,
        watchers.watch("d") as other,
    ):
        watchers.show("c~s-1.t.2", b"first")
        watchers.show("c~s-1.t.2", b"half")
        assert root.progress == child.progress == {"c~s-1.t.2": b"half"}, "the newest report counts"
        assert root.woken.is_set()
        assert not other.progress
        assert not other.woken.is_set()
