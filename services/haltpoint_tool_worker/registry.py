"""The tools that this worker serves: those of the modules in HALTPOINT_TOOLS, and what they need while it lives."""

import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import msgspec

from haltpoint.contracts.people.approval_rules import ApprovalRule
from haltpoint.contracts.policy import Targets
from haltpoint.contracts.tools import ToolSpec
from haltpoint.runtime.config import policy_file
from haltpoint.runtime.config.errors import HaltpointError, in_words
from haltpoint.tools import DeclarationError, Tool, tools_in
from haltpoint.tools.callback import Callback
from haltpoint.tools.hooks import Hook
from haltpoint.tools.signature import Output
from haltpoint.tools.undo import undo_inputs, undo_spec
from haltpoint_tool_worker.hooks.builtin import names_around, names_before
from haltpoint_tool_worker.hooks.loading import HookChain, hook_chain, load_hooks
from haltpoint_tool_worker.results.no_effect import exceptions_named, exceptions_of
from haltpoint_tool_worker.skills.folders import check_skills, skills_in
from haltpoint_tool_worker.targets import marked

_TARGETS: Final = policy_file.read(None).targets

Lifespan = Callable[[], AbstractAsyncContextManager[Any]]


class Registry:
    """Tools by name. A tool's deps are what the `lifespan` of its own module yields, else that of the module which
    offers it; each lifespan is opened once.
    """

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}
        self._lifespans: dict[str, Lifespan] = {}
        self._deps: dict[str, Any] = {}
        self._hook_chains: dict[str, HookChain] = {}
        self.no_effect: dict[str, tuple[type[BaseException], ...]] = {}
        """The exceptions of a tool after which nothing has happened."""
        self.repeatable: set[str] = set()
        """The tools of which an interrupted call may simply run again."""
        self.rules: dict[str, tuple[ApprovalRule, ...]] = {}
        """The rules of the policy file about a tool, in their order (G4)."""
        self.find: Callable[[str], Tool | None] = self._tools.get
        """The tool of that name, if it is offered here."""
        self.hook_chain: Callable[[str], HookChain | None] = self._hook_chains.get
        """The hooks of a tool; None when it has none but those that every tool has."""

    def add(
        self, tool: Tool, lifespan: Lifespan | None = None, no_effect: tuple[type[BaseException], ...] = ()
    ) -> None:
        """Offer a tool. `no_effect`: the exceptions that its module and the deployment declare to have none.

        Raises HaltpointError HP-031 when another tool has its name.
        """
        name = tool.spec.name
        other = self._tools.get(name)
        if other is not None and other is not tool:
            raise HaltpointError(
                "HP-031",
                f"two tools are called {name!r}",
                f"one is declared at {other.place}, the other at {tool.place}",
                "Give one of them another name: @tool(name=...), or a skill's folder and its name",
            )
        self._tools[name] = tool
        self.no_effect[name] = (*tool.no_effect, *no_effect)
        if tool.spec.repeatable:
            self.repeatable.add(name)
        if lifespan is not None:
            self._lifespans[name] = lifespan
        if tool.undo is not None and not tool.spec.undoes:
            self.add(_undoing(tool, tool.undo), lifespan, no_effect)

    def mark(self, names: Targets, rules: Sequence[ApprovalRule] = ()) -> None:
        """Mark the targets of all tools that are offered by now (C13)."""
        for name, tool in self._tools.items():
            self._tools[name] = marked(tool, names, rules)

    def surround(self, hooks: Sequence[Hook], rules: Sequence[ApprovalRule] = ()) -> None:
        """Put hooks and rules around all tools that are offered by now, and list them with the tools."""
        for name, tool in self._tools.items():
            found = hook_chain(name, hooks)
            about = tuple(rule for rule in rules if any(fnmatchcase(name, glob) for glob in rule.tools))
            if about:
                self.rules[name] = about
            ruled = bool(about)
            if tool.spec.plan is not None:
                # Its steps are carried out elsewhere: what is reviewed here are the results of the tools in them.
                found = None if found is None or not found.pre else HookChain(found.pre, ())
                names = names_before(tool.spec, found, ruled=ruled) if found is not None or ruled else ()
            else:
                names = names_around(tool.spec, found, ruled=ruled)
            if found is not None:
                self._hook_chains[name] = found
            self._tools[name] = replace(tool, spec=msgspec.structs.replace(tool.spec, hooks=names))

    def deps_of(self, tool: Tool) -> Any:
        """What its lifespan yielded; None without one, and outside of `opened`."""
        return self._deps.get(tool.spec.name)

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """What is offered, as it goes into the catalogue."""
        return tuple(tool.spec for tool in self._tools.values())

    @property
    def undeclared(self) -> tuple[str, ...]:
        """The tools that declare no effects at all: they count as tools with effects."""
        return tuple(
            spec.name
            for spec in self.specs
            if not (spec.read_only or spec.idempotent or spec.destructive or spec.undoes or spec.plan is not None)
        )

    @property
    def unguarded(self) -> tuple[str, ...]:
        """The tools with a parameter `confirmed` that a model may set (B7)."""
        return tuple(name for name, tool in self._tools.items() if tool.inputs.unguarded)

    @property
    def queues(self) -> tuple[str, ...]:
        """The queues of all tools, each once, by name."""
        return tuple(sorted({spec.queue for spec in self.specs}))

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[None]:
        """Open every lifespan, and close them in reverse order. Raises HaltpointError HP-033 when one fails to open."""
        async with AsyncExitStack() as stack:
            made: dict[int, Any] = {}
            for name, lifespan in self._lifespans.items():
                if id(lifespan) not in made:
                    try:
                        made[id(lifespan)] = await stack.enter_async_context(lifespan())
                    except Exception as error:
                        raise HaltpointError(
                            "HP-033",
                            f"the lifespan of the tool {name!r} failed",
                            in_words(error),
                            "Fix what its lifespan opens; the worker starts again",
                        ) from error
                self._deps[name] = made[id(lifespan)]
            yield


