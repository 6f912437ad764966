"""Record a dump of a release: the server's data with one chain that is done, one that waits for a
person, and one whose call no worker has taken yet. They have ten years, so that the dump can
be loaded later.

    python tests/data/dumps/record.py tests/data/dumps/FORM.rdb

FORM is that of `runtime/streams/topology.py`. Of an older commit, in a worktree of it: the same
with PYTHONPATH=shared:services, and the whole path of this file. It needs redis-server 7.0 on the
PATH: later servers read what that writes.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from redis import Redis

KEY = "0123456789-recorded-0123456789"
TEN_YEARS = "3650d"


def step(name: str, tool: str, *after: str, **arguments: Any) -> dict[str, Any]:
    call = {"tool": tool, "arguments": arguments}
    return {"id": name, "required_tools": [tool], "dependencies": after, "actions": [call]}


def plan(name: str) -> dict[str, Any]:
    """Look somebody up, and send what was found a message."""
    recipient = {"$from": "find.data.contact_id"}
    steps = [
        step("find", "lookup_contacts", query=name),
        step("send", "send_message", "find", recipient_id=recipient, content="late"),
    ]
    return {"goal": f"Tell {name} I am late", "plan": {"steps": steps}}


def asked(url: str, path: str, body: Any = None) -> Any:
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    with urlopen(Request(f"{url}/v1/{path}", data, headers)) as reply:
        return json.loads(reply.read() or b"null")


def submitted(url: str, name: str, status: str) -> str:
    """A chain that has come so far."""
    chain = str(asked(url, "tasks", plan(name))["chain_id"])
    seen = ""
    for _ in range(300):
        seen = asked(url, f"chains/{chain}")["status"]
        if seen == status:
            return chain
        time.sleep(0.1)
    raise TimeoutError(f"the chain of {name} is {seen}, not {status}")


def environment(folder: Path) -> dict[str, str]:
    settings = {
        "REDIS_URL": f"unix://{folder}/socket",
        "STATE_DIR": f"{folder}/state",
        "PARTITIONS": "1",
        "ALLOW_UNSAFE": "true",
        "TOOLS": "haltpoint.examples.contacts.tools",
        "GATEWAY__PORT": "0",
        "GATEWAY__ADMIN_KEY": KEY,
        "LIMITS__CHAIN_DEADLINE": TEN_YEARS,
        "LIMITS__REQUEST_TIMEOUT": TEN_YEARS,
        "LIMITS__RETENTION": TEN_YEARS,
    }
    return {**os.environ, **{f"HALTPOINT_{name}": text for name, text in settings.items()}}


def play(up: "subprocess.Popen[bytes]") -> dict[str, str]:
    """The story; its chains."""
    assert up.stderr is not None
    line = next(line for line in up.stderr if b"ready: " in line)
    url = line.decode().rpartition("ready: ")[2].strip()
    done = submitted(url, "Jane", "completed")
    waits = submitted(url, "John", "awaiting_clarification")
    asked(url, "queues/contacts/pause", {})
    time.sleep(3)  # the worker hears of it within two seconds
    queued = submitted(url, "Jane", "executing")
    return {"done": done, "waits": waits, "queued": queued}


def record(folder: Path, dump: Path) -> None:
    """Play the story, and keep the server's data."""
    haltpoint = (sys.executable, "-m", "haltpoint")
    subprocess.run((*haltpoint, "init"), env=environment(folder), check=True)
    up = subprocess.Popen((*haltpoint, "up"), env=environment(folder), stderr=subprocess.PIPE)
    try:
        chains = play(up)
    finally:
        up.terminate()
        up.communicate()
    with Redis(unix_socket_path=f"{folder}/socket") as redis:
        redis.set("hp:{0}:recorded", json.dumps(chains))
        redis.save()
    dump.write_bytes((folder / "dump.rdb").read_bytes())


def main() -> None:
    dump = Path(sys.argv[1]).absolute()
    with tempfile.TemporaryDirectory() as name:
        words = ("redis-server", "--port", "0", "--unixsocket", f"{name}/socket", "--dir", name)
        server = subprocess.Popen((*words, "--save", "", "--daemonize", "no"))
        try:
            time.sleep(1)  # the server listens by then
            record(Path(name), dump)
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
