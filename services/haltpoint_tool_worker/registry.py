"""The tools that this worker serves: those of the modules in HALTPOINT_TOOLS, and what they need
while it lives.
"""

import re
import sys
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from msgspec import structs

from haltpoint.chain.checks.knowledge import GOAL
from haltpoint.contracts.people.approval_rules import ApprovalRule
from haltpoint.contracts.policy import Targets
from haltpoint.contracts.tools import ToolSpec
from haltpoint.runtime.config import policy_file
from haltpoint.runtime.config.errors import HaltpointError, in_words
from haltpoint.runtime.config.faults import nearest
from haltpoint.runtime.config.settings import Settings
from haltpoint.tools import Tool, tools_in
from haltpoint.tools.hooks import Hook, Moment
from haltpoint.tools.undo import undoing
from haltpoint_tool_worker.hooks import APPROVALS, load_hooks
from haltpoint_tool_worker.importing import import_tools
from haltpoint_tool_worker.skills import check_skills, skills_in
from haltpoint_tool_worker.targets import marked

_TARGETS: Final = policy_file.read(None).targets

Lifespan = Callable[[], AbstractAsyncContextManager[Any]]


class _NoDeps:
    """In the place of deps that no lifespan yields."""

    def __bool__(self) -> bool:
        return False

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"ctx.deps has no {name!r}: the tool's module has no lifespan that yields deps"
        )


NO_DEPS: Final = _NoDeps()


class Registry:
    """Tools by name. A tool's deps are what the `lifespan` of its own module yields, else that of
    the module which offers it; each lifespan is opened once.
    """

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}
        self._lifespans: dict[str, Lifespan] = {}
        self.deps: dict[str, Any] = {}
        """What the lifespan of a tool yielded. Without one each use of it says so (`NO_DEPS`)."""
        self.hooks: dict[str, Sequence[Hook]] = {}
        """The hooks of a tool in their order, without those that every tool has."""
        self.rules: Sequence[ApprovalRule] = ()
        """Those of the policy file."""

    def add(self, tool: Tool, lifespan: Lifespan | None = None) -> None:
        """Offer a tool. Raises HaltpointError HP-031 when another tool has its name."""
        name = tool.spec.name
        other = self._tools.setdefault(name, tool)
        if other is not tool:
            raise HaltpointError(
                "HP-031",
                f"two tools are called {name!r}",
                f"one is declared at {other.place}, the other at {tool.place}",
                "Give one of them another name: @tool(name=...), or a skill's folder and its name",
            )
        if lifespan is not None:
            self._lifespans[name] = lifespan
        if tool.undo is not None and not tool.spec.undoes:
            self.add(undoing(tool, tool.undo), lifespan)

    def find(self, name: str) -> Tool | None:
        """The tool of that name, if it is offered here."""
        return self._tools.get(name)

    def prepare(
        self, hooks: Sequence[Hook], names: Targets = _TARGETS, rules: Sequence[ApprovalRule] = ()
    ) -> None:
        """Mark the targets of all tools that are offered by now (C13), put hooks and rules around
        them, and list these with the tools.
        """
        self.rules = rules
        for name, tool in self._tools.items():
            around = [by for by in hooks if by.matches(name)]
            pre = [by for by in around if by.moment is Moment.PRE]
            post = [by for by in reversed(around) if by.moment is Moment.POST]
            if tool.spec.plan is not None:
                # Its steps are carried out elsewhere: what is reviewed here are the results of the
                # tools in them.
                post = []
            self.hooks[name] = (*pre, *post)
            listed = [by.name for by in pre]
            if any(rule.names(name) for rule in rules):
                listed.append(APPROVALS)
            listed += [by.name for by in post]
            spec = structs.replace(marked(tool, names, rules), hooks=tuple(listed))
            self._tools[name] = replace(tool, spec=spec)

    def keep(self, queues: Sequence[str]) -> None:
        """Offer the tools of these queues alone; all when none are named."""
        if queues:
            tools = self._tools.items()
            self._tools = {name: tool for name, tool in tools if tool.spec.queue in queues}

    def wrap(self, around: Callable[[Tool], Tool]) -> None:
        """Put another tool in the place of each: for tests, which stop calls midway."""
        self._tools = {name: around(tool) for name, tool in self._tools.items()}

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """What is offered, as it goes into the catalogue."""
        return tuple(tool.spec for tool in self._tools.values())

    def remarks(self, served: Iterable[ToolSpec]) -> list[tuple[str, list[str], str]]:
        """What is missing from declarations, of which tools, and what to do; `served` are the tools
        of all workers.
        """
        declared = [spec for spec in self.specs if not spec.undoes and spec.plan is None]
        undeclared = [
            spec.name
            for spec in declared
            if not (spec.read_only or spec.idempotent or spec.destructive)
        ]
        silent = [spec.name for spec in declared if not (spec.read_only or spec.says)]
        nameless = [spec.name for spec in declared if not (spec.internal or spec.description)]
        return [
            (
                "values that no served tool gives: a model cannot call these",
                unreachable(served),
                "correct FromResult(...), or serve the tool that it names",
            ),
            (
                "tools that declare no effects count as tools with effects",
                undeclared,
                "declare read_only=True or idempotent=True where it is true",
            ),
            (
                "tools with effects that do not say in words what a call did",
                silent,
                'declare it: says="sent a message to {to}"',
            ),
            (
                "tools without a docstring: a model does not know what they do",
                nameless,
                "write one, or give description=...",
            ),
        ]

    @property
    def queues(self) -> tuple[str, ...]:
        """The queues of all tools, each once, by name."""
        return tuple(sorted({spec.queue for spec in self.specs}))

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[None]:
        """Open every lifespan, and close them in reverse order. Raises HaltpointError HP-033 when
        one fails to open.
        """
        opened: dict[Lifespan, Any] = {}
        async with AsyncExitStack() as stack:
            for name, lifespan in self._lifespans.items():
                if name in self._tools and lifespan not in opened:
                    opened[lifespan] = await _open(stack, name, lifespan)
                self.deps[name] = opened.get(lifespan)
            yield


