"""One event per identity over the whole store: any order of files, any interleaving of windows.

Invented sessions are forked, resumed and compacted (history is written again under the same uuid);
files appear and grow in any order, windows are cut at any size, some are skipped before they were
masked. Every event is owned exactly once, every copy is counted, and lineage finds it.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memclaw_etl.lake.ledger import Ledger, WindowState, nodes, pins, windows
from memclaw_etl.settings import Limits
from memclaw_etl.trails.discovery import Source
from memclaw_etl.trails.events import TrailKind
from memclaw_etl.windows.read import read_window
from tests.conftest import Clock, opened_without_fsync
from tests.trail_lines import joined, prompt, reply
from tests.watching import Watched

CASE = Path(__file__).parents[2].parent / "shared/cases/06-fork-resume-and-replayed-history"


@st.composite
def families(draw: st.DrawFn) -> dict[str, list[dict[str, Any]]]:
    """Files of sessions that share history."""
    number = iter(range(10_000))
    files: dict[str, list[dict[str, Any]]] = {}
    for name in ("a", "b", "c")[: draw(st.integers(2, 3))]:
        lines: list[dict[str, Any]] = []
        if files and draw(st.booleans()):
            parent = files[draw(st.sampled_from(sorted(files)))]
            lines += parent[: draw(st.integers(0, len(parent)))]
        for _ in range(draw(st.integers(1, 5))):
            at = next(number)
            make = prompt if at % 2 == 0 else reply
            lines.append(make(f"said {at}", at, sessionId=name))
        if draw(st.booleans()):
            lines += lines[: draw(st.integers(0, len(lines)))]
            lines.append(prompt(f"said {at} after", next(number), sessionId=name))
        files[name] = lines
    return files


def identities(files: dict[str, list[dict[str, Any]]]) -> dict[str, str]:
    return {
        f"uuid:{line['uuid']}": line["message"]["content"]
        if isinstance(line["message"]["content"], str)
        else line["message"]["content"][0]["text"]
        for lines in files.values()
        for line in lines
    }


def owned(ledger: Ledger) -> list[tuple[str, str]]:
    """(identity, text) of every owned event, read from the trails as the stage reads them."""
    found = []
    with ledger.read() as tx:
        for node in nodes.all_nodes(tx):
            for window in windows.of_node(tx, node.tenant_id, node.node_id, node.epoch):
                if window.state is WindowState.SKIPPED:
                    continue
                mine = pins.owned_events(tx, window.window_id)
                events = {(e.seq, e.part): e for e in read_window(node, window).events}
                found += [(mine[ref], events[ref].content) for ref in mine]
    return found


@settings(max_examples=40, deadline=None)
@given(families(), st.data())
def test_every_event_is_owned_once_whatever_the_order(
    files: dict[str, list[dict[str, Any]]], data: st.DataObject
) -> None:
    limits = Limits(window_events=data.draw(st.integers(1, 4)), trickle_events=1)
    with tempfile.TemporaryDirectory() as folder:
        ledger = opened_without_fsync(f"sqlite:///{folder}/ledger.sqlite", Clock())
        watched = Watched(ledger, Clock(), Path(folder) / "t", limits)
        written = dict.fromkeys(files, 0)
        while any(written[name] < len(files[name]) for name in files):
            name = data.draw(st.sampled_from([n for n in files if written[n] < len(files[n])]))
            until = data.draw(st.integers(written[name] + 1, len(files[name])))
            watched.write(f"p/{name}.jsonl", joined(files[name][:until]))
            written[name] = until
            watched.look(flush=data.draw(st.booleans()))
        watched.look(flush=True)
        found = owned(ledger)
        assert len(found) == len(dict(found))
        assert dict(found) == identities(files)
        told = sum(len(lines) for lines in files.values())
        every = [one for name in files for one in watched.windows(name)]
        replays = sum(one.replayed + one.noise.get("replayed", 0) for one in every)
        assert sum(one.events for one in every) + replays == told
        ledger.engine.dispose()


@settings(max_examples=25, deadline=None)
@given(families(), st.data())
def test_a_skipped_owner_passes_its_events_on(
    files: dict[str, list[dict[str, Any]]], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        ledger = opened_without_fsync(f"sqlite:///{folder}/ledger.sqlite", Clock())
        watched = Watched(ledger, Clock(), Path(folder) / "t", Limits(window_events=2))
        for name, lines in files.items():
            watched.write(f"p/{name}.jsonl", joined(lines))
        watched.look(flush=True)
        every = [one for name in files for one in watched.windows(name)]
        lost = data.draw(st.sampled_from([one for one in every if one.events]))
        with ledger.write() as tx:
            windows.set_state(
                tx, [lost.window_id], WindowState.SKIPPED, only_from=[WindowState.PINNED]
            )
            pins.pass_on_claims(tx, [lost.window_id])
        kept = {
            identity
            for name in files
            for one in watched.windows(name)
            if one.window_id != lost.window_id
            for identity in told_in(watched, name, one)
        }
        found = owned(ledger)
        assert len(found) == len(dict(found))
        assert set(dict(found)) == kept
        ledger.engine.dispose()


def told_in(watched: Watched, name: str, window: Any) -> set[str]:
    return {event.identity for event in read_window(watched.node(name), window).events}


@pytest.mark.skipif(not CASE.is_dir(), reason="shared cases are not here")
@settings(max_examples=30, deadline=None)
@given(st.permutations(["1", "2", "3"]), st.integers(1, 4), st.booleans())
def test_case_06_is_seven_events_in_any_order(
    order: list[str], cap: int, line_by_line: bool
) -> None:
    expected = json.loads((CASE / "expected.json").read_text())
    with tempfile.TemporaryDirectory() as folder:
        ledger = opened_without_fsync(f"sqlite:///{folder}/ledger.sqlite", Clock())
        limits = Limits(window_events=cap, trickle_events=1)
        watched = Watched(ledger, Clock(), Path(folder) / "t", limits)
        for number in order:
            path = next((CASE / "in").glob(f"*{number}.jsonl"))
            lines = path.read_bytes().splitlines(keepends=True)
            for count in range(1 if line_by_line else len(lines), len(lines) + 1):
                watched.write(f"p/{path.name}", b"".join(lines[:count]))
                watched.look(flush=True)
        found = owned(ledger)
        assert len(found) == len(dict(found)) == expected["total_events"]
        assert sorted(text for _, text in found) == sorted(e["text"] for e in expected["events"])
        with ledger.read() as tx:
            copies = pins.copies_of(tx, "default", [identity for identity, _ in found])
        assert {identity for identity, *_ in copies} == {
            "uuid:aaaaaaaa-0000-4000-8000-000000000001",
            "uuid:aaaaaaaa-0000-4000-8000-000000000002",
        }
        ledger.engine.dispose()


def test_sources_of_the_property_are_what_they_seem() -> None:
    """A guard for the test itself: families do share history."""
    shared = []

    @settings(max_examples=30, database=None)
    @given(families())
    def collect(files: dict[str, list[dict[str, Any]]]) -> None:
        shared.append(sum(map(len, files.values())) - len(identities(files)))

    collect()
    assert any(shared)
    assert Source(TrailKind.CLAUDE_CODE, Path("/x")).tenant_id == "default"
