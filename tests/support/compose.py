"""docker-compose.yml as values."""

from pathlib import Path
from typing import Any, Final

import yaml

COMPOSE: Final[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parents[2] / "docker-compose.yml").read_text()
)
