"""All rules, family by family."""

from memclaw_etl.masking import (
    assignments,
    blobs,
    commands,
    headers,
    layouts,
    private_keys,
    prose,
    tokens,
    urls,
)
from memclaw_etl.masking.rule import Rule

RULES: tuple[Rule, ...] = (
    *tokens.RULES,
    *assignments.RULES,
    *urls.RULES,
    *headers.RULES,
    *private_keys.RULES,
    *commands.RULES,
    *prose.RULES,
    *layouts.RULES,
    *blobs.RULES,
)
