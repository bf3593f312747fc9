"""Which columns of the stage files hold text: what is masked, checked and masked again."""

from collections.abc import Mapping

from memclaw_etl.lake.ledger import Stage

TEXT_COLUMNS: Mapping[Stage, tuple[str, ...]] = {
    Stage.MASKED_CHUNKS: ("content", "tool", "outcome", "session_id", "kind"),
    Stage.MINI_REPORTS: ("summary", "rationale", "alternative", "session_id"),
    Stage.MERGED_REPORT: ("content", "title", "session_id"),
}
