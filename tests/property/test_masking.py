import random
import re
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from memclaw_etl.masking import PersonalData, open_masker
from memclaw_etl.masking.private import private_spans, without

FRAGMENTS = st.sampled_from(
    [
        "password", "token", "api_key", "secret", "key", " is ", "=", ": ", '"', "'", '\\"', "`", "\n", " ", "|", ",",
        "<private>", "</private>", "<private/>", "://bob:", "@host/", "-----BEGIN RSA PRIVATE " + "KEY-----\n",
        "-----END RSA PRIVATE " + "KEY-----", "Bearer ", "curl -u a:", "--token ", "[MASKED:token:1]", "é", "пароль ", "🔐",
        "ada@analytical.test", "+44 7700 900123", "4242 4242 4242 4242", "DE89370400440532013000", "219-45-6789",
        "X1234567L", "@", "+", "4242", "-", "kind: Secret\ndata:\n  a: ", "Zx81kQv7Lp20aWn4Rt6Y", "Quartz9!Lamp", "QUJDRDEyMzRlZmdoNTY3OGlqa2w5MDEybW5vcDM0NTY=",
    ]
)  # fmt: skip
TEXTS = st.lists(st.one_of(FRAGMENTS, st.text(max_size=8)), max_size=25).map("".join)


def drawn(number: int) -> str:
    """A secret as generators make them; hypothesis alone would shrink it to a stand-in."""
    chance = random.Random(number)
    pairs = [
        chance.choice("bcdfgkmpqrtvwyzBCDFGKMPQRTVWYZ") + chance.choice("23456789")
        for _ in range(9)
    ]
    return "".join(pairs) + chance.choice("kqz")


SECRETS = st.integers(0, 2**32).map(drawn)
CARRIERS = st.sampled_from(
    [
        "PASSWORD={}\n",
        'x = {{"api_key": "{}"}}',
        "amqp://u:{}@h.example:5672/",
        "Authorization: Bearer {}",
        "token: {}\n",
    ]
)


POLICIES = st.sampled_from(PersonalData)


@given(TEXTS, POLICIES)
@settings(max_examples=400, deadline=None)
def test_masking_twice_is_masking_once(text, policy):
    masked = open_masker().session(personal_data=policy).mask(text).text
    assert open_masker().session(personal_data=policy).mask(masked).text == masked


@given(TEXTS, POLICIES)
@settings(max_examples=400, deadline=None)
def test_outside_the_findings_nothing_changes(text, policy):
    result = open_masker().session(personal_data=policy).mask(text)
    kept, at = [], 0
    for finding in result.findings:
        assert at <= finding.start < finding.end <= len(text)
        kept.append(text[at : finding.start])
        at = finding.end
    kept.append(text[at:])
    position = 0
    for part in kept:
        found = result.text.find(part, position)
        assert found >= 0
        position = found + len(part)
    if not result.findings:
        assert result.text == text


@given(st.text(max_size=40), SECRETS, CARRIERS, st.text(max_size=40))
@settings(max_examples=300, deadline=None)
def test_planted_secrets_never_survive(before, secret, carrier, after):
    text = f"{before}\n{carrier.format(secret)}\n{after}"
    assert secret not in open_masker().session().mask(text).text


@given(TEXTS)
@settings(max_examples=300, deadline=None)
def test_no_tag_is_left_after_stripping(text):
    spans, _ = private_spans(text)
    assert all(a < b for a, b in spans)
    assert all(first[1] <= second[0] for first, second in pairwise(spans))
    if "<" not in without(text, spans):
        assert not re.search("<private>", without(text, spans))
