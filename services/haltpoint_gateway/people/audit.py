"""The audit: lines that are written with the deeds, and read as one list."""

from msgspec.json import decode

from haltpoint.contracts.people.audit import AUDIT, Audited, AuditView, Deed, Line
from haltpoint.contracts.views.chains import Page
from haltpoint.runtime.streams.connection import AutoPipeline, Side
from haltpoint.runtime.streams.timeline import read_timeline
from haltpoint.runtime.streams.topology import Topology
from haltpoint.runtime.views.log_view import moment
from haltpoint_gateway.people.principal import Principal
from haltpoint_gateway.queries import AuditQuery


class Audit(Side):
    """The audit of all partitions, of `retention` seconds."""

    def __init__(self, calls: AutoPipeline, topology: Topology, retention: float) -> None:
        super().__init__(calls, topology)
        self._age = round(retention * 1000)

    def line(self, who: Principal, deed: Deed, about: str, what: str = "") -> Line:
        """The line about a deed, to be written by the function that does it."""
        audited = Audited(deed, about, who.name, who.way, who.address, who.tenant, what)
        return Line(audited, self._age)

    async def note_policy(self, digest: str, by: str) -> None:
        """Write down that this policy file counts, when another did before."""
        line = Line(Audited(Deed.POLICY_CHANGED, digest, by), self._age)
        await self._functions.call("note_policy", 0, digest, line=line)

    async def page(self, query: AuditQuery) -> Page[AuditView]:
        """Lines of all partitions, the oldest first."""
        entries, more = await read_timeline(self._calls, self._topology, AUDIT, **dict(query))
        lines = [AuditView(at=moment(place.ms), **decode(text)) for place, (_, text) in entries]
        return Page(items=tuple(lines), next_cursor=more)
