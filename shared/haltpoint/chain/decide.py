"""decide(chain, received, world, now) -> Decision: what one event does to one chain.

The theory of the machine
-------------------------

A chain is born `accepted` and dies once, in `completed`, `failed` or `cancelled`. Between the two
it is

- `planning` while the model draws up a plan, or what the goal of an open-ended task asks for (a
  literal plan needs neither),
- `executing` while its steps run, and while the model is asked for the words at the end,
- `awaiting_clarification`, `awaiting_confirmation`, `awaiting_input` or `escalated` while a person
  is asked; the state before is kept and taken up again with the answer.

A live chain waits for something: thoughts and actions under way, or questions. How many calls and
thoughts may be under way is its cap (`parallel`, by default 1: one thing at a time, in the order of
the plan). The rules that keep this small:

- A handler takes the event. It moves its own step, action or request, and returns what it wants
  next (`Next`): to ask a person or the model, to send an action again, to end its step or the
  chain, or nothing of its own.
- The scheduler (`scheduling.advance`) carries that out, then walks the steps in the order of the
  plan. What a step wants next follows from its run alone (`scheduling`): its next call, a call that
  has rested, its next turn, or nothing yet. So what cannot be sent now is sent after a later event,
  in whatever process, and no plan is too long for the stack. Nothing is sent, asked or ended
  anywhere else.
- A step is stopped while a question is open, unless its own was answered since (CONTRACT B3). What
  is under way ends meanwhile, and may ask too. A proposal that arrives is kept, and waits.
  `calling` says whether there is room and budget for what a step wants.
- A call of a proposal that is refused is kept as such, with the fault.
- An event is recognised by the id of something under way. Anything else is a repeat, late or
  foreign: the very same chain comes back. A thought's id holds its turn and attempt, a request's
  its number; an action's id stays the same over its attempts, so a result also has to be that of
  the last one.
- `dispatching` puts calls together and `thinking` thoughts. There the budget is checked, so a chain
  fails instead of overshooting. A chain that fails waits for the actions beside the one that
  failed.

How to read on: `state` is what a chain is, `limits` what it may use, `outputs` what a decision asks
for, and `HANDLERS` below says which handler takes which event. `thoughts` begins chains, once
`agents` has found who works on them; `scheduling` judges what the model proposes and `thinking`
holds it to its word; `dispatching` puts calls together, and the chains of skills and agents;
`asking` stops the chain and `answers` resumes it; `ending` ends steps and chains; `results` takes
receipts, cancellations, due times and lost messages. `judges` is the table of what may run,
`promises` says what is due and how a step may end without it. Everything here is a function of its
arguments.
"""

from collections.abc import Callable
from typing import Any, Final

from haltpoint.chain.handlers import answers, results, thoughts
from haltpoint.chain.model.limits import World
from haltpoint.chain.model.outputs import Decision, Next
from haltpoint.chain.model.state import WAITING, Chain
from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns import scheduling
from haltpoint.contracts.events import (
    ActionProposed,
    AnswerDrafted,
    BoundsDrafted,
    HumanAnswered,
    MessageLost,
    PlanDrafted,
    Received,
    TaskCancelled,
    TaskSubmitted,
    ThoughtFailed,
    TimerDue,
    ToExecutor,
    ToolCompleted,
)

_LIVE: Final = frozenset(status for status in ChainStatus if not status.final)
_BEGUN: Final = _LIVE - {ChainStatus.ACCEPTED, ChainStatus.PLANNING}
_PLANNED: Final = _LIVE - {ChainStatus.ACCEPTED}
_WAITING: Final = frozenset(WAITING.values())

HANDLERS: Final[
    dict[type[ToExecutor], tuple[Callable[[Work, Any], Next | None], frozenset[ChainStatus]]]
] = {
    ToolCompleted: (results.take_result, _BEGUN),
    ActionProposed: (thoughts.take_proposed, _PLANNED),
    AnswerDrafted: (thoughts.end_with_answer, frozenset({ChainStatus.EXECUTING})),
    PlanDrafted: (thoughts.take_plan, frozenset({ChainStatus.PLANNING})),
    BoundsDrafted: (thoughts.take_drafted_bounds, frozenset({ChainStatus.PLANNING})),
    ThoughtFailed: (thoughts.take_failed_thought, _PLANNED),
    TaskSubmitted: (thoughts.begin, frozenset({ChainStatus.ACCEPTED})),
    HumanAnswered: (answers.apply_answer, _WAITING),
    TimerDue: (results.check_due, _LIVE),
    MessageLost: (results.end_if_awaited, _LIVE),
    TaskCancelled: (results.cancel, _LIVE),
}
"""What takes an event, and the states in which it does; it writes down what has happened and says
what it wants next.

In other states such an event is ignored: it is a repeat, or nothing was asked for: thoughts and
results before there is a plan, answers where no question is open. After the one final event nothing
comes (R1); a late receipt is only kept.
"""


def decide(chain: Chain, received: Received, world: World, now: int) -> Decision:
    """What becomes of the chain (ms since the epoch: `now`), what to send, and what to tell.

    Never raises for anything that a model, a tool or a person wrote. An ignored event gives the
    same chain object.
    """
    handler, statuses = HANDLERS[type(received.message)]
    if chain.status not in statuses:
        return Decision(chain)
    work = Work.on(chain, received.body, world, now)
    scheduling.advance(work, handler(work, received.message))
    return work.decision()
