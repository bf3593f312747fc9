import importlib.util
import sys
from pathlib import Path

import pytest

from memclaw_etl.masking import PersonalData, open_masker

SHARED = Path(__file__).parents[2].parent / "shared" / "masking"


def masked(text, policy=PersonalData.MASK):
    return open_masker().session(personal_data=policy).mask(text)


def kinds(text):
    return [finding.kind for finding in masked(text).findings]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("email", "write to ada.byron+ci@analytical.test."),
        ("email", "?to=ada%40analytical.test&x=1"),
        ("email", "Müller <jörg.müller@größe.test>"),
        ("phone", "reach me under +44 7700 900123"),
        ("phone", "tel: 0171 9876543"),
        ("phone", "ask (212) 555-0147 first"),
        ("phone", "her mobile number is 07700 900456"),
        ("card", "it was 4242 4242 4242 4242"),
        ("card", "amex 378282246310005"),
        ("iban", "DE89 3704 0044 0532 0130 00"),
        ("iban", "to GB29NWBK60161331926819, thanks"),
        ("iban", "LC55HEMM000100010012001200023015"),
        ("us-ssn", "his is 219-45-6789."),
        ("us-ssn", "SSN: 219456789"),
        ("us-itin", "ITIN 912-71-1234"),
        ("uk-nino", "NI number AB 12 34 56 C"),
        ("uk-nino", "NINO: JG103759A"),
        ("es-dni", "DNI 12345678Z"),
        ("es-dni", "DNI 12.345.678-Z"),
        ("es-nie", "NIE X1234567L"),
    ],
)
def test_personal_data_is_masked(kind, text):
    assert kinds(text) == [kind]
    assert f"[MASKED:{kind}:1]" in masked(text).text


@pytest.mark.parametrize(
    "text",
    [
        "git@github.com:acme/reader.git", "ssh deploy@build.example.com", "https://kate@host.test/a",
        "@scope/core@7.4.0", "fastify@18.19.28", "logo@2x.png", "getty@tty1.service", "W@x.shape",
        "noreply@github.com", "1+bot@users.noreply.github.com", "scp x kate@host.test:/srv/a", "@parser.batch",
        "+1700000000", "\n+4915112345678", "x = +1.00000000001", "2026-11-27 10:42:11.123", "10.82.184.163",
        "call 0123456789", "0x4242424242424242", "1.4242424242424242", "id=4242424242424242", "4242 4242 4242 4241",
        "DE88 3704 0044 0532 0130 00", "DE00142427731226840851", "ZZ89370400440532013000",
        "000-45-6789", "666-45-6789", "912-69-1234", "219456789", "BG123456A", "12345678A", "20260301T101500",
        "550e8400-e29b-41d4-a716-446655440000", "c6cbe61f9f0f97b07d60ba98d6562db3967e61c",
    ],
)  # fmt: skip
def test_look_alikes_stay(text):
    assert masked(text).text == text


def test_flagged_data_is_counted_and_stays():
    text = "<private>x</private>ada@analytical.test, DB_PASSWORD=" + "Quartz9!Lamp27"
    result = masked(text, PersonalData.FLAG)
    assert [finding.kind for finding in result.findings] == ["private", "password"]
    [flagged] = result.flagged
    assert text[flagged.start : flagged.end] == "ada@analytical.test"
    assert "ada@analytical.test" in result.text
    assert masked(text, PersonalData.OFF).flagged == ()


def test_what_is_part_of_a_credential_is_not_flagged_too():
    result = masked("API_TOKEN='ada@analytical.test-" + "9fK2LmQ8vR4t'", PersonalData.FLAG)
    assert result.findings
    assert result.flagged == ()


def test_new_marks_follow_those_of_an_earlier_session():
    session = open_masker().session(personal_data=PersonalData.MASK)
    session.continue_after(["a [MASKED:email:4] [MASKED:email:2]"])
    assert session.mask("ada@analytical.test").text == "[MASKED:email:5]"


@pytest.mark.skipif(not SHARED.is_dir(), reason="the yardstick is not here")
def test_yardstick():
    sys.dont_write_bytecode = True
    spec = importlib.util.spec_from_file_location("score_masking", SHARED / "score_masking.py")
    scorer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(scorer)
    rows = scorer.load(SHARED / "PII.jsonl")
    figures = scorer.score(
        rows, [{"id": row["id"], "text": masked(row["text"]).text} for row in rows]
    )
    assert figures["recall_texts"] >= 98
    assert figures["false_positive_rate"] <= 3
    assert figures["over_masking"] <= 1
