"""`python -m haltpoint` is the command `haltpoint`."""

from haltpoint.cli.main import app_entry

app_entry()
