"""Policies on memories: what is found, what becomes of it, and that no text of it is kept."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from memclaw_etl.errors import SettingsError
from memclaw_etl.memories.govern import Record, fingerprint, govern
from memclaw_etl.memories.govern_patterns import find_pattern
from memclaw_etl.memories.govern_topics import (
    TOPICS,
    may_have_topics,
    read_sentences,
    sentences,
    topics_of,
)
from memclaw_etl.memories.items import text_hash
from memclaw_etl.memories.rulings import Rulings
from memclaw_etl.settings import load_settings
from memclaw_etl.tenant_settings import PolicySettings
from tests.unit.memory_values import an_item

MAIL = "ada@analytical.test"
PHONE = "+44 7700 900123"


def policy(action, *, name="rule", **what):
    return PolicySettings(name=name, action=action, **what)


def one(content, *policies, **change):
    item = an_item(content=content, **change)
    done = govern([item], policies)
    return (done.items[0] if done.items else None), done


FALCON = {"pattern": r"(?i)\bproject falcon\b"}


def test_without_policies_items_stay_as_they_are():
    item = an_item()
    assert govern([item], ()) == govern([item], []) != govern([], ())
    assert govern([item], ()).items == (item,)
    assert fingerprint(()) == ""


@pytest.mark.parametrize(
    ("what", "content", "masked"),
    [
        (FALCON, "Project Falcon ships; project falcon waits", "[MASKED:rule:1] ships; [MASKED:rule:2] waits"),
        (FALCON, "project falcon or project falcon", "[MASKED:rule:1] or [MASKED:rule:1]"),
        ({"category": "personal_data"}, f"Write to {MAIL} first", "Write to [MASKED:email:1] first"),
        ({"category": "health"}, "We use Redis for the queue. I have a migraine.", "We use Redis for the queue. [MASKED:rule:1]"),
        ({"pattern": r"\d+"}, "port 8080 of [MASKED:email:7]", "port [MASKED:rule:1] of [MASKED:email:7]"),
        ({"pattern": r"of.*"}, "the key of [MASKED:token:2] it is", "the key [MASKED:rule:1]"),
    ],
)  # fmt: skip
def test_mask_replaces_what_was_found_and_nothing_else(what, content, masked):
    item, done = one(content, policy("mask", **what))
    assert item.content == masked
    assert done.masked == {"rule": 1}
    assert (done.dropped, done.flagged) == ({}, {})
    assert item.item_id == an_item(content=content).item_id
    assert item.said_hash == text_hash(content)
    assert item.title in masked or item.title.endswith("…")


def test_drop_leaves_no_memory_and_a_record_without_text():
    item, done = one(f"Call {PHONE}", policy("drop", name="no-phones", category="personal_data"))
    assert item is None
    assert done.dropped == {"no-phones": 1}
    assert done.records == (Record(an_item(content=f"Call {PHONE}").item_id, "no-phones", "drop"),)
    assert PHONE not in repr(done.records)


def test_flag_leaves_the_words_and_says_so():
    item, done = one(f"Write to {MAIL}", policy("flag", name="mails", category="personal_data"),
                     flags=("unsupported_name",))  # fmt: skip
    assert item.content == f"Write to {MAIL}"
    assert item.flags == ("policy:mails", "unsupported_name")
    assert done.flagged == {"mails": 1}


def test_drop_wins_and_the_first_one_is_the_reason():
    policies = (
        policy("flag", name="flagged", pattern="falcon"),
        policy("mask", name="masked", pattern="falcon"),
        policy("drop", name="first", pattern="falcon"),
        policy("drop", name="second", pattern="falcon"),
    )
    item, done = one("falcon", *policies)
    assert item is None
    assert done.dropped == {"first": 1}
    assert (done.masked, done.flagged) == ({}, {})


def test_what_is_only_in_part_about_a_dropped_topic_keeps_the_rest():
    item, done = one(
        "We use Redis for the queue. My wife is in hospital.",
        policy("drop", category="private_life"),
    )
    assert item.content == "We use Redis for the queue. [MASKED:rule:1]"
    assert done.masked == {"rule": 1}
    item, done = one("Thanks! My wife is ill.", policy("drop", category="private_life"))
    assert item is not None  # small talk is something else, and was not forbidden
    item, done = one("Thanks! My wife is ill.", policy("drop", category="non_business"))
    assert (item, done.dropped) == (None, {"rule": 1})


def test_a_statement_of_which_a_mask_leaves_nothing_is_dropped():
    item, done = one("[success] My daughter got married.", policy("mask", category="private_life"))
    assert (item, done.dropped, done.masked) == (None, {"rule": 1}, {})


def test_two_statements_that_mask_to_the_same_words_say_the_same():
    done = govern(
        [an_item(content="Ask bo@a.test", attempt_id="a"), an_item(content="Ask al@a.test")],
        [policy("mask", category="personal_data")],
    )
    assert {item.content for item in done.items} == {"Ask [MASKED:email:1]"}


def test_search_does_not_know_the_words_either():
    near = an_item(content="We chose Redis", nearby="falcon launch zebra", seq=1)
    secret = an_item(content="The zebra is called Anton", nearby="redis falcon", seq=2)
    other = an_item(content="Elsewhere", nearby="zebra falcon", window_key="n2@0-9")
    policies = [
        policy("mask", name="a", pattern="zebra"),
        policy("drop", name="b", pattern="Falcon"),
    ]
    done = govern([near, secret, other], policies)
    assert [item.nearby for item in done.items] == ["launch", "redis", ""]
    flagged = govern([near], [policy("flag", pattern="zebra")])
    assert flagged.items[0].nearby == near.nearby


def test_tombstones_know_a_statement_by_what_was_said():
    item, _ = one(f"Write to {MAIL}", policy("mask", category="personal_data"))
    said = Rulings(forgotten_texts=frozenset({("default", text_hash(f"Write to {MAIL}"))}))
    assert said.forgets(item)
    masked = Rulings(forgotten_texts=frozenset({("default", text_hash(item.content))}))
    assert masked.forgets(item)


contents = st.sampled_from(
    [f"Write to {MAIL}", "We use Redis.", "My son is ill. We use Redis for the queue.", "Thanks a lot!",
     "project falcon starts", "falcon falcon", "I have a migraine.", f"Call {PHONE} or {MAIL}"]
)  # fmt: skip
items_of_windows = st.lists(
    st.builds(
        an_item, content=contents, attempt_id=st.sampled_from("abc"), seq=st.integers(0, 3),
        window_key=st.sampled_from(["w1", "w2", "w3"]), nearby=st.sampled_from(["", "son falcon", "redi"]),
    ),
    max_size=10,
)  # fmt: skip
some_policies = st.lists(
    st.builds(
        lambda action, what: (action, what),
        st.sampled_from(["mask", "drop", "flag"]),
        st.sampled_from(
            [{"pattern": "falcon"}, {"category": "personal_data"}, {"category": "health"},
             {"category": "non_business"}, {"category": "small_talk"}, {"pattern": r"\w+@"}]
        ),
    ),
    max_size=4,
).map(lambda made: [policy(a, name="p" + "x" * n, **w) for n, (a, w) in enumerate(made)])  # fmt: skip


@settings(deadline=None)
@given(items_of_windows, some_policies, st.randoms())
def test_order_and_batches_of_windows_do_not_matter(items, policies, chance):
    whole = govern(items, policies)
    shuffled = chance.sample(items, len(items))
    again = govern(shuffled, policies)
    assert sorted(map(repr, again.items)) == sorted(map(repr, whole.items))
    assert again.records == whole.records
    parts = [
        govern([i for i in items if i.window_key == key], policies) for key in ("w1", "w2", "w3")
    ]
    assert sorted(repr(i) for part in parts for i in part.items) == sorted(map(repr, whole.items))
    assert {r for part in parts for r in part.records} == set(whole.records)


@settings(deadline=None)
@given(items_of_windows, some_policies)
def test_nothing_is_left_to_mask_or_drop_and_nothing_gets_lost(items, policies):
    done = govern(items, policies)
    strict = [one for one in policies if one.action != "flag"]
    assert govern(done.items, strict).items == done.items
    assert {i.item_id for i in items} == {i.item_id for i in done.items} | {
        r.item_id for r in done.records if r.action == "drop"
    }


PRIVATE = {
    "small_talk": ["Good morning, everyone!", "Thanks a lot!", "Guten Morgen, Anna!", "Merci beaucoup",
                   "Hola, ¿qué tal?", "Have a great weekend!", "You're welcome."],
    "private_life": ["My daughter starts school in May.", "The user's wife is called Anna.",
                     "We celebrated my birthday with old friends.", "Meine Frau kommt aus Graz.",
                     "Ma fille apprend à nager.", "Mi hermano vive en Sevilla."],
    "health": ["I have a migraine today.", "Her doctor's appointment is on Monday.", "She's pregnant.",
               "Ich bin krankgeschrieben.", "Il a la grippe.", "Tengo fiebre."],
    "politics": ["He voted for the Green Party.", "The general election is unfair.",
                 "Im Wahlkampf lügen alle.", "La campagne électorale commence.",
                 "No me gusta la extrema derecha."],
}  # fmt: skip
BUSINESS = [
    "We chose PostgreSQL because it is simpler.",
    "The health check of the endpoint fails.",
    "Leader election needs a majority vote.",
    "The parent's child process died.",
    "Our sister company runs the import.",
    "The patient's diagnosis is stored in `patients.diagnosis`.",
    "My doctor is a table in the schema.",
    "Users can enter their blood pressure in the form.",
    "Kill the orphan, then reap the child.",
    "The party of the first part signs the contract.",
    "Thanks, now run the tests again.",
    "Hello world prints twice.",
    "Never use pandas here.",
    "Ask my wife's account for the token.",
    "Die Patienten sehen ihre Termine im Kalender.",
    "Le médecin valide la requête dans l'application.",
    "The migration is sick of locks.",
    "No. Use tabs, not spaces.",
]


@pytest.mark.parametrize(
    ("topic", "sentence"), [(topic, one) for topic, some in PRIVATE.items() for one in some]
)
def test_non_business_sentences_are_known_by_language(topic, sentence):
    assert topic in topics_of(sentence)
    assert may_have_topics([sentence]) == [True]


@pytest.mark.parametrize("sentence", BUSINESS)
def test_what_is_about_work_stays(sentence):
    assert topics_of(sentence) == frozenset()


def test_a_sentence_may_have_two_topics():
    assert topics_of("My wife has the flu.") == {"private_life", "health"}
    assert set(PRIVATE) == set(TOPICS)


@settings(deadline=None)
@given(st.text(max_size=60) | st.lists(st.sampled_from(["My son", " is ill", ". ", "\n", "1.5", "Why: ", "hi", "[MASKED:a:1]"])).map("".join))  # fmt: skip
def test_sentences_lie_in_the_text_and_the_quick_look_misses_none(text):
    spans = list(sentences(text))
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(left[1] <= right[0] for left, right in pairwise(spans))
    if any(one.topics for one in read_sentences(text)):
        assert may_have_topics([text]) == [True]


@settings(deadline=None)
@given(st.lists(st.text(max_size=30), max_size=3))
def test_patterns_are_found_where_they_stand(texts):
    found = find_pattern("[a-m]+", texts, kind="k")
    for text, some in zip(texts, found, strict=True):
        pieces = [text[one.start : one.end] for one in some]
        assert all(piece and set(piece) <= set("abcdefghijklm") for piece in pieces)
        left = "".join(text[a:b] for a, b in zip([0, *(o.end for o in some)], [*(o.start for o in some), len(text)], strict=True))  # fmt: skip
        assert not set(left) & set("abcdefghijklm")


def test_a_pattern_sees_what_stands_around_and_marks_of_ours_do_not_confuse_it():
    [found] = find_pattern(r"\bcat\b", ["concat \ue000cat\ue001 cat"], kind="k")
    assert [(one.start, one.end) for one in found] == [(8, 11), (13, 16)]


@pytest.mark.parametrize(
    "pattern", ["(?=a)b", r"(a)\1", "(a", "a*", "", r"\w{900}{900}", "x" * 1_001]
)
def test_patterns_that_are_not_linear_or_find_everything_are_refused(pattern):
    with pytest.raises(ValidationError):
        policy("mask", pattern=pattern)


@pytest.mark.parametrize("piece", ["x-", "a'", "1.5 ", "(instead of: ", "hat ", "my wife's "])
def test_hostile_texts_end_at_all(piece):
    strict = [policy("mask", category="non_business")]
    assert govern([an_item(content=piece * 60_000 + " my wife")], strict).records is not None


def test_a_hostile_pattern_ends_at_all():
    item, _ = one("a" * 200_000 + "!", policy("mask", pattern="(a+)+$"))
    assert item.content.endswith("!")


@pytest.mark.parametrize(
    "toml",
    [
        'name = "x"\naction = "mask"',
        'name = "x"\naction = "mask"\npattern = "a"\ncategory = "health"',
        'name = "X 1"\naction = "mask"\ncategory = "health"',
        'name = "x"\naction = "hide"\ncategory = "health"',
        'name = "x"\naction = "drop"\ncategory = "weather"',
    ],
)
def test_settings_say_which_policy_is_wrong_and_repeat_no_value(tmp_path, toml):
    (tmp_path / "memclaw.toml").write_text(
        f'[[tenants]]\ntenant_id = "default"\n[[tenants.policies]]\n{toml}\n'
    )
    with pytest.raises(SettingsError, match=r"tenants\.0"):
        load_settings(tmp_path)


def test_policies_and_retention_come_from_every_entry_of_a_tenant(tmp_path):
    (tmp_path / "memclaw.toml").write_text(
        'personal_data = "flag"\n'
        '[[tenants]]\ntenant_id = "a"\npersonal_data = "mask"\n'
        '[[tenants.policies]]\nname = "one"\ncategory = "health"\naction = "drop"\n'
        '[[tenants]]\ntenant_id = "a"\n'
        '[[tenants.policies]]\nname = "two"\npattern = "x"\naction = "flag"\n'
        '[[tenants.retention]]\nmemory_type = "episode"\ndays = 30\n'
    )
    loaded = load_settings(tmp_path)
    assert [one.name for one in loaded.policies_of("a")] == ["one", "two"]
    assert [(one.memory_type, one.days) for one in loaded.retention_of("a")] == [("episode", 30)]
    assert (loaded.personal_data_of("a"), loaded.personal_data_of("b")) == ("mask", "flag")
    assert loaded.policies_of("b") == ()
    twice = (tmp_path / "memclaw.toml").read_text().replace('"two"', '"one"')
    (tmp_path / "memclaw.toml").write_text(twice)
    with pytest.raises(SettingsError, match="several policies named one"):
        load_settings(tmp_path)


def test_the_fingerprint_follows_every_part_of_a_policy():
    prints = {
        fingerprint([policy(action, name=name, **what)])
        for action in ("mask", "drop")
        for name in ("a", "b")
        for what in ({"pattern": "x"}, {"pattern": "y"}, {"category": "health"})
    }
    assert len(prints) == 12
    both = [policy("mask", name="a", pattern="x"), policy("drop", name="b", pattern="y")]
    assert fingerprint(both) != fingerprint(both[::-1])
