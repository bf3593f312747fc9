import re
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from memclaw_etl.masking import open_masker
from memclaw_etl.masking.private import private_spans, without

FRAGMENTS = st.sampled_from(
    [
        "password", "token", "api_key", "secret", "key", " is ", "=", ": ", '"', "'", '\\"', "`", "\n", " ", "|", ",",
        "<private>", "</private>", "<private/>", "://bob:", "@host/", "-----BEGIN RSA PRIVATE " + "KEY-----\n",
        "-----END RSA PRIVATE " + "KEY-----", "Bearer ", "curl -u a:", "--token ", "[MASKED:token:1]", "é", "пароль ", "🔐",
        "kind: Secret\ndata:\n  a: ", "Zx81kQv7Lp20aWn4Rt6Y", "Quartz9!Lamp", "QUJDRDEyMzRlZmdoNTY3OGlqa2w5MDEybW5vcDM0NTY=",
    ]
)  # fmt: skip
TEXTS = st.lists(st.one_of(FRAGMENTS, st.text(max_size=8)), max_size=25).map("".join)
SECRETS = st.from_regex(
    r"[A-Z][a-z]{2}[0-9]{2}[A-Z]{2}[a-z]{2}[0-9]{3}[A-Z][a-z]{3}[0-9]", fullmatch=True
)
CARRIERS = st.sampled_from(
    [
        "PASSWORD={}\n",
        'x = {{"api_key": "{}"}}',
        "amqp://u:{}@h.example:5672/",
        "Authorization: Bearer {}",
        "token: {}\n",
    ]
)


@given(TEXTS)
@settings(max_examples=400, deadline=None)
def test_masking_twice_is_masking_once(text):
    masked = open_masker().session().mask(text).text
    assert open_masker().session().mask(masked).text == masked


@given(TEXTS)
@settings(max_examples=400, deadline=None)
def test_outside_the_findings_nothing_changes(text):
    result = open_masker().session().mask(text)
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
