import importlib.util
import sys
from pathlib import Path

import pytest

from memclaw_etl.masking import open_masker

SHARED = Path(__file__).parents[2].parent / "shared" / "masking"

pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="the yardstick is not here")


@pytest.fixture(scope="module")
def figures():
    sys.dont_write_bytecode = True
    spec = importlib.util.spec_from_file_location("score_masking", SHARED / "score_masking.py")
    scorer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(scorer)
    rows = scorer.load(SHARED / "LABELS.jsonl")
    masker = open_masker()
    masked = [{"id": row["id"], "text": masker.session().mask(row["text"]).text} for row in rows]
    return scorer.score(rows, masked)


def test_recall(figures):
    assert figures["recall_texts"] >= 95
    assert figures["recall_family_macro"] >= 94
    by_source = {name: row["recall_texts"] for name, row in figures["source"].items()}
    least = {"handmade": 97, "gitleaks": 97, "detect-secrets": 85, "credsweeper": 85}
    assert {name: value for name, value in by_source.items() if value < least[name]} == {}


def test_what_is_no_credential_stays(figures):
    assert figures["false_positive_rate"] <= 0.3
    assert figures["over_masking"] <= 1
