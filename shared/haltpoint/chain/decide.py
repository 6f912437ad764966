"""decide(chain, received, world, now) -> Decision: what one event does to one chain.

The theory of the machine
-------------------------

A chain is born `accepted` and dies once, in `completed`, `failed` or `cancelled`. Between the two it is

- `planning` while the model draws up a plan, or what the goal of an open-ended task asks for (a literal plan needs
  neither),
- `executing` while its steps run, and while the model is asked for the words at the end,
- `awaiting_clarification`, `awaiting_confirmation`, `awaiting_input` or `escalated` while a person is asked; the state
  before is kept and taken up again with the answer.

A live chain waits for something: thoughts and actions under way, or questions. How many calls and thoughts may be
under way is its cap (`parallel`, by default 1: one thing at a time, in the order of the plan). The rules that keep this
small:

- A handler takes the event. It moves its own step, action or request, and returns what it wants next (`next`): to ask a
  person or the model, to send an action again, to end its step or the chain, or nothing of its own.
- The scheduler (`scheduling.advance`) carries that out, then walks the steps in the order of the plan. What a step
  wants next follows from its run alone (`next_of`): its next call, a call that has rested, its next turn, or nothing
  yet. So what cannot be sent now is sent after a later event, in whatever process, and no plan is too long for the
  stack. Nothing is sent, asked or ended anywhere else.
- The gate (`gate`) says whether a step may have what it wants: go, stopped, cap, held, deadline. It is stopped while a
  question is open, unless its own was answered since (CONTRACT B3). What is under way ends meanwhile, and may ask too.
  A proposal that arrives is kept, and waits.
- The verdict on each call of a proposal is kept as a value when it is made.
- An event is recognised by the id of something under way. Anything else is a repeat, late or foreign: the very same
  chain comes back. A thought's id holds its turn and attempt, a request's its number; an action's id stays the same
  over its attempts, so a result also has to be that of the last one.
- `dispatching` puts calls together and `thinking` thoughts. There the budget is checked, so a chain fails instead of
  overshooting. A chain that fails waits for the actions beside the one that failed.

How to read on: `state` is what a chain is, `world` what is outside of it, `outputs` what a decision asks for, and
`handler_for` below says which handler takes which event. `beginning` begins chains; `proposals` judges what the model
proposes and `strikes` holds it to its word; `asking` stops the chain and `answers` resumes it. What judges
plans, calls and words is `plan_check`, `contract`, `provenance`, `reasons`, `repeats`, `intent` and `delivering`.
Everything here is a function of its arguments.
"""

from functools import partial
from typing import assert_never

from haltpoint.chain.handlers import answers, beginning, losses, results, thoughts
from haltpoint.chain.model.next import Next
from haltpoint.chain.model.outputs import Decision
from haltpoint.chain.model.state import WAITING, Chain, ChainStatus
from haltpoint.chain.model.work import Work
from haltpoint.chain.model.world import World
from haltpoint.chain.turns import proposals, scheduling
from haltpoint.contracts.events import (
    ActionProposed,
    AnswerDrafted,
    HumanAnswered,
    IntentDrafted,
    MessageLost,
    PlanDrafted,
    Received,
    TaskCancelled,
    TaskSubmitted,
    ThoughtFailed,
    TimerDue,
    ToolCompleted,
)

Handler = partial[Next | None]
"""What takes an event, with the event in it; called with the `Work` in hand. It says what it wants next."""


def decide(chain: Chain, received: Received, world: World, now: int) -> Decision:
    """What becomes of the chain (ms since the epoch: `now`), what to send, and what to tell.

    Never raises for anything that a model, a tool or a person wrote. An ignored event gives the same chain object.
    """
    handler = handler_for(chain.status, received)
    if handler is None:
        return Decision(chain)
    work = Work.on(chain, world, now)
    wanted = handler(work)
    if wanted is not None or work.woken or work.has_changed():  # else it was a repeat, late or foreign
        scheduling.advance(work, wanted)
        if wanted is not None or work.has_changed():
            return work.decision()
    return Decision(chain)


def handler_for(status: ChainStatus, received: Received) -> Handler | None:
    """The handler for an event in a state of the chain; None when such an event is ignored there.

    Ignored are repeats, and what nothing was asked for: thoughts and results before there is a plan, answers where no
    question is open. After the one final event nothing comes (R1); a late receipt is only kept.
    """
    executing, planning = status is ChainStatus.EXECUTING, status is ChainStatus.PLANNING
    begun = not status.final and not planning and status is not ChainStatus.ACCEPTED
    match received.message:
        case _ if status.final:
            return None
        case ToolCompleted() as message:
            return partial(results.take_result, message=message, body=received.body) if begun else None
        case ActionProposed() as message:
            return partial(proposals.take_proposal, message=message) if begun else None
        case AnswerDrafted() as message:
            return partial(thoughts.end_with_answer, message=message) if executing else None
        case PlanDrafted() as message:
            return partial(thoughts.take_plan, message=message) if planning else None
        case IntentDrafted() as message:
            return partial(thoughts.take_intent, message=message) if begun or planning else None
        case ThoughtFailed() as message:
            return partial(thoughts.take_failed_thought, message=message) if begun or planning else None
        case TaskSubmitted():
            return partial(beginning.begin) if status is ChainStatus.ACCEPTED else None
        case HumanAnswered() as message:
            return partial(answers.apply_answer, message=message) if status in WAITING.values() else None
        case TimerDue() as message:
            return partial(answers.check_due, message=message)
        case MessageLost() as message:
            return partial(losses.end_if_awaited, message=message)
        case TaskCancelled() as message:
            return partial(answers.cancel, message=message)
        case _ as never:
            assert_never(never)