def load(
    modules: Sequence[str],
    queues: Sequence[str] = (),
    hooks: Sequence[str] = (),
    skills: Sequence[Path] = (),
    no_effect: Sequence[str] = (),
    rules: Sequence[ApprovalRule] = (),
    targets: Targets = _TARGETS,
) -> Registry:
    """Import the modules, also from the working directory, and offer their tools and the skills in the directories
    `skills`, or those of these queues; with the hooks of the modules, those at the dotted paths `hooks`, and those of
    installed packages and the policy's `rules` around them. `no_effect` names the exceptions after which no tool has
    done anything, `targets` the parameters that say to whom or where.

    Raises HaltpointError HP-001 for an exception that does not exist, HP-030 when there is nothing to offer or a module
    cannot be imported, HP-031 for a name twice, HP-032 for a hook that cannot be loaded, HP-034 for a skill that cannot
    be used.
    """
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.append(here)
    registry, everywhere = Registry(), exceptions_named(no_effect)
    imported: list[ModuleType] = []
    for name in modules:
        try:
            imported.append(module := import_module(name))
        except Exception as error:
            raise _unusable(f"the tools module {name!r}", error) from error
        for tool in tools_in(module):
            if queues and tool.spec.queue not in queues:
                continue
            home = sys.modules.get(getattr(tool.function, "__module__", None) or "")
            try:
                declared = (*exceptions_of(home), *exceptions_of(module))
            except DeclarationError as error:
                raise _unusable(f"NO_EFFECT of {name!r}", error) from error
            lifespan = getattr(home, "lifespan", None) or getattr(module, "lifespan", None)
            registry.add(tool, lifespan, (*declared, *everywhere))
    every_skill = skills_in(skills)
    for skill in every_skill:
        if not queues or skill.spec.queue in queues:
            registry.add(skill)
    registry.mark(targets, rules)
    every_tool = [*every_skill, *(tool for module in imported for tool in tools_in(module))]
    check_skills([marked(tool, targets, rules) for tool in every_tool])
    sources = [*modules, *map(str, skills)]
    if sources and not registry.specs and queues:
        raise HaltpointError(
            "HP-030",
            "there is no tool to serve",
            f"no tool of {', '.join(sources)} belongs to the queue {' or '.join(queues)}",
            "Name another queue, or none to serve all: --queue",
        )
    if not registry.specs:
        raise HaltpointError(
            "HP-030",
            "there is no tool to serve",
            f"{', '.join(sources)} declares none" if sources else "no tools module and no skills were named",
            "Name a module with @tool functions: HALTPOINT_TOOLS=my_tools, or --tools my_tools",
        )
    registry.surround(load_hooks(imported, hooks), rules)
    return registry


def _undoing(tool: Tool, undo: Callback) -> Tool:
    """The hidden tool that undoes the calls of this one (E7)."""
    spec, inputs = undo_spec(tool.spec), undo_inputs(undo)
    return Tool(spec, undo.function, inputs, Output(), undo.is_async, undo.place, undo=undo)


def _unusable(what: str, error: Exception) -> HaltpointError:
    return HaltpointError("HP-030", f"{what} cannot be used", in_words(error), "Correct it")
