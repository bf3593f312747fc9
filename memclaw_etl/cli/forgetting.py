"""`forget`, `decisions` and `undo`."""

from typing import TYPE_CHECKING, Annotated

import typer

from memclaw_etl.cli.options import (
    DEFAULT,
    HomeOption,
    JsonOption,
    ReaderOption,
    ReadTenantOption,
    TenantOption,
    me,
    open_bench,
    open_granted,
)
from memclaw_etl.cli.show import out, print_json, print_text

if TYPE_CHECKING:
    from memclaw_etl.service.forget_preview import Preview
    from memclaw_etl.stages.bench import Bench


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command(rich_help_panel="Decide")(forget)
    app.command(rich_help_panel="Decide")(decisions)
    app.command(rich_help_panel="Decide")(undo)


def forget(
    memory_id: Annotated[str, typer.Argument(metavar="MEMORY_ID", help="As `recall` shows it.")],
    reason: Annotated[str, typer.Option("--reason", help="Why; it is recorded.")] = "",
    erase: Annotated[
        bool, typer.Option("--erase", help="Take its text out of every store as well.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would go, and change nothing.")
    ] = False,
    tenant: TenantOption = DEFAULT,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Forget a memory for good, in any wording: nothing that rests on the same events comes back.

    There is no way back; --dry-run says before what would go, other memories included.

    With --erase its text also leaves stage files, cached answers, old versions of the index and the
    ledger's file, and so does every message that repeats it. The trail itself is never written to:
    the command names the files that still hold it. A memory that is forgotten already can be erased
    later.
    """
    if dry_run:
        _preview(open_bench(home), memory_id, tenant=tenant, erase=erase, as_json=as_json)
        return
    from memclaw_etl.service.forgetting import forget as forget_memory

    done = forget_memory(open_bench(home), memory_id, tenant_id=tenant, reason=reason, erase=erase)
    if as_json:
        print_json(done)
        return
    out.print(
        f"{memory_id} is forgotten, with {done.events} events; {done.memories_gone} memories left"
        " the index",
        markup=False,
        soft_wrap=True,
    )
    if done.erased:
        out.print(
            f"erased: {done.files_rewritten} files rewritten, {done.files_removed} old files and"
            f" {done.answers_removed} cached answers removed",
            soft_wrap=True,
        )
        out.print(
            "not erased, since nobody but their owner writes to them: backups, what a model was"
            " sent, and",
            soft_wrap=True,
        )
        for path in done.not_erased:
            print_text(path, indent=2)


def _preview(bench: "Bench", memory_id: str, *, tenant: str, erase: bool, as_json: bool) -> None:
    from memclaw_etl.service.forget_preview import preview_erase, preview_forget

    look = preview_erase if erase else preview_forget
    found = look(bench, memory_id, tenant_id=tenant)
    if as_json:
        print_json(found)
        return
    for one in found.memories:
        out.print(f"would go: {one.memory_id} ({one.why})", markup=False, soft_wrap=True)
        print_text(one.content, indent=3)
    for changed in found.memories_changed:
        out.print(f"would change: {changed}", markup=False, soft_wrap=True)
    out.print(
        f"{len(found.memories)} memories would go and {len(found.memories_changed)} change;"
        f" {found.events} events of {len(found.windows)} windows would lie under the tombstone",
        soft_wrap=True,
    )
    if erase:
        _preview_erase(found)
    out.print("never written to, and holding it still:" if found.trails else "no trail holds it")
    for path in found.trails:
        print_text(path, indent=2)
    out.print("nothing was changed; there is no way back from a forget")


def _preview_erase(found: "Preview") -> None:
    for file in found.files:
        out.print(f"would be rewritten: {file.path}", markup=False, soft_wrap=True)
    out.print(f"{len(found.files)} files would be rewritten, {found.answers} answers removed")


def decisions(
    reader: ReaderOption = None,
    tenant: ReadTenantOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """List what was decided about statements: joined, replaced, contradicted, and by what rule."""
    from memclaw_etl.service.relations import decided

    found = decided(*open_granted(home, reader=reader, tenant=tenant))
    if as_json:
        print_json(found)
        return
    for one in found:
        state = " (undone)" if one.undone else ""
        out.print(f"[bold]{one.decision_id}[/bold] {one.outcome}: {one.reason}{state}")
        for text in one.statements:
            print_text(text, indent=3)


def undo(
    decision_id: Annotated[
        str, typer.Argument(metavar="DECISION_ID", help="As `decisions` shows it.")
    ],
    reason: Annotated[str, typer.Option("--reason", help="Why; it is recorded.")],
    back: Annotated[bool, typer.Option("--back", help="Take an earlier undo back.")] = False,
    tenant: TenantOption = DEFAULT,
    home: HomeOption = None,
) -> None:
    """Let two statements stand side by side that were joined, replaced or contradicted.

    It holds for these two texts in every re-run, backfill and rebuild.
    """
    from memclaw_etl.service.relations import undo as undo_relation

    changed = undo_relation(
        open_bench(home), decision_id, tenant_id=tenant, reason=reason, actor=me(), back=back
    )
    out.print(f"{decision_id}: {changed} memories changed", markup=False, soft_wrap=True)
