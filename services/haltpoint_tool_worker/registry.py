"""The tools that this worker serves: those of the modules in HALTPOINT_TOOLS, and what they need
while it lives.
"""

import sys
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import msgspec

from haltpoint.contracts.people.approval_rules import ApprovalRule
from haltpoint.contracts.policy import Targets
from haltpoint.contracts.tools import ToolSpec
from haltpoint.runtime.config import policy_file
from haltpoint.runtime.config.errors import HaltpointError, in_words
from haltpoint.runtime.config.settings import Settings
from haltpoint.tools import Tool, tools_in
from haltpoint.tools.hooks import Hook
from haltpoint.tools.signature import Output
from haltpoint.tools.undo import undo_inputs, undo_spec
from haltpoint_tool_worker.hooks.builtin import approvals
from haltpoint_tool_worker.hooks.loading import HookChain, hook_chain, load_hooks
from haltpoint_tool_worker.importing import import_tools
from haltpoint_tool_worker.skills.folders import check_skills, skills_in
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
        self._deps: dict[str, Any] = {}
        self.hooks: dict[str, HookChain] = {}
        """The hooks of a tool, without those that every tool has."""
        self.repeatable: set[str] = set()
        """The tools of which an interrupted call may simply run again."""
        self.asking: set[str] = set()
        """The tools of which each call is judged by hooks, or by what is on record."""
        self.find: Callable[[str], Tool | None] = self._tools.get
        """The tool of that name, if it is offered here."""

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
        spec = tool.spec
        if spec.repeatable:
            self.repeatable.add(name)
        if spec.undoes or spec.recovery.effect_key is not None:
            self.asking.add(name)
        if lifespan is not None:
            self._lifespans[name] = lifespan
        if tool.undo is not None and not tool.spec.undoes:
            self.add(_undoing(tool), lifespan)

    def mark(self, names: Targets, rules: Sequence[ApprovalRule] = ()) -> None:
        """Mark the targets of all tools that are offered by now (C13)."""
        for name, tool in self._tools.items():
            self._tools[name] = marked(tool, names, rules)

    def surround(self, hooks: Sequence[Hook]) -> None:
        """Put hooks around all tools that are offered by now, and list them with the tools."""
        for name, tool in self._tools.items():
            around = hook_chain(name, hooks)
            if tool.spec.plan is not None:
                # Its steps are carried out elsewhere: what is reviewed here are the results of the
                # tools in them.
                around = HookChain(around.pre)
            self.hooks[name] = around
            if around.pre:
                self.asking.add(name)
            names = tuple(by.name for by in (*around.pre, *around.post))
            spec = msgspec.structs.replace(tool.spec, hooks=names)
            self._tools[name] = replace(tool, spec=spec)

    def deps_of(self, tool: Tool) -> Any:
        """What its lifespan yielded. Without one each use of it says so."""
        return self._deps.get(tool.spec.name, NO_DEPS)

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """What is offered, as it goes into the catalogue."""
        return tuple(tool.spec for tool in self._tools.values())

    @property
    def undeclared(self) -> tuple[str, ...]:
        """The tools that declare no effects at all: they count as tools with effects."""
        return tuple(spec.name for spec in self.specs if _declares_nothing(spec))

    @property
    def silent(self) -> tuple[str, ...]:
        """The tools with effects that do not say their deeds in words of their own (F1)."""
        return tuple(spec.name for spec in self.specs if _is_silent(spec))

    @property
    def undescribed(self) -> tuple[str, ...]:
        """The tools that no model can know: nothing says what they do."""
        shown = (spec for spec in self.specs if not (spec.internal or spec.undoes))
        return tuple(spec.name for spec in shown if not spec.description)

    def unreachable(self, served: Collection[str]) -> tuple[str, ...]:
        """Parameters with origins of tools that are not `served`: no model can fill them in."""
        found: list[str] = []
        for spec in self.specs:
            for place, origins in spec.provenance.items():
                tools = {origin.partition(".")[0] for origin in origins}
                if not tools & {*served, "goal"}:
                    found.append(f"{spec.name}.{place} ({', '.join(origins)})")
        return tuple(found)

    @property
    def queues(self) -> tuple[str, ...]:
        """The queues of all tools, each once, by name."""
        return tuple(sorted({spec.queue for spec in self.specs}))

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[None]:
        """Open every lifespan, and close them in reverse order. Raises HaltpointError HP-033 when
        one fails to open.
        """
        opened: dict[int, Any] = {}
        async with AsyncExitStack() as stack:
            for name, lifespan in self._lifespans.items():
                if id(lifespan) not in opened:
                    opened[id(lifespan)] = await _open(stack, name, lifespan)
                self._deps[name] = opened[id(lifespan)]
            yield


