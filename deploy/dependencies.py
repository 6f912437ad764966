"""Prints what pyproject.toml in this folder asks for, with the extras that are named."""

import sys
import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]
extras = project["optional-dependencies"]
print(
    "\n".join([*project["dependencies"], *(line for name in sys.argv[1:] for line in extras[name])])
)
