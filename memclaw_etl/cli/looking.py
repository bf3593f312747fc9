"""`status`, `lineage`, `audit`, `sql` and `doctor`."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from memclaw_etl.cli.embedding import warn_of_other_index
from memclaw_etl.cli.options import (
    HomeOption,
    IncludeOption,
    JsonOption,
    KindArgument,
    PathArgument,
    ReaderOption,
    ReadTenantOption,
    open_bench,
    open_granted,
    source,
)
from memclaw_etl.cli.show import (
    errors,
    one_line,
    out,
    print_json,
    print_records,
    print_table,
    print_text,
)
from memclaw_etl.errors import UsageError

if TYPE_CHECKING:
    from memclaw_etl.service.lineage import Lineage, Step
    from memclaw_etl.service.status import NodeStatus
    from memclaw_etl.trails.doctor import DoctorReport

TEXT_CHARS = 300


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command(rich_help_panel="Look")(status)
    app.command(rich_help_panel="Look")(lineage)
    app.command(rich_help_panel="Look")(audit)
    app.command(rich_help_panel="Look")(sql)
    app.command(rich_help_panel="Look")(doctor)


def status(
    tenant: Annotated[
        str | None, typer.Option("--tenant", help="Only nodes of this tenant; without it of all.")
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show where every node stands: what is read, done, held, failed, and what is wrong."""
    from memclaw_etl.service.grants import grant_for
    from memclaw_etl.service.status import status as node_status

    bench = open_bench(home)
    warn_of_other_index(bench)
    if tenant is not None:
        grant_for(bench, reader=None, tenant_id=tenant)  # refuses one that there is not
    rows = node_status(bench, tenant_id=tenant)
    if as_json:
        print_json(rows)
        return
    if not rows:
        errors.print("no nodes yet: memclaw-etl run --source KIND=PATH")
        return
    print_nodes(rows)
    for row in rows:
        if row.problem:
            errors.print(f"[yellow]{row.problem_code}[/yellow] {escape(row.problem)}")
        if row.unknown:
            kinds = ", ".join(
                f"{kind.removeprefix('unknown:')} ({count})" for kind, count in row.unknown.items()
            )
            errors.print(f"[yellow]unknown lines[/yellow] node {escape(f'{row.node_id}: {kinds}')}")


def print_nodes(rows: "Sequence[NodeStatus]") -> None:
    """Where nodes stand; what is zero or empty for all of them has no column."""
    columns: dict[str, list[object]] = {
        "node": [row.node_id for row in rows],
        "last_seq": [row.last_seq for row in rows],
        "head_seq": [row.head_seq for row in rows],
        "committed": [row.committed for row in rows],
        "items": [row.items for row in rows],
        "masked": [row.masked_spans for row in rows],
    }
    seldom: dict[str, list[object]] = {
        "lag": [row.lag for row in rows],
        "held": [row.held for row in rows],
        "owed": [row.owed for row in rows],
        "failed": [row.failed for row in rows],
        "quarantined": [row.quarantined for row in rows],
        "skipped": [row.skipped for row in rows],
        "problem": [row.problem_code for row in rows],
    }
    columns |= {name: values for name, values in seldom.items() if any(values)}
    print_table("", list(columns), zip(*columns.values(), strict=True))


