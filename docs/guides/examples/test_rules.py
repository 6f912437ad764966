from rules import only_known_domains

from haltpoint import Ctx, hook


def test_nothing_goes_to_unknown_domains() -> None:
    call = hook.Call("send_message", {"content": "http://example.test"})
    assert only_known_domains(call, Ctx()) == hook.Block("links to unknown domains are not sent")
