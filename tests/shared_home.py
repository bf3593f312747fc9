"""A home that two tenants share, each with three namespaces whose every text can be told."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from memclaw_etl.lake.ledger import Stage
from memclaw_etl.service import planning
from memclaw_etl.service.home import open_home
from memclaw_etl.settings import SourceSettings, load_settings
from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.run import RunRequest, take, work
from tests.trail_lines import joined, prompt, reply

TENANTS = {"acme": ("red", "green", "blue"), "Acme": ("red", "green", "violet")}
"""Names that differ in case alone, and namespaces of which two have the same name in both."""
SCOPES = tuple((tenant, one) for tenant, names in TENANTS.items() for one in names)
READERS = {
    "red-agent": ("acme", ("red",)),
    "warm-agent": ("acme", ("red", "green")),
    "violet-agent": ("Acme", ("violet",)),
    "everything-agent": ("Acme", None),
    "waiting-agent": ("acme", ("orange",)),
}


def mark(tenant: str, namespace: str) -> str:
    """A word that stands in the texts of one scope alone, also when it is stemmed."""
    number = SCOPES.index((tenant, namespace))
    return f"zq{'bcdfgh'[number] * 3}x"


def foreign_marks(tenant: str, namespaces: tuple[str, ...] | None) -> list[str]:
    """The words that a reader must never see."""
    own = {(tenant, one) for one in namespaces or TENANTS[tenant]}
    return [mark(*scope) for scope in SCOPES if scope not in own]


@dataclass(frozen=True)
class SharedHome:
    bench: Bench
    path: Path


def made(folder: Path) -> SharedHome:
    """Make the home, and do everything that is owed."""
    sources = []
    for tenant, namespaces in TENANTS.items():
        root = folder / f"trails-{tenant.encode().hex()}"
        root.mkdir()
        sources.append(SourceSettings(kind="claude_code", root=root, tenant_id=tenant))
        for number, namespace in enumerate(namespaces):
            _write_trail(root, tenant, namespace, number)
        _write_moving_trail(root, tenant)
    settings = folder / "home" / "memclaw.toml"
    settings.parent.mkdir()
    settings.write_text("\n".join(_settings()))
    bench = open_home(load_settings(folder / "home", sources=sources))
    _run(bench)
    return SharedHome(bench, folder / "home")


def _settings() -> Iterator[str]:
    for namespace in sorted({one for _, one in SCOPES}):
        yield f'[[namespaces]]\npath = "/srv/{namespace}"\nnamespace = "{namespace}"'
    for reader, (tenant, namespaces) in READERS.items():
        yield f'[[grants]]\nreader = "{reader}"\ntenant_id = "{tenant}"'
        if namespaces is not None:
            yield f"namespaces = {list(namespaces)}"


def _write_trail(root: Path, tenant: str, namespace: str, number: int) -> None:
    """A decision, its change, a preference; and two lines of which every trail holds a copy."""
    word, at = mark(tenant, namespace), 10 * number
    told = [
        prompt("What shall everybody do about the changelog?", 900),
        reply("Decision: the changelog is written in English because all can read it.", 901),
        prompt(f"What shall we use for the {word} queue?", at),
        reply(f"Decision: we use Redis for the {word} queue because it is simpler.", at + 1),
        prompt(f"And for the {word} queue since yesterday? I prefer plain {word} tools.", at + 2),
        reply(f"Decision: we use Kafka for the {word} queue because it is simpler.", at + 3),
    ]
    session = f"{number}1111111-2222-4333-8444-555555555555"
    lines = [{**one, "cwd": f"/srv/{namespace}", "sessionId": session} for one in told]
    (root / f"{word}-trail.jsonl").write_bytes(joined(lines))


def _write_moving_trail(root: Path, tenant: str) -> None:
    """A trail that goes from one project into another, between two windows of 400 events."""
    first, last = TENANTS[tenant][1], TENANTS[tenant][0]
    lines = []
    for number in range(300):
        namespace = first if number < 200 else last
        word, at = mark(tenant, namespace), 3000 + 2 * number
        text = f"Note {number}: the {word} export takes {number + 100} s, so we wait for it."
        told = [prompt(f"How long is the {word} export {number}?", at), reply(text, at + 1)]
        lines += [{**one, "cwd": f"/srv/{namespace}"} for one in told]
    (root / "moving-trail.jsonl").write_bytes(joined(lines))


def _run(bench: Bench) -> None:
    planning.look(bench, flush=True)
    due = planning.owed(bench, limit=100)
    batch = planning.ask(bench, due, asked_by="test")
    request = RunRequest("run-1", batch.batch_id, batch.partition_keys, False)
    for stage in tuple(Stage):
        report = work(bench, stage, request, take(bench, request))
        assert not report.failed
