"""All rules, family by family."""

from memclaw_etl.masking import assignments
from memclaw_etl.masking.rule import Rule

RULES: tuple[Rule, ...] = (*assignments.RULES,)
