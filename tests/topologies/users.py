"""One server with the users of deploy/acl."""

from pathlib import Path
from typing import Final, Self

from haltpoint.runtime.streams.topology import PREFIX
from tests.topologies.servers import LOGIN, PASSWORD, Node, Site

ACL_FILE: Final = Path(__file__).parents[2] / "deploy/acl/users.acl"
ACL: Final = ACL_FILE.read_text().replace("PREFIX_", PREFIX)
"""As `fill` fills it, but for the passwords."""
USERS: Final = ("gateway", "planner", "executor", "tool-worker", "operator")


class Users:
    """The server, from entering to leaving, with an address for each user. `default` has all
    rights, and PASSWORD.
    """

    def __init__(self, folder: Path, site: Site) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        acl = folder / "users.acl"
        everything = f"user default on >{PASSWORD} ~* +@all"
        acl.write_text(ACL.replace("user default off", everything))
        self.node = Node(site, folder / "server", "--appendonly", "yes", "--aclfile", acl)
        self.urls = {
            user: f"redis://{user}:{user.upper()}_PASSWORD@{self.node}/0" for user in USERS
        }
        self.url = f"redis://{LOGIN}{self.node}/0"

    def refused(self) -> list[str]:
        """What a user of these was not allowed to do, but for two things that nobody needs."""
        rows = self.node.ask("ACL", "LOG")
        named = {f"{row[b'username'].decode()}: {row[b'object'].decode()}" for row in rows}
        return sorted(each for each in named if not each.endswith(("client|setinfo", "config|get")))

    def __enter__(self) -> Self:
        self.node.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.node.kill()
