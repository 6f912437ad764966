"""Every verb as a person would type it: what it prints where, and how it ends."""

import json
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from haltpoint.client import Client
from haltpoint.sync_client import SyncClient
from tests.e2e.running import CHECKOUT, HALTPOINT, Running
from tests.support import PATIENCE

SAID = """\
» Jane Smith has your message: hello
◆ Done: Message to "Jane Smith": "hello"  (send.1)
"""
LETTER = {"stream": "nowhere", "entry": "1-1", "detail": "", "chain": "", "id": "", "at": "1"}


def document(done: "subprocess.CompletedProcess[str]", code: int = 0) -> Any:
    """The one JSON document on stdout."""
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


def test_f1_run_prints_words_and_deeds_apart_and_nothing_else(system: Running) -> None:
    done = system.process("run", "Tell Jane hello")
    assert done.returncode == 0, done.stderr
    assert done.stdout == SAID
    assert "completed" in done.stderr


def test_run_ends_with_3_when_a_person_is_asked_and_answer_goes_on(system: Running) -> None:
    stopped = document(system.process("run", "Tell John hello", "--json"), 3)
    (request,) = stopped["requests"]
    listed = [json.loads(line) for line in system.command("inbox", "--json").stdout.splitlines()]
    assert request["id"] in [one["id"] for one in listed]
    shown = system.command("inbox").stdout
    assert f"haltpoint answer {request['id']} ..." in shown

    refused = system.command("answer", request["id"], "user_123")
    assert refused.returncode == 2
    assert "HP-040" in refused.stderr
    assert (
        "'user_123' does not answer this question; possible answers: the number or id"
        in refused.stderr
    )
    answered = document(system.command("answer", request["id"], "user_abc123", "--json"))
    assert answered["status"] == "answered"
    again = system.command("answer", request["id"], "user_def456")
    assert again.returncode == 1
    assert "HP-054" in again.stderr

    watched = system.process("chain", "watch", stopped["id"])
    assert watched.returncode == 0
    assert "✓ completed" in watched.stdout
    shown = system.command("chain", "show", stopped["id"]).stdout
    assert "→ John Doe  (user_abc123)" in shown
    assert "send.1" in shown
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", watched.stdout + shown)


def test_tools_are_listed_shown_and_called(system: Running, tmp_path: Path) -> None:
    assert (
        "send_message\tcontacts\teffects, started at most once"
        in system.command("tool", "list").stdout
    )
    shown = system.command("tool", "show", "send_message").stdout
    assert "lookup_contacts.contact_id" in shown
    assert "  says: Message to {name}: {content}\n" in shown
    planting = system.command("tool", "show", "plant").stdout
    assert "  undo: haltpoint chain undo CHAIN\n" in planting
    assert "  previews: True\n" in system.command("tool", "show", "delete_page").stdout
    missing = system.command("tool", "show", "nothing")
    assert (missing.returncode, "HP-053" in missing.stderr) == (1, True)
    called = document(system.command("tool", "call", "echo", "words=19122", "--json"))
    assert called["steps"][0]["result"] == {"words": "19122"}, "the schema says that it is a text"
    assert system.process("tool", "call", "echo", "words=break").returncode == 1
    call = {"tool": "echo", "arguments": {"words": "break"}}
    (plan := tmp_path / "plan.json").write_text(
        json.dumps({"steps": [{"id": "a", "actions": [call]}]})
    )
    failed = system.command("run", "--plan", str(plan))
    assert (failed.stdout + failed.stderr).count("not these words") == 1
    assert failed.stderr.startswith("failed; haltpoint chain show ")
    stopped = system.process("tool", "call", "lookup_contacts", "query=John")
    assert stopped.returncode == 3
    assert (stopped.stdout + stopped.stderr).count("Which 'John'") == 1
    assert ".r1 ..." in stopped.stderr


def test_a_key_is_made_used_and_revoked(system: Running) -> None:
    made = document(system.command("key", "create", "ann", "--scope", "submit,read", "--json"))
    assert made["scopes"] == ["submit", "read"]
    run = system.command("run", "Tell Jane hello", "--key", made["key"], "--json", "--detach")
    chain = document(system.command("chain", "show", document(run)["chain_id"], "--json"))
    assert chain["submitted_by"] == "ann"
    refused = system.command("key", "list", "--key", made["key"])
    assert refused.returncode == 1
    assert "'ann' does not have the scope 'admin'" in refused.stderr
    listed = document(system.command("key", "list", "--json"))["items"]
    assert made["id"] in [key["id"] for key in listed]
    assert system.command("key", "revoke", made["id"][:8]).returncode == 0
    exported = system.command("audit", "export", "--since", "2020-01-01").stdout.splitlines()
    ours = [line for line in map(json.loads, exported) if line["about"] == made["id"]]
    deeds = [(line["deed"], line["way"], line["address"]) for line in ours]
    assert deeds == [("key_made", "cli", "127.0.0.1"), ("key_revoked", "cli", "127.0.0.1")]
    later = system.command("audit", "export", "--since", "2100-01-01")
    assert (later.returncode, later.stdout) == (0, "")
    gone = system.command("chain", "list", "--key", made["key"])
    assert "HP-051" in gone.stderr
    unknown = system.command("key", "revoke", "nope")
    assert unknown.returncode == 1
    assert "there is no key 'nope'" in unknown.stderr
    wrong = system.command("key", "create", "ann", "--scope", "admin", "--tenant", "acme")
    assert wrong.returncode == 2
    assert "tenant: a key that allows admin sees all tenants" in wrong.stderr