def unreachable(tools: Iterable[ToolSpec]) -> list[str]:
    """The parameters of these tools whose origins none of them gives, as far as their schemas say,
    each with the place that may be meant.
    """
    served = [spec for spec in tools if not spec.gone]
    given = [GOAL]
    for spec in served:
        schema = spec.result_schema or {}
        fields = () if schema.get("additionalProperties") else schema.get("properties", ())
        given += [f"{spec.name}.{field}" for field in fields] or [spec.name]
    begins = re.compile(rf"({'|'.join(map(re.escape, given))})(?![\w-])")
    lost = []
    for spec in served:
        for place, origins in spec.provenance.items():
            if not any(map(begins.match, origins)):
                meant = nearest(origins[0], given)
                lost.append(f"{spec.name}.{place} ({', '.join(origins)}{meant})")
    return lost


def registry_of(settings: Settings, queues: Sequence[str]) -> Registry:
    """What the settings name, of these queues or of all. Raises HaltpointError."""
    policy = policy_file.read(settings.policy_file)
    hooks, skills = settings.hooks, settings.skills
    return load(settings.tools, queues, hooks, skills, policy.approvals, policy.targets)


def load(
    modules: Sequence[str],
    queues: Sequence[str] = (),
    hooks: Sequence[str] = (),
    skills: Sequence[Path] = (),
    rules: Sequence[ApprovalRule] = (),
    targets: Targets = _TARGETS,
) -> Registry:
    """Import the modules, also from the working directory, and offer their tools and the skills in
    the directories `skills`, or those of these queues; with the hooks of the modules, those at the
    dotted paths `hooks`, those of installed packages and the policy's `rules` around them.
    `targets` names the parameters that say to whom or where.

    Raises HaltpointError HP-030 when there is nothing to offer or a module cannot be imported,
    HP-031 for a name twice, HP-032 for a hook that cannot be loaded, HP-034 for a skill that cannot
    be used.
    """
    imported = [import_tools(name) for name in modules]
    registry = Registry()
    for module in imported:
        for tool in tools_in(module):
            home = sys.modules.get(getattr(tool.function, "__module__", None) or "")
            lifespan = getattr(home, "lifespan", None) or getattr(module, "lifespan", None)
            registry.add(tool, lifespan)
    for skill in skills_in(skills):
        registry.add(skill)
    registry.prepare(load_hooks(imported, hooks), targets, rules)
    check_skills(registry.specs)
    registry.keep(queues)
    if not registry.specs:
        # A file may be of another module than the author's.
        files = [
            f"{one.__name__} ({getattr(one, '__file__', 'of Python itself')})" for one in imported
        ]
        raise _nothing([*files, *map(str, skills)], queues)
    return registry


async def _open(stack: AsyncExitStack, name: str, lifespan: Lifespan) -> Any:
    try:
        return await stack.enter_async_context(lifespan())
    except HaltpointError:
        raise
    except Exception as error:
        what = f"the lifespan of the tool {name!r} failed"
        fix = "Write @asynccontextmanager above it, or fix what it opens; the worker starts again"
        raise HaltpointError("HP-033", what, in_words(error), fix) from error


def _nothing(sources: list[str], queues: Sequence[str]) -> HaltpointError:
    names = ", ".join(sources)
    why = f"{names} declares none" if sources else "no tools module and no skills were named"
    fix = "Name a module with @tool functions: HALTPOINT_TOOLS=my_tools, or --tools my_tools"
    if sources and queues:
        why = f"no tool of {names} belongs to the queue {' or '.join(queues)}"
        fix = "Name another queue, or none to serve all: --queue"
    return HaltpointError("HP-030", "there is no tool to serve", why, fix)
