"""`haltpoint notify`: try the rules of `[[notify]]` in the policy file."""

from typing import Annotated

import typer

from haltpoint.cli.errors import usage
from haltpoint.cli.shell import Shell, verb
from haltpoint.runtime.config.errors import HaltpointError

app = typer.Typer(help="Send a test notice.", no_args_is_help=True)


@verb(app, "test")
def test(shell: Shell, name: Annotated[str, typer.Argument(help="The rule's name.")]) -> None:
    """Send a test notice by one rule of the policy file."""
    import asyncio
    import uuid

    from haltpoint.runtime.config import policy_file
    from haltpoint_gateway.notices.channels import channel_of
    from haltpoint_gateway.notices.words import Letter

    rules = {rule.name: rule for rule in policy_file.read(shell.settings.policy_file).notify}
    if name not in rules:
        names = ", ".join(rules) or "none"
        fix = "HALTPOINT_POLICY_FILE names the file"
        raise usage(f"no rule is called {name!r}", f"there are: {names}", fix)
    words = "This is a test of Haltpoint's notices."
    notice = f"test/{uuid.uuid4().hex}"
    letter = Letter(words, words, {"type": "test", "id": notice, "text": words})
    try:
        asyncio.run(channel_of(rules[name])(letter))
    except Exception as error:
        fix = "Try the address with the tools of its service"
        why = str(error) or repr(error)
        raise HaltpointError("HP-006", "the notice was not delivered", why, fix) from error
    shell.show({"delivered": name}, note=f"Delivered by the rule {name!r}.")
