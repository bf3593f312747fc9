"""One look over the sources: which trails are new or changed, and the pins that follow.

An unchanged trail costs one `stat`; its content is not opened. One trail's trouble never stops the
others: it becomes a problem of that node.
"""

import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from memclaw_etl.errors import MemclawError, SettingsError, TrailUnreadableError
from memclaw_etl.lake.ledger import Ledger, Node, nodes
from memclaw_etl.settings import Limits, NamespaceSettings
from memclaw_etl.trails.discovery import Source, TrailFile, discover
from memclaw_etl.windows.pin import Pinned, pin_trail
from memclaw_etl.windows.register import Found, register_trails
from memclaw_etl.windows.vanished import note_vanished

_LONG_AGO = timedelta(days=365)
"""No file is taken to be still for longer: some have times that no calendar knows."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that a person should know about one trail. Never trail text."""

    where: str
    code: str
    message: str


@dataclass(slots=True)
class Scan:
    """What one look did."""

    trails: int = 0
    opened: int = 0
    windows: int = 0
    noise_windows: int = 0
    noise_lines: int = 0
    quarantined_lines: int = 0
    read_bytes: int = 0
    complete: bool = True
    """Every trail was read to its end; False when the budget ended the look."""
    skipped: dict[str, int] = field(default_factory=dict)
    """Files that discovery passed over, by reason."""
    problems: list[Problem] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Budget:
    """How much one look may do before it hands over to the next."""

    seconds: float
    read_bytes: int


def no_progress(done: int, total: int) -> None:
    """Show nothing."""
    del done, total


def scan(
    ledger: Ledger,
    sources: Sequence[Source],
    limits: Limits,
    *,
    machine12: str,
    flush: bool = False,
    namespaces: Sequence[NamespaceSettings] = (),
    budget: Budget | None = None,
    monotonic: Callable[[], float] = time.monotonic,
    on_trail: Callable[[int, int], None] = no_progress,
) -> Scan:
    """Look at every trail of the sources and pin what is new.

    Args:
        ledger: where windows are pinned; each pin is durable at once.
        sources: what may be read (default deny: nothing else is opened).
        limits: caps, trickle and idle rules.
        machine12: this machine, for node ids.
        flush: take what is left of every trail now, without waiting until it is idle.
        namespaces: the path table; where a trail goes over to another namespace, a window ends.
        budget: when to stop; the next look continues with the trails that waited longest.
        monotonic: the clock that the budget is measured with.
        on_trail: progress: trails done, trails to do.
    """
    result = Scan()
    found: list[Found] = []
    readers: dict[Path, Source] = {}
    for source in sources:
        found += _look(ledger, source, machine12=machine12, readers=readers, result=result)
    due = [one for one in found if _is_due(one, limits, flush=flush, now=ledger.now())]
    due.sort(key=lambda one: one.node.scanned_at or datetime.min.replace(tzinfo=UTC))
    started = monotonic()
    for number, one in enumerate(due):
        left = budget.read_bytes - result.read_bytes if budget else limits.tick_budget_bytes
        if budget and (left <= 0 or monotonic() - started > budget.seconds):
            result.complete = False
            break
        _pin_one(
            ledger, one, limits,
            flush=flush, limit_bytes=left, namespaces=namespaces, result=result,
        )  # fmt: skip
        on_trail(number + 1, len(due))
    result.trails = len(found)
    return result


def _look(
    ledger: Ledger,
    source: Source,
    *,
    machine12: str,
    readers: dict[Path, Source],
    result: Scan,
) -> list[Found]:
    try:
        discovery = discover(source, machine12=machine12)
    except MemclawError as error:
        result.problems.append(Problem(str(source.root), error.code, str(error)))
        return []
    for reason, count in discovery.skipped.items():
        result.skipped[reason] = result.skipped.get(reason, 0) + count
    mine = [trail for trail in discovery.trails if _is_only_reader(trail, source, readers, result)]
    own = machine12 if ledger.is_shared else None
    found, refused = register_trails(ledger, source, mine, machine12=own)
    result.problems += [
        Problem(where, SettingsError.__name__, message) for where, message in refused
    ]
    result.problems += [
        Problem(str(path), "unlisted_store", message) for path, message in discovery.problems
    ]
    unlisted = frozenset(path.resolve() for path, _ in discovery.problems)
    present = {one.node.node_id for one in found}
    gone = note_vanished(ledger, source, present, unlisted=unlisted, machine12=own)
    result.problems += [Problem(where, "vanished", message) for where, message in gone]
    return found


def _is_only_reader(
    trail: TrailFile, source: Source, readers: dict[Path, Source], result: Scan
) -> bool:
    """Whether no other source has this file already; two that do are a problem that names both."""
    first = readers.setdefault(trail.real_path, source)
    if first is source:
        return True
    message = (
        f"two sources read the same file {trail.real_path}: {first.kind} at {first.root} (tenant"
        f" {first.tenant_id}) and {source.kind} at {source.root} (tenant {source.tenant_id});"
        " the first one has it, remove one of them"
    )
    result.problems.append(Problem(str(trail.path), SettingsError.__name__, message))
    return False


