"""Credentials and private text are taken out of a message before anything else sees it."""

from memclaw_etl.masking.findings import Finding, Masked
from memclaw_etl.masking.masker import Masker, MaskSession, open_masker
from memclaw_etl.masking.personal import PersonalData
from memclaw_etl.masking.private import (
    Stripped,
    private_spans,
    strip_private,
    strip_private_blocks,
)
from memclaw_etl.masking.repeats import KnownSecrets, is_distinct
from memclaw_etl.masking.version import MASKER_VERSION

__all__ = [
    "MASKER_VERSION",
    "Finding",
    "KnownSecrets",
    "MaskSession",
    "Masked",
    "Masker",
    "PersonalData",
    "Stripped",
    "is_distinct",
    "open_masker",
    "private_spans",
    "strip_private",
    "strip_private_blocks",
]
