"""Arguments of a call as they are typed: NAME=VALUE."""

from haltpoint.cli.errors import usage


def texts_of(pairs: list[str]) -> dict[str, str]:
    """`k=v` pairs, as texts: the tool's schema says what they are (C9)."""
    arguments: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise usage(f"{pair!r} is not an argument", "arguments are NAME=VALUE", "haltpoint tool show TOOL")
        arguments[name] = value
    return arguments
