"""Every credential here is invented and put together at run time."""

import random
import string
import sys

import pytest

from memclaw_etl.masking import open_masker
from tests.bench.hostile import HOSTILE, hostile_text

RANDOM = random.Random(7)
MIXED = string.ascii_letters + string.digits


def drawn(length, alphabet=MIXED):
    while True:
        value = "".join(RANDOM.choice(alphabet) for _ in range(length))
        if sum(c.isdigit() for c in value) >= 2 or not set(string.digits) & set(alphabet):
            return value


def mask(text):
    return open_masker().session().mask(text).text


TOKENS = {
    "aws": "AK" + "IA" + drawn(16, string.ascii_uppercase + "234567"),
    "git": "gh" + "p_" + drawn(36),
    "gitlab": "glp" + "at-" + drawn(20),
    "model": "sk-" + "ant-api03-" + drawn(60),
    "slack": "xo" + "xb-" + drawn(12, string.digits) + "-" + drawn(24),
    "payment": "sk_" + "live_" + drawn(24),
    "vault": "hv" + "s." + drawn(40),
    "mail": "S" + "G." + drawn(22) + "." + drawn(43),
    "jwt": "ey" + "J" + drawn(30) + "." + "ey" + "J" + drawn(40) + "." + drawn(43),
    "chat bot": drawn(9, string.digits) + ":" + drawn(35),
}


@pytest.mark.parametrize("name", TOKENS)
@pytest.mark.parametrize(
    "carrier", ["{}", "see {} there", '{{"x":"{}"}}', "a\\n{}\\nb", "+{}\n", "`{}`,"]
)
def test_tokens_go_by_their_shape(name, carrier):
    assert TOKENS[name] not in mask(carrier.format(TOKENS[name]))


CONTEXTS = [
    "PASSWORD={}",
    "db_password: '{}'",
    '{{"adminPassword": "{}", "n": 1}}',
    '"{{\\"api_key\\":\\"{}\\",\\"n\\":1}}"',
    "postgres://app:{}@db.internal:5432/main",
    "curl -u bot:{} https://x.example",
    "mytool --password {} --verbose",
    "sshpass -p '{}' ssh host",
    "Authorization: Bearer {}",
    "the password is {}, keep it",
    'connect(user="app", password="{}")',
    "| user | password |\n|---|---|\n| bob | **{}** |\n",
    "пароль: {}",
    "| user | password |\n|---|---|\n| bob | {} |\n",
    "ALTER USER bob IDENTIFIED BY '{}';",
    "<password>{}</password>",
    "https://app.example/x?access_token={}&n=1",
    'conn.setPassword("{}");',
    "machine h login bob password {}",
    "wifi name Attic, key: {}",
]


@pytest.mark.parametrize("carrier", CONTEXTS)
def test_values_go_by_their_context(carrier):
    for _ in range(20):
        value = drawn(18)
        text = carrier.format(value)
        masked = mask(text)
        assert value not in masked
        before, after = text.split(value)
        assert masked.startswith(before)
        assert masked.endswith(after)


def test_private_keys_go_whole_however_they_are_written():
    lines = [drawn(64) for _ in range(5)] + [drawn(20) + "=="]
    begin, end = (f"-----{word} RSA PRIVATE" + " KEY-----" for word in ("BEGIN", "END"))
    plain = "\n".join([begin, *lines, end])
    forms = [
        plain,
        plain.replace("\n", "\\n"),
        plain.replace("\n", "\n> "),
        plain.replace("\n", '\\n" +\n  "'),
        plain.replace("\n", "\n2026-11-30 10:00:00 "),
        plain.replace("\n", " "),
        "\n".join([begin, *lines]),
        "\n".join([*lines[:-1], end]),
    ]
    for form in forms:
        masked = mask(form)
        assert not [line for line in lines if line in masked]


