"""Re-derive and compare: every promise that can be checked from what is stored."""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from memclaw_etl.lake.ledger import Stage, StageFile, Window, WindowState, nodes, results, windows
from memclaw_etl.memories.catalogue import all_memories
from memclaw_etl.memories.resolve import Memory, resolve
from memclaw_etl.service.audit_forgotten import given_up, recalled_though_forgotten
from memclaw_etl.service.checks import Finding, leaks, ungrounded, wrong_watermarks
from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.govern_again import governed_otherwise, tenants_of
from memclaw_etl.stages.remember import live_items, rulings

_FILE_STAGES = (Stage.MASKED_CHUNKS, Stage.MINI_REPORTS, Stage.MERGED_REPORT)


def audit(bench: Bench) -> list[Finding]:
    """Check gaps, duplicates, leaks, grounding, watermarks, files, index, forgets; [] is good.

    Reads every stage file and every memory. Windows that are owed or waiting for a person are no
    findings: `status` shows them.
    """
    with bench.ledger.read() as tx:
        epochs = [
            (node.tenant_id, node.node_id, epoch)
            for node in nodes.all_nodes(tx)
            for epoch in range(node.epoch + 1)
        ]
        known = [window for epoch in epochs for window in windows.of_node(tx, *epoch)]
    findings = wrong_watermarks(bench, epochs)
    damaged = list(_damaged_files(bench))
    findings += [
        Finding("files_intact", file.path, f"the ledger says {file.content_hash[:12]}, {found}")
        for file, found in damaged
    ]
    unreadable = {file.window_id for file, _ in damaged}
    readable = [window for window in known if window.window_id not in unreadable]
    for stage in _FILE_STAGES:
        findings += leaks(bench, stage, readable)
    findings += given_up(bench, known, readable)
    findings += ungrounded(bench, readable)
    findings += _unfinished_commits(bench, known)
    waiting = list(_other_policies(bench))
    if not unreadable and not waiting:
        findings += _wrong_index(bench)
    return findings + waiting + list(_could_not_compare(unreadable))


def _other_policies(bench: Bench) -> Iterator[Finding]:
    """Tenants whose memories were chosen by other policies than the settings name now."""
    for tenant_id in tenants_of(bench):
        count = len(governed_otherwise(bench, tenant_id))
        if count:
            message = f"{count} windows wait for today's policies; the next `run` applies them"
            yield Finding("policies_applied", tenant_id, message)


def _damaged_files(bench: Bench) -> Iterator[tuple[StageFile, str]]:
    """Files that the ledger names and that are not what was written, and what is there."""
    for stage in _FILE_STAGES:
        with bench.ledger.read() as tx:
            files = results.all_files(tx, stage)
        for file in files:
            path = Path(bench.files.absolute(file.path))
            if not path.exists():
                yield file, "the file is missing"
            elif (found := hashlib.sha256(path.read_bytes()).hexdigest()) != file.content_hash:
                yield file, f"the file is {found[:12]}"


def _could_not_compare(unreadable: Collection[str]) -> Iterator[Finding]:
    """What the index must hold follows from all items; without some of them it is not known."""
    if unreadable:
        message = f"could not be compared: files of {len(unreadable)} windows are damaged"
        yield Finding("index_matches_items", "index", message)


def _unfinished_commits(bench: Bench, known: Sequence[Window]) -> Iterator[Finding]:
    """Windows that count as committed although a stage of theirs has no result."""
    done = [window for window in known if window.state is WindowState.COMMITTED]
    ids = [window.window_id for window in done]
    with bench.ledger.read() as tx:
        stages = {
            stage: results.current(tx, ids, stage) for stage in (*_FILE_STAGES, Stage.MEMORIES)
        }
        touched = set(results.touched(tx, ids))
    for window in done:
        missing = [stage for stage, files in stages.items() if window.window_id not in files]
        if missing:
            message = f"committed without {', '.join(missing)}"
            yield Finding("commits_complete", window.partition_key, message)
    if touched:
        message = f"{len(touched)} groups of committed windows wait to be resolved"
        yield Finding("index_matches_items", "index", message)


def _wrong_index(bench: Bench) -> Iterator[Finding]:
    """Memories that resolve does not say, says otherwise, or that stand twice; leaks in them."""
    with bench.ledger.read() as tx:
        groups = set(results.all_groups(tx))
    stored = all_memories(bench.index)
    found = resolve(live_items(bench, groups), rulings(bench))
    expected = {memory.memory_id: memory for memory in found}
    counts = Counter(memory.memory_id for memory in stored)
    for memory_id, count in counts.items():
        if count > 1:
            yield Finding("no_duplicates", memory_id, f"stands {count} times in the index")
    by_id = {memory.memory_id: memory for memory in stored}
    for memory_id in sorted(expected.keys() - by_id.keys()):
        yield Finding("index_matches_items", memory_id, "its items are live, the index lacks it")
    for memory_id in sorted(by_id.keys() - expected.keys()):
        yield Finding("index_matches_items", memory_id, "no live item makes it")
    for memory_id in sorted(by_id.keys() & expected.keys()):
        if by_id[memory_id] != expected[memory_id]:
            yield Finding("index_matches_items", memory_id, "the index says it otherwise")
    yield from recalled_though_forgotten(bench, stored)
    yield from _leaking(bench, stored)


def _leaking(bench: Bench, stored: Sequence[Memory]) -> Iterator[Finding]:
    session = bench.masker.session()
    for memory in stored:
        for name in ("content", "title", "session_id"):
            text = getattr(memory, name) or ""
            masked = session.mask(text)
            if masked.text != text:
                kind = masked.findings[0].kind
                yield Finding("no_leak", memory.memory_id, f"{name} holds a {kind}")