def test_a_chain_is_cancelled(system: Running) -> None:
    with SyncClient(system.url, system.key) as client:
        run = client.run(task={"goal": "wait", "plan": {"steps": [
            {"id": "a", "required_tools": ["wait_long"], "actions": [{"tool": "wait_long"}]}
        ]}})  # fmt: skip
        assert system.command("chain", "cancel", run.id, "--reason", "enough").returncode == 0
        assert run.result().status == "cancelled"
    again = system.command("chain", "cancel", run.id)
    assert again.returncode == 1
    listed = document(system.command("chain", "list", "--status", "cancelled", "--json"))
    assert run.id in [one["id"] for one in listed["items"]]
    assert f"{run.id}\tcancelled\t" in system.command("chain", "list").stdout


def test_dead_letters_are_listed_and_given_back(system: Running) -> None:
    from redis import Redis

    from haltpoint.runtime.service.embedded import running

    url = running(system.state_dir / "data")
    assert url
    with Redis.from_url(url) as redis:
        for _ in range(120):  # of more than a page the last is found too
            redis.xadd("hp:{0}:dead", {**LETTER, "reason": "noise"})
        redis.xadd("hp:{0}:dead", {**LETTER, "reason": "long", "__data__": "x" * 2000})
        redis.xadd("hp:{0}:events", {"__data__": "no JSON at all"})
        deadline = time.monotonic() + PATIENCE
        while redis.xlen("hp:{0}:dead") <= 121:
            assert time.monotonic() < deadline
            time.sleep(0.02)  # between two looks, in a test without an event loop
    queues = {one["name"] for one in document(system.command("queue", "list", "--json"))["items"]}
    assert queues
    assert all(f"{name}\t" in system.command("queue", "list").stdout for name in queues)
    letters = document(system.command("dlq", "list", "--reason", "bad_json", "--json"))["items"]
    letter = next(one for one in letters if one["message"] == "no JSON at all")
    every = document(system.command("dlq", "list", "--json"))["items"]
    (long,) = [one for one in every if one["reason"] == "long"]
    assert long["message"].startswith("x" * 1024)
    assert "  reason: long\n" in system.command("dlq", "show", long["id"]).stdout
    assert document(system.command("dlq", "drop", long["id"], "--json")) == {long["id"]: "dropped"}
    assert letter["reason"] == "bad_json"
    assert letter["id"] in system.command("dlq", "list").stdout
    assert document(system.command("dlq", "requeue", letter["id"], "--json")) == {
        letter["id"]: "requeued"
    }
    again = system.command("dlq", "requeue", letter["id"])
    assert again.returncode == 1
    assert f"there is no dead letter '{letter['id']}'" in again.stderr
    assert system.command("dlq", "requeue").returncode == 2
    unknown = system.command("dlq", "requeue", "17")
    assert (unknown.returncode, "--letter" in unknown.stderr) == (1, False)


def test_what_the_server_has_lost_is_shown_and_accepted(system: Running) -> None:
    from redis import Redis

    from haltpoint.runtime.service.embedded import running

    url = running(system.state_dir / "data")
    assert url
    key = "hp:{0}:lost"
    with Redis.from_url(url) as redis:
        redis.hset(key, mapping={"at": 1_700_000_000_000, "before": 90, "after": 80})
        redis.hset("hp:{0}:recalled", "c.s.1", "1 0\n")
    shown = system.command("recover", "show").stdout
    assert "10, found 14 Nov 22:13:20 UTC" in shown
    assert "c.s.1" in shown
    assert "HP-023" in system.command("doctor").stdout
    assert document(system.command("recover", "accept", "--json")) == {"partitions": [0]}
    assert "No lost writes" in system.command("recover", "show").stderr


def test_workers_are_listed_and_a_queue_is_paused_for_a_while(system: Running) -> None:
    (worker, *_) = document(system.command("worker", "list", "--json"))["items"]
    assert f"{worker['instance']}\t" in system.command("worker", "list").stdout
    assert system.command("worker", "drain", "nowhere").returncode == 1
    assert system.command("queue", "pause", "nowhere").returncode == 1
    assert document(system.command("queue", "pause", "slow", "--json"))["paused"]
    assert "slow\t0\t0\t0\tpaused\n" in system.command("queue", "list").stdout
    assert system.command("queue", "resume", "slow").returncode == 0


def test_the_doctor_finds_nothing_wrong(system: Running) -> None:
    found = document(system.command("doctor", "--json"))
    assert found["ok"]
    shown = system.command("doctor").stdout
    assert "✓\tdurability\t" in shown
    assert "✓\tmodel\tcontacts at http://127.0.0.1:" in shown
    assert f"✓\tport\t{system.url}" in shown
    # Two of a kind when another test has killed one: it is listed until its lease is over.
    running = r"✓\tservices\t\d executor, \d gateway, \d planner, \d tool-worker\n"
    assert re.search(running, shown), shown


async def test_ctrl_c_is_130(system: Running, client: Client) -> None:
    run = await client.run("Tell John hello")
    await run.expects_request()
    command = [*HALTPOINT, "chain", "watch", run.id]
    with subprocess.Popen(  # noqa: ASYNC220 - it is read until its first lines
        command,
        env=system.environment,
        cwd=CHECKOUT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as watching:
        assert watching.stdout
        assert watching.stderr
        while "STOP" not in watching.stdout.readline():
            assert watching.poll() is None
        watching.send_signal(signal.SIGINT)
        assert watching.wait(PATIENCE) == 130
        assert watching.stderr.read() == ""
    await client.cancel(run.id)
