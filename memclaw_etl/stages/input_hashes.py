"""Input hashes of files that were rewritten without doing their stages: masked again, or erased."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from memclaw_etl.lake.ledger import Stage, StageFile, Window
from memclaw_etl.stages import interview, mask, merge
from memclaw_etl.stages.bench import Bench
from memclaw_etl.windows.namespaces import namespace_of

Files = Mapping[Stage, StageFile]
_Ref = tuple[int, int]


def with_hashes(
    bench: Bench, window: Window, owned: Sequence[_Ref], before: Files, after: Files
) -> dict[Stage, StageFile]:
    """The files with the input hashes that a run would give them now.

    Where a file's hash was another one before, it stays: that stage is to be done again.

    Args:
        bench: the stores.
        window: whose files these are.
        owned: (seq, part) of the events that the window owns.
        before: the files that the ledger names.
        after: the files in their place.
    """
    old, new = _hashes(bench, window, owned, before), _hashes(bench, window, owned, after)
    return {
        stage: replace(
            file,
            input_hash=new[stage]
            if before[stage].input_hash == old.get(stage)
            else file.input_hash,
            created_at=bench.ledger.now(),
        )
        for stage, file in after.items()
    }


def _hashes(bench: Bench, window: Window, owned: Sequence[_Ref], files: Files) -> dict[Stage, str]:
    """What a run would compute for files with these counts and contents."""
    found: dict[Stage, str] = {}
    chunks, reports = files.get(Stage.MASKED_CHUNKS), files.get(Stage.MINI_REPORTS)
    if chunks is not None:
        found[Stage.MASKED_CHUNKS] = mask.input_hash_of(
            window, owned, bench.settings.limits, **_rules(chunks)
        )
    if chunks is not None and reports is not None:
        said = reports.counts
        found[Stage.MINI_REPORTS] = interview.input_hash_of(
            chunks.content_hash, said["interviewer"], said["prompt_version"], said["model"],
            **_rules(reports),
        )  # fmt: skip
    if reports is not None and Stage.MERGED_REPORT in files:
        found[Stage.MERGED_REPORT] = merge.input_hash_of(
            reports.content_hash, namespace_of(window.project, bench.settings.namespaces),
            **_rules(files[Stage.MERGED_REPORT]),
        )  # fmt: skip
    return found


def _rules(file: StageFile) -> dict[str, str]:
    return {name: str(file.counts.get(name)) for name in ("masker_version", "personal_data")}