def registry_of(settings: Settings, queues: Sequence[str]) -> Registry:
    """What the settings name, of these queues or of all. Raises HaltpointError."""
    policy = policy_file.read(settings.policy_file)
    around = (policy.approvals, policy.targets)
    return load(settings.tools, queues, settings.hooks, settings.skills, *around)


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
    served = skills_in(skills)
    registry = Registry()
    every_tool = list(served)
    for module in imported:
        tools = tools_in(module)
        every_tool += tools
        for tool in _of(queues, tools):
            registry.add(tool, _lifespan_of(tool, module))
    for skill in _of(queues, served):
        registry.add(skill)
    registry.mark(targets, rules)
    check_skills([marked(tool, targets, rules) for tool in every_tool])
    if not registry.specs:
        raise _nothing([*modules, *map(str, skills)], queues)
    registry.surround([*load_hooks(imported, hooks), approvals(rules)])
    return registry


def _of(queues: Sequence[str], tools: Sequence[Tool]) -> list[Tool]:
    """Those of these queues; all when none are named."""
    return [tool for tool in tools if not queues or tool.spec.queue in queues]


def _lifespan_of(tool: Tool, module: ModuleType) -> Lifespan | None:
    home = sys.modules.get(getattr(tool.function, "__module__", None) or "")
    lifespan: Lifespan | None = getattr(home, "lifespan", None)
    return lifespan or getattr(module, "lifespan", None)


async def _open(stack: AsyncExitStack, name: str, lifespan: Lifespan) -> Any:
    what = f"the lifespan of the tool {name!r} failed"
    try:
        manager = lifespan()
        if not hasattr(manager, "__aenter__"):
            kind = type(manager).__name__
            why, fix = f"it gives a {kind}", "Write @asynccontextmanager above it, and start again"
            raise HaltpointError("HP-033", what, why, fix)
        return await stack.enter_async_context(manager)
    except HaltpointError:
        raise
    except Exception as error:
        fix = "Fix what its lifespan opens; the worker starts again"
        raise HaltpointError("HP-033", what, in_words(error), fix) from error


def _nothing(sources: list[str], queues: Sequence[str]) -> HaltpointError:
    names = ", ".join(sources)
    why = f"{names} declares none" if sources else "no tools module and no skills were named"
    fix = "Name a module with @tool functions: HALTPOINT_TOOLS=my_tools, or --tools my_tools"
    if sources and queues:
        why = f"no tool of {names} belongs to the queue {' or '.join(queues)}"
        fix = "Name another queue, or none to serve all: --queue"
    return HaltpointError("HP-030", "there is no tool to serve", why, fix)


def _declares_nothing(spec: ToolSpec) -> bool:
    if spec.undoes or spec.plan is not None:
        return False
    return not (spec.read_only or spec.idempotent or spec.destructive)


def _is_silent(spec: ToolSpec) -> bool:
    return not (spec.read_only or spec.says or spec.undoes or spec.plan is not None)


def _undoing(tool: Tool) -> Tool:
    """The hidden tool that undoes the calls of this one (E7)."""
    undo = tool.undo
    assert undo is not None  # noqa: S101 - of a tool that declares one
    spec, inputs = undo_spec(tool.spec), undo_inputs(undo)
    return Tool(spec, undo.function, inputs, Output(), undo.is_async, undo.place, undo=undo)
