"""Who may read what: every reading function of the service takes a `Grant` first.

On the command line a grant is a view and no lock: whoever can open the home's files can read them.
It becomes one where a server hands out grants by key.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from memclaw_etl.errors import NotGrantedError, UsageError
from memclaw_etl.lake.ledger import results, shown
from memclaw_etl.lake.ledger.shown import Part, Shown
from memclaw_etl.memories.items import scopes_prefix
from memclaw_etl.settings import DEFAULT_TENANT, GrantSettings
from memclaw_etl.stages.bench import Bench
from memclaw_etl.windows.namespaces import namespace_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """One tenant, and all of it or some of its namespaces. There is no reading without one."""

    tenant_id: str
    namespaces: frozenset[str] | None = None
    """None: all of the tenant. `""` is what belongs to no project."""
    reader: str | None = None
    """None: the person at the machine."""

    def __post_init__(self) -> None:
        """Refuse what would read everything, or nothing."""
        if not self.tenant_id:
            raise UsageError("a grant names a tenant; this one names none")
        if self.namespaces is not None and not self.namespaces:
            raise UsageError("a grant of no namespace reads nothing; leave it out for all of them")

    def __str__(self) -> str:
        """How errors call whoever reads."""
        return f"tenant {self.tenant_id!r}" if self.reader is None else f"reader {self.reader!r}"


def grant_for(bench: Bench, *, reader: str | None, tenant_id: str | None) -> Grant:
    """The grant of a reader, by the settings; without a reader all of the chosen tenant.

    Raises:
        UsageError: the settings have no such reader, or it has several tenants and none was chosen.
        NotGrantedError: there is no such tenant, or the reader was not granted it.
    """
    if reader is None:
        return _whole_tenant(bench, tenant_id or DEFAULT_TENANT)
    rows = [row for row in bench.settings.grants if row.reader == reader]
    if not rows:
        raise UsageError(f"memclaw.toml has no [[grants]] for reader {reader!r}")
    granted = sorted({row.tenant_id for row in rows})
    if tenant_id is None and len(granted) > 1:
        raise UsageError(f"reader {reader!r} reads several tenants; choose one: {_listed(granted)}")
    chosen = tenant_id if tenant_id is not None else granted[0]
    return _joined(reader, chosen, [row for row in rows if row.tenant_id == chosen], granted)


def _joined(
    reader: str, tenant_id: str, rows: Sequence[GrantSettings], granted: Sequence[str]
) -> Grant:
    """All that a reader's entries for one tenant grant together."""
    if not rows:
        raise NotGrantedError(
            f"reader {reader!r} was not granted tenant {tenant_id!r}; it reads {_listed(granted)}"
        )
    some = [row.namespaces for row in rows if row.namespaces is not None]
    is_limited = len(some) == len(rows)
    namespaces = frozenset(name for names in some for name in names) if is_limited else None
    return Grant(tenant_id=tenant_id, namespaces=namespaces, reader=reader)


def _whole_tenant(bench: Bench, tenant_id: str) -> Grant:
    settings = bench.settings
    known = {DEFAULT_TENANT}
    known |= {row.tenant_id for row in settings.sources}
    known |= {row.tenant_id for row in settings.tenants}
    known |= {row.tenant_id for row in settings.grants}
    if tenant_id not in known:
        with bench.ledger.read() as tx:
            known |= shown.tenants(tx)
    if tenant_id not in known:
        raise NotGrantedError(f"there is no tenant {tenant_id!r}; the tenants: {_listed(known)}")
    return Grant(tenant_id=tenant_id)


def readable(bench: Bench, grant: Grant, namespace: str | None) -> frozenset[str] | None:
    """The namespaces to look into: the one that was asked for, else all that are granted.

    None: all of the tenant. What was granted by name may be asked for before anything is in it.

    Raises:
        NotGrantedError: the namespace was not granted, or does not exist.
    """
    if namespace is None:
        return grant.namespaces
    if grant.namespaces is None and _is_in_use(bench, grant, namespace):
        return frozenset({namespace})
    known = grant.namespaces if grant.namespaces is not None else _namespaces_in_use(bench, grant)
    if namespace not in known:
        raise NotGrantedError(
            f"there is no namespace {namespace!r} for {grant}; there are:"
            f" {_listed(filter(None, known))}"
        )
    return frozenset({namespace})


def check_node(bench: Bench, grant: Grant, node_id: str) -> None:
    """Refuse a node that the grant shows nothing of.

    Raises:
        NotGrantedError: the node does not exist, or none of its windows was granted.
    """
    of = shown_to(bench, grant)
    with bench.ledger.read() as tx:
        is_shown = shown.has_node(tx, of, node_id)
    if not is_shown:
        raise NotGrantedError(
            f"there is no node {node_id!r} for {grant};"
            " `memclaw-etl sql` with the table `nodes` lists them"
        )


def readable_nodes(bench: Bench, grant: Grant) -> set[str]:
    """Ids of the nodes that the grant shows anything of."""
    of = shown_to(bench, grant)
    with bench.ledger.read() as tx:
        return shown.node_ids(tx, of)


def shown_to(bench: Bench, grant: Grant) -> Shown:
    """What a grant shows, as the ledger filters by it."""
    if grant.namespaces is None:
        return Shown(tenant_id=grant.tenant_id)
    with bench.ledger.read() as tx:
        projects = shown.projects(tx, grant.tenant_id)
    table = bench.settings.namespaces
    fitting = {one for one in projects if namespace_of(one, table) in grant.namespaces}
    return Shown(
        tenant_id=grant.tenant_id,
        part=Part(
            namespaces=grant.namespaces,
            scopes=frozenset(scopes_prefix(grant.tenant_id) + one for one in grant.namespaces),
            projects=frozenset(one for one in fitting if one is not None),
            without_project=None in fitting,
        ),
    )


def _is_in_use(bench: Bench, grant: Grant, namespace: str) -> bool:
    """Whether any item of the tenant belongs to the namespace: quick to see, unlike all of them."""
    with bench.ledger.read() as tx:
        return shown.has_scope(tx, scopes_prefix(grant.tenant_id) + namespace)


def _namespaces_in_use(bench: Bench, grant: Grant) -> set[str]:
    """What the tenant's windows and items belong to; a path table alone makes no namespace.

    The table is of the whole home: its other names are other tenants' business.
    """
    prefix = scopes_prefix(grant.tenant_id)
    with bench.ledger.read() as tx:
        scopes = results.scopes(tx, prefix)
        projects = shown.projects(tx, grant.tenant_id)
    used = {scope.removeprefix(prefix) for scope in scopes}
    return used | {namespace_of(one, bench.settings.namespaces) for one in projects}


def _listed(names: "Collection[str] | filter[str]") -> str:
    return ", ".join(sorted(names)) or "none"