KEPT = [
    "token = get_token()",
    "const token = process.env.GITHUB_TOKEN;",
    "password: string;",
    "def f(password: Optional[str] = None, key: bytes | None = None):",
    'password = ""\nif self.password is None:',
    "api_key: your_api_key_here",
    "OPENAI_API_KEY=xxxxxxxxxxxxxxxx",
    "postgres://${DB_USER}:${DB_PASS}@db:5432/app",
    "commit 97eea9dc1a352875a30ad2d2702b0f40ed1d69ba",
    "run_id=c2e5facd-42ea-45f3-94d7-3b28ee16a87e",
    'max_tokens: 4096, "input_tokens": 12345',
    "The password is wrong, please try again.",
    "The secret to a fast query is a good index.",
    "--- PASS: TestRunStatus_BothProjectAndLocal_Short (0.01s)",
    "InputTokens: t.InputTokens + other.InputTokens,",
    "the header is -----BEGIN PRIVATE " + "KEY----- and so on",
    '"integrity": "sha512-' + "A1b2C3d4" * 10 + 'AAAAAA=="',
    "prefix glpat- means a GitLab token",
    "  'EncodedStr',\n  'TokenEncoder',\n  'Base64Encoder',\n",
]


@pytest.mark.parametrize("text", KEPT)
def test_code_placeholders_and_hashes_stay(text):
    assert open_masker().session().mask(text).text == text


def test_marks_are_numbered_by_secret_within_a_session():
    one, two = drawn(20), drawn(20)
    session = open_masker().session()
    first = session.mask(f"token={one} token={two}").text
    second = session.mask(f"api_token: {two}").text
    assert first == "token=[MASKED:token:1] token=[MASKED:token:2]"
    assert second == "api_token: [MASKED:token:2]"
    assert open_masker().session().mask(f"token={two}").text == "token=[MASKED:token:1]"


def test_a_secret_goes_wherever_it_stands_again():
    secret = drawn(20)
    session = open_masker().session()
    first = session.mask(f"PASSWORD={secret}\nlogin failed for {secret}!").text
    assert first == "PASSWORD=[MASKED:password:1]\nlogin failed for [MASKED:password:1]!"
    assert session.mask(f"got ({secret})").text == "got ([MASKED:password:1])"
    assert session.mask(f"x{secret}").text == f"x{secret}"


def test_wrapped_token_goes_with_its_second_line():
    head, tail = "sk-" + "proj-" + drawn(60), drawn(50)
    masked = mask(f"it is {head}\n> {tail}\nok")
    assert head not in masked
    assert tail not in masked


def steps(work):
    """How many functions a piece of work calls, in Python and in C."""
    count = 0

    def step(frame, event, argument):
        nonlocal count
        count += event in {"call", "c_call"}

    sys.setprofile(step)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("name", HOSTILE)
def test_twice_the_hostile_text_takes_twice_the_steps(name):
    text = hostile_text(HOSTILE[name], 20_000)
    mask(text)  # what is made once
    assert steps(lambda: mask(text + text)) <= 2.3 * steps(lambda: mask(text)) + 200


def test_only_the_first_of_many_headings_is_looked_under():
    secret = drawn(14)
    table = "| user | password |\n" * 3 + f"|---|---|\n| bob | {secret} |\n"
    assert secret not in mask(table)
    named = "| user | password |\n|---|---|\n| ann | MyToken2024x |\n" + f"| bob | {secret} |\n"
    assert secret not in mask(named)
    assert "2024" not in mask(named)
    assert secret not in mask(f"first, the token\nuser, password\nbob, {secret}\n")


def test_a_star_at_the_end_of_a_cell_may_be_part_of_the_secret():
    secret = drawn(14)
    masked = mask(f"| user | password |\n|---|---|\n| bob | {secret}* |\n")
    assert masked.endswith("| bob | [MASKED:table-secret:1] |\n")


def test_the_documents_of_a_stream_are_looked_at_apart():
    first, last, other = drawn(20), drawn(20), drawn(20)
    stream = (
        f"kind: Secret\ndata:\n  a: {first}\n---\ndata:\n  c: {last}\nkind: Secret\n---\n"
        f"kind: ConfigMap\nname: x\ndata:\n  b: {other}\n"
    )
    masked = mask(stream)
    assert first not in masked
    assert last not in masked
    assert other in masked


def test_codes_of_two_lists_go():
    codes = [drawn(8) for _ in range(6)]
    text = "backup codes\n" + "\n".join(codes[:3]) + "\nrecovery codes:\n" + "\n".join(codes[3:])
    assert not any(code in mask(text) for code in codes)


def test_secrets_across_the_blocks_of_a_search_go():
    secret = drawn(20)
    for shift in range(40):
        text = "x " * ((64 * 1024 - shift) // 2) + f"\nAPI_TOKEN={secret}\n"
        assert secret not in mask(text)
