"""`haltpoint key`: keys of the gateway, for people and programs."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from haltpoint.cli.errors import usage
from haltpoint.cli.gateway import talk
from haltpoint.cli.naming import only
from haltpoint.cli.shell import Shell, verb

if TYPE_CHECKING:
    from datetime import datetime

    from haltpoint.contracts.people.keys import KeyView, NewKey

_COLUMNS = ("key", "name", "scopes", "tenant", "groups", "made by", "last used", "expires")

app = typer.Typer(
    help="Keys of the gateway. Needs a key with the scope admin.", no_args_is_help=True
)


@verb(app, "create", gateway=True)
def create(
    shell: Shell,
    name: Annotated[str, typer.Argument(help="The person or program that will hold it.")],
    scope: Annotated[
        str | None,
        typer.Option(
            help=(
                "Scopes, separated by commas: submit, read, answer, admin (default: all but admin)."
            )
        ),
    ] = None,
    tenant: Annotated[str | None, typer.Option(help="The tenant whose chains it sees.")] = None,
    group: Annotated[list[str] | None, typer.Option(help="A group; may be repeated.")] = None,
    expires: Annotated[
        str | None, typer.Option(metavar="90d", help="How long it is valid (default: for ever).")
    ] = None,
) -> None:
    """Create a key and print it; it is never shown again."""
    given = {"tenant": tenant, "groups": group, "expires": expires}
    asked: dict[str, Any] = {
        "name": name,
        **{key: what for key, what in given.items() if what is not None},
    }
    if scope is not None:
        asked["scopes"] = [word.strip() for word in scope.split(",")]
    key = _asked(asked)
    made = talk(shell, lambda client: client.make_key(key))
    shell.show(made, [made.key], note=f"Key {made.id[:12]} of {made.name}. It is not shown again.")


@verb(app, "list", gateway=True)
def list_(shell: Shell) -> None:
    """List the keys, the newest first."""
    keys = talk(shell, lambda client: client.keys())
    shell.items(keys, _COLUMNS, map(_row, keys), empty="There is only the admin key.")


@verb(app, "revoke", gateway=True)
def revoke(
    shell: Shell,
    name: Annotated[str, typer.Argument(metavar="KEY", help="The key's id, or its beginning.")],
) -> None:
    """Revoke a key: within two seconds it opens no gateway."""
    known = talk(shell, lambda client: client.keys())
    key_id = only("key", name, [each.id for each in known])
    talk(shell, lambda client: client.revoke_key(key_id))
    shell.show({"id": key_id}, note=f"Key {name} is revoked.")


def _asked(fields: dict[str, Any]) -> "NewKey":
    """The key that was asked for. Raises HaltpointError."""
    from pydantic import ValidationError

    from haltpoint.contracts.people.keys import NewKey
    from haltpoint.runtime.config.faults import in_places

    try:
        return NewKey.model_validate(fields)
    except ValidationError as error:
        raise usage(
            "the key cannot be made", in_places(error), "haltpoint key create --help"
        ) from error


def _row(key: "KeyView") -> tuple[object, ...]:
    scopes, groups = ", ".join(key.scopes), ", ".join(key.groups)
    used = _day(key.used_at)
    end = _day(key.expires_at)
    return key.id[:12], key.name, scopes, key.tenant, groups, key.made_by, used, end


def _day(moment: "datetime | None") -> str:
    if moment is None:
        return "never"
    local = moment.astimezone()
    return f"{local:%Y-%m-%d %H:%M}"
