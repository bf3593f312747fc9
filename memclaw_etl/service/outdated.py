"""Which stored texts were masked by other rules than today's."""

from collections import Counter

from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.remask import due_files


def outdated_windows(bench: Bench) -> dict[str, int]:
    """Count windows by the version that masked them, where it is not today's (or a laxer policy).

    This is no finding of an audit, which looks at every text with today's rules anyway: such texts
    may well be clean. `remask` brings them up to date.
    """
    with bench.ledger.read() as tx:
        found = {
            (window.window_id, str(file.counts.get("masker_version", "unknown")))
            for window, file in due_files(bench, tx)
        }
    return dict(sorted(Counter(version for _, version in found).items()))
