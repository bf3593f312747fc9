"""`events` and `mask`: pieces of the pipeline for use in a pipe."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import orjson
import typer

from memclaw_etl.cli.options import HomeOption, IncludeOption, KindArgument, PathArgument, source
from memclaw_etl.cli.show import errors, out, print_json_line, print_text
from memclaw_etl.errors import UsageError
from memclaw_etl.masking.personal import PersonalData

if TYPE_CHECKING:
    from memclaw_etl.service.decoding import DecodedTrail


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command(rich_help_panel="Pieces")(events)
    app.command(rich_help_panel="Pieces")(mask)


def events(
    kind: KindArgument,
    path: PathArgument,
    as_lines: Annotated[
        bool, typer.Option("--json-lines", help="One JSON object per event and line.")
    ] = False,
    include: IncludeOption = None,
    home: HomeOption = None,
) -> None:
    """Decode trails and print their prompts and replies, [bold]unmasked[/bold]; stores nothing.

    Exit code 1 when lines were quarantined (they are no JSON) or a trail could not be read.
    """
    from memclaw_etl.service.decoding import decode_source
    from memclaw_etl.service.home import this_machine
    from memclaw_etl.service.planning import source_of
    from memclaw_etl.settings import load_settings

    machine = this_machine(load_settings(home))
    clean = True
    for trail in decode_source(
        source_of(source(kind, path, tuple(include or ()))), machine12=machine
    ):
        clean = clean and _is_clean(trail)
        for event in trail.events:
            row = {
                "file": trail.path.name, "seq": event.seq, "part": event.part, "ts": event.ts,
                "session_id": event.session_id, "role": event.role, "kind": event.kind,
                "content": event.content,
            }  # fmt: skip
            if as_lines:
                print_json_line(row)
            else:
                out.print(
                    f"{trail.path.name}:{event.seq} {event.ts or 'no time'} {event.kind}",
                    style="dim", markup=False, soft_wrap=True,
                )  # fmt: skip
                print_text(event.content)
    raise typer.Exit(0 if clean else 1)


def _is_clean(trail: "DecodedTrail") -> bool:
    if trail.error is not None:
        errors.print(f"{trail.path.name}: {trail.error}", soft_wrap=True, markup=False)
    for lost in trail.quarantined:
        errors.print(
            f"{trail.path.name}: quarantined at seq {lost.seq}, offset {lost.byte_start}:"
            f" {lost.reason}",
            soft_wrap=True,
        )
    return trail.error is None and not trail.quarantined


def mask(
    personal_data: Annotated[
        PersonalData | None,
        typer.Option(
            help="E-mail addresses, phone numbers, cards, IBANs, national ids: leave them, count"
            " them, or mask them, too. Default: what the settings say.",
        ),
    ] = None,
    home: HomeOption = None,
) -> None:
    """Mask credentials and <private> text: {"id", "text"} per line in, the same and findings out.

    Findings say kind and place in the input, never the text. Personal data that is only to be
    flagged stands under "flagged". Lines end at a newline only.
    """
    from memclaw_etl.masking import open_masker
    from memclaw_etl.settings import load_settings

    settings = load_settings(home)
    masker, policy = open_masker(settings.cache_dir), personal_data
    if policy is None:
        policy = PersonalData(settings.personal_data)
    for row_id, text in _rows():
        masked = masker.session(personal_data=policy).mask(text)
        row = {
            "id": row_id,
            "text": masked.text,
            "findings": [finding._asdict() for finding in masked.findings],
        }
        if policy is PersonalData.FLAG:
            row["flagged"] = [finding._asdict() for finding in masked.flagged]
        sys.stdout.buffer.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
    sys.stdout.buffer.flush()


def _rows() -> Iterator[tuple[object, str]]:
    for number, line in enumerate(sys.stdin.buffer, start=1):
        if not line.strip():
            continue
        try:
            row = orjson.loads(line)
            row_id, text = row["id"], row["text"]
        except (ValueError, KeyError, TypeError):
            row_id, text = None, None
        if not isinstance(text, str):
            sys.stdout.buffer.flush()
            raise UsageError(f'line {number} of the input: expected {{"id": ..., "text": "..."}}')
        yield row_id, text