def lineage(
    memory_id: Annotated[str, typer.Argument(help="As `recall` and `memories` print it.")],
    reader: ReaderOption = None,
    tenant: ReadTenantOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Trace a memory to its report item, chunk and trail lines, with all versions."""
    from memclaw_etl.service.lineage import lineage as trace

    bench, grant = open_granted(home, reader=reader, tenant=tenant)
    traced = trace(bench, grant, memory_id)
    if as_json:
        print_json(traced.as_json())
    else:
        _print_lineage(traced)


def _print_lineage(traced: "Lineage") -> None:
    memory = traced.memory
    out.print(f"[bold]memory[/bold] {memory.memory_id} ({memory.memory_type}, {memory.status})")
    print_text(memory.content, indent=2)
    for step in traced.steps:
        out.print(
            f"[bold]item[/bold] {step.item_id} ({step.section})\n"
            f"  said by {step.interviewer}, version {step.prompt_version},"
            f" model {step.model or 'none'}, masker {step.masker_version}\n"
            f"[bold]window[/bold] {escape(step.partition_key)} ({step.window_state})\n"
            f"  {step.attempt_id}\n  trail sha256 {step.trail_sha256[:12]}\n"
            f"[bold]chunk[/bold] {step.chunk_index} of {step.chunk_file}",
            soft_wrap=True,
        )
        _print_lines(step)


def _print_lines(step: "Step") -> None:
    for line in step.lines:
        when = f"{line.ts:%Y-%m-%d %H:%M:%S}" if line.ts else "no time"
        copies = f" [dim](also at {escape(', '.join(line.copies))})[/dim]" if line.copies else ""
        out.print(
            f"[bold]line[/bold] {escape(line.file)}:{line.seq} {when} {line.role}{copies}",
            soft_wrap=True,
        )
        text = " ".join(one_line(line.text).split())
        print_text(text if len(text) <= TEXT_CHARS else f"{text[: TEXT_CHARS - 1]}…", indent=2)


def audit(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Re-derive and compare: gaps, duplicates, leaks, grounding, watermarks.

    Exit code 1 when something was found. Texts that older rules masked are no finding, but noted:
    every text is looked at with today's rules anyway.
    """
    from memclaw_etl.service.audit import audit as audit_home
    from memclaw_etl.service.outdated import outdated_windows

    bench = open_bench(home)
    findings = audit_home(bench)
    notes = [
        f"{count} windows were masked by rules {version}: `memclaw-etl remask` masks them again"
        for version, count in outdated_windows(bench).items()
    ]
    for note in notes:
        errors.print(f"note: {note}", soft_wrap=True)
    if as_json:
        found = {"findings": [asdict(finding) for finding in findings]}
        print_json(found | ({"notes": notes} if notes else {}))
    elif findings:
        print_table(
            "findings", ["check", "where", "what"],
            ((one.check, one.where, one.message) for one in findings),
        )  # fmt: skip
    else:
        out.print("audit: no finding")
    raise typer.Exit(1 if findings else 0)


def sql(
    statement: Annotated[str, typer.Argument(help="DuckDB SQL, read-only.")],
    all_tenants: Annotated[
        bool,
        typer.Option(
            "--all-tenants", help="Everybody's rows, and the tables of the home itself: operators."
        ),
    ] = False,
    reader: ReaderOption = None,
    tenant: ReadTenantOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask with SQL across ledger, stage files and memories, also while a run is writing.

    Views hold the rows of one tenant; as a reader of some namespaces, theirs. No file can be read
    around them.

    Of the ledger: nodes, windows, watermarks, batches, decisions, reinterviews, governed_items,
    retention_cutoffs.

    Of the stages: chunks, mini_reports, items; of the index: memories.

    With --all-tenants also: breakers, leases, model_spending, model_jobs.

    A terminal shows what fits; a pipe and --json give all.
    """
    from memclaw_etl.service import sql as service

    if all_tenants and (reader is not None or tenant is not None):
        raise UsageError("--all-tenants is for the operator: leave out --as and --tenant")
    if all_tenants:
        frame = service.sql_over_everything(open_bench(home), statement)
    else:
        bench, grant = open_granted(home, reader=reader, tenant=tenant)
        frame = service.sql(bench, grant, statement)
    if as_json:
        print_json(frame.to_dicts())
    else:
        print_table("", frame.columns, frame.iter_rows())


def doctor(
    kind: KindArgument,
    path: PathArgument,
    include: IncludeOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what is in trails, without their content: what to send when one reads wrong.

    Exit code 1 when a line could not be parsed or a trail could not be read.
    """
    from memclaw_etl.service.home import this_machine
    from memclaw_etl.service.planning import source_of
    from memclaw_etl.settings import load_settings
    from memclaw_etl.trails.doctor import examine

    machine = this_machine(load_settings(home))
    report = examine(source_of(source(kind, path, tuple(include or ()))), machine12=machine)
    if as_json:
        print_json(report)
    else:
        _print_doctor(report)
    raise typer.Exit(0 if report.is_clean else 1)


def _print_doctor(report: "DoctorReport") -> None:
    print_records(
        ["file", "lines", "versions", "line types", "events", "noise", "unknown", "quarantined"],
        (
            (
                file.path.name, file.lines, _counts(file.versions), _counts(file.line_types),
                _counts(file.events), _counts(file.noise), _counts(file.unknown),
                file.error or len(file.quarantined),
            )
            for file in report.files
        ),
    )  # fmt: skip
    for file in report.files:
        for lost in file.quarantined:
            out.print(
                f"{file.path.name}: seq {lost.seq}, offset {lost.byte_start},"
                f" {lost.length_bytes} bytes: {lost.reason}"
            )
    for _, problem in report.problems:
        out.print(problem, markup=False, soft_wrap=True)
    if report.skipped:
        out.print(f"passed over: {_counts(report.skipped)}")


def _counts(counts: object) -> str:
    if not isinstance(counts, dict):
        return ""
    return ", ".join(f"{name} {count}" for name, count in counts.items())
