"""Another tool stands in for one that failed without an effect (CONTRACT E3), over real processes."""

from haltpoint.client import Client
from tests.e2e.running import Running, executors_killed
from tests.e2e.test_older_style import called, receipt_of


def test_e3_a_note_is_left_when_the_bell_is_broken_and_it_counts_for_the_step(system: Running) -> None:
    chain = called(system, "ring", "name=Jo")
    assert (chain["status"], chain["requests"]) == ("completed", [])
    assert system.written(chain["id"]) == ["rang 1", "left a note for Jo 2"]
    (deed,) = chain["answer"]["deeds"]
    assert (deed["tool"], deed["says"], deed["stands_in_for"]) == ("leave_note", 'Left a note for "Jo"', "ring")
    assert deed["warnings"] == ["ring failed without an effect, and leave_note was called in its place"]
    assert receipt_of(chain)["metadata"]["stands_in_for"] == {"tool": "ring", "arguments": '{"name":"Jo"}'}
    (promise,) = chain["steps"][0]["promises"]
    assert promise == {"tool": "ring", "kept_by": deed["action_id"]}


async def test_e3_the_fallback_runs_once_also_when_the_executors_die(system: Running, client: Client) -> None:
    step = {"id": "in", "required_tools": ["ring"], "actions": [{"tool": "ring", "arguments": {"name": "Jo"}}]}
    run = await client.run(task={"plan": {"steps": [step]}})
    async with executors_killed(system):
        pass
    assert (await run.result()).status == "completed"
    assert system.written(run.id)[-1].startswith("left a note for Jo")
    assert sum(line.startswith("left") for line in system.written(run.id)) == 1