def _is_due(one: Found, limits: Limits, *, flush: bool, now: datetime) -> bool:
    """Whether a trail must be opened: it changed, or its waiting rest has become still."""
    if one.changed or one.node.problem_code in {"unreadable", "vanished"}:
        return True
    if one.node.settled:
        return False
    return flush or _is_still(one.node, limits, now=now) or not one.node.at_end


def _is_still(node: Node, limits: Limits, *, now: datetime) -> bool:
    idle = timedelta(minutes=limits.flush_idle_minutes)
    return node.still_since is not None and now - node.still_since >= idle


def _pin_one(
    ledger: Ledger,
    one: Found,
    limits: Limits,
    *,
    flush: bool,
    limit_bytes: int,
    namespaces: Sequence[NamespaceSettings],
    result: Scan,
) -> None:
    now = ledger.now()
    node = replace(one.node, still_since=_still_since(one, now=now))
    result.opened += 1
    try:
        node, done = pin_trail(
            ledger,
            node,
            limits,
            still=flush or _is_still(node, limits, now=now),
            limit_bytes=limit_bytes,
            namespaces=namespaces,
        )
    except TrailUnreadableError as error:
        seen = {"problem_code": "unreadable", "problem": str(error), "scanned_at": now}
        problem: Problem | None = Problem(node.node_id, "unreadable", str(error))
    except (MemclawError, SQLAlchemyError):
        raise  # the ledger's trouble is everybody's
    except Exception as error:  # noqa: BLE001 - a bug that one trail meets never stops the others
        last = traceback.extract_tb(error.__traceback__)[-1]
        message = f"node {node.node_id}: unexpected {type(error).__name__} at"
        message += f" {Path(last.filename).name}:{last.lineno}; this is a bug, please report it"
        seen = {"problem_code": "unexpected", "problem": message, "scanned_at": now}
        problem = Problem(node.node_id, "unexpected", message)
    else:
        seen = _what_was_seen(one.trail, node, done, now=now)
        problem = _problem_of(node, done, size_bytes=one.trail.size_bytes)
        seen |= {
            "problem_code": problem.code if problem else None,
            "problem": problem.message if problem else None,
        }
        _add(result, done)
    if problem is not None:
        result.problems.append(problem)
    with ledger.write() as tx:
        nodes.change(tx, node, **seen)


def _still_since(one: Found, *, now: datetime) -> datetime:
    """Since when the trail is unchanged by our clock; an old mtime only starts it earlier."""
    if one.changed or one.node.still_since is None:
        age_s = max(now.timestamp() - one.trail.mtime_ns / 1e9, 0)
        return now - min(timedelta(seconds=age_s), _LONG_AGO)
    return one.node.still_since


def _what_was_seen(trail: TrailFile, node: Node, done: Pinned, *, now: datetime) -> dict[str, Any]:
    seen: dict[str, Any] = {
        "seen_size": trail.size_bytes,
        "seen_mtime_ns": trail.mtime_ns,
        "seen_inode": trail.inode,
        "still_since": node.still_since,
        "settled": done.settled,
        "at_end": done.at_end and not done.overtaken,
        "scanned_at": now,
        "unknown": _unknown(node.unknown, done.noise),
    }
    if done.head_seq is not None:
        seen["head_seq"] = done.head_seq
    return seen


def _unknown(before: Mapping[str, int] | None, noise: Mapping[str, int]) -> dict[str, int]:
    """Line types that no rule knows, so that a new client version is noticed."""
    merged = dict(before or {})
    for reason, count in noise.items():
        if reason.startswith("unknown:"):
            merged[reason] = max(merged.get(reason, 0), count)
    return merged


def _problem_of(node: Node, done: Pinned, *, size_bytes: int) -> Problem | None:
    if done.rewritten is not None:
        message = f"node {node.node_id}: {done.rewritten}; it was rewritten or rotated, so epoch"
        return Problem(node.node_id, "rewritten", f"{message} {node.epoch} starts at seq 0")
    if size_bytes == 0:
        return Problem(node.node_id, "empty", f"node {node.node_id}: the trail has 0 bytes")
    broken = done.quarantined + (done.torn if done.settled else 0)
    never_held_any = node.head_seq is None or node.problem_code == "not_a_trail"
    mostly_broken = broken > done.noise.total() and not done.records
    if mostly_broken and never_held_any:
        message = f"node {node.node_id}: {broken} pieces of lines are no JSON;"
        return Problem(node.node_id, "not_a_trail", f"{message} is this a trail at all?")
    if done.quarantined:
        message = f"node {node.node_id}: {done.quarantined} pieces of lines are no JSON and were"
        return Problem(node.node_id, "quarantined_lines", f"{message} set aside (see doctor)")
    return None


def _add(result: Scan, done: Pinned) -> None:
    result.windows += done.windows
    result.noise_windows += done.noise_windows
    result.noise_lines += done.pinned_noise_lines
    result.quarantined_lines += done.pinned_quarantined_lines
    result.read_bytes += done.read_bytes
    result.complete = result.complete and done.at_end and not done.overtaken
