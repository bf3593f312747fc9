"""Sixty hand-written pairs, and what resolving must make of each."""

import pytest

from memclaw_etl.memories.relate import LEAST_OVERLAP, Said, edges, marks, relation
from memclaw_etl.memories.statements import statement_of

SAME, UPDATE, INVALIDATE, APART = "same", "update", "invalidate", "apart"
PAIRS = [
    # the same fact, reworded
    (SAME, "decision", "We chose SQLite over PostgreSQL for the ledger because one file is simpler.",
     "SQLite was picked for the ledger instead of PostgreSQL, since a single file is simpler."),
    (SAME, "decision", "Moved the tide parser into its own module tide/parse.py.",
     "The tide parser now lives in tide/parse.py, a module of its own."),
    (SAME, "decision", "Sessions expire after 12 hours, by decision of the user.",
     "The user decided that sessions expire after 12 hours."),
    (SAME, "preference", "The user wants commit messages in the imperative.",
     "User prefers imperative commit messages."),
    (SAME, "decision", "We will use Redis for the job queue", "Redis is used for the job queue"),
    (SAME, "fact", "The nightly backup runs at 03:00.", "Nightly backups run at 03:00"),
    (SAME, "outcome", "[success] Fixed the login timeout on slow phones",
     "[success] The login timeout on slow phones is fixed"),
    (SAME, "episode", "Wrote tests for the invoice exporter", "Added tests for the invoice exporter"),
    (SAME, "preference", "Please answer in short sentences.", "The user wants answers in short sentences"),
    (SAME, "task", "The staging DB password must be rotated", "Staging database password needs to be rotated"),
    # a changed figure
    (UPDATE, "fact", "The export timeout is 30 s.", "The export timeout is 60 s."),
    (UPDATE, "decision", "Timeout of the export is 30 s.", "Timeout of the export was raised from 30 s to 60 s."),
    (UPDATE, "decision", "Deploys happen on Monday.", "Deploys happen on Friday."),
    (UPDATE, "fact", "The launch is on 12 May", "The launch is on 19 May"),
    (UPDATE, "decision", "We keep logs for 30 days", "We keep logs for ninety days, that is 90 days"),
    (UPDATE, "preference", "Lines should be at most 80 characters", "Lines should be at most 100 characters"),
    (UPDATE, "decision", "We use Python 3.11 for the workers", "We use Python 3.12 for the workers"),
    (UPDATE, "fact", "The API allows three retries", "The API allows five retries"),
    (UPDATE, "fact", "Staging listens on port 5432", "Staging listens on port 5433"),
    # a negation
    (INVALIDATE, "decision", "We retry on conflicts.", "We do not retry on conflicts."),
    (INVALIDATE, "fact", "The tide cache is enabled in production.", "The tide cache is disabled in production."),
    (INVALIDATE, "preference", "The user likes emojis in commit messages", "The user doesn't like emojis in commit messages"),
    (INVALIDATE, "decision", "Keep the legacy endpoint", "Remove the legacy endpoint"),
    (INVALIDATE, "fact", "The parser supports nested quotes", "The parser never supports nested quotes"),
    (INVALIDATE, "decision", "Workers are allowed to write the index", "Workers are forbidden to write the index"),
    (INVALIDATE, "decision", "We use feature flags for the new checkout", "We no longer use feature flags for the new checkout"),
    (INVALIDATE, "preference", "Always squash commits before merging", "Never squash commits before merging"),
    # a later value, a correction
    (UPDATE, "decision", "We use Redis for the cache", "We use Memcached for the cache"),
    (UPDATE, "decision", "Redis is used as the job queue.", "Postgres is used as the job queue."),
    (UPDATE, "decision", "The cache lives in Redis", "Switched the cache from Redis to Memcached"),
    (UPDATE, "fact", "The port is 8080", "Correction: the port is 8081, not 8080"),
    (UPDATE, "preference", "The user prefers tabs over spaces", "The user prefers spaces over tabs"),
    (UPDATE, "decision", "Run the linter before the tests", "Run the tests before the linter"),
    (UPDATE, "fact", "The release manager is Alice", "The release manager is Bob"),
    (UPDATE, "decision", "Deploy to Heroku", "Deploy to Fly instead of Heroku"),
    (UPDATE, "decision", "Dates are stored in Unix format", "Dates are stored in ISO format"),
    # narrower, or about something else
    (APART, "fact", "Tests run on Linux", "Integration tests run on Linux with Docker"),
    (APART, "decision", "The API uses JSON", "The public API uses JSON for errors"),
    (APART, "fact", "Tests of the importer run in CI.", "Tests of the exporter run in CI."),
    (APART, "decision", "The importer uses Redis", "The exporter uses Redis"),
    (APART, "decision", "Postgres ledger backups run nightly", "Use SQLite instead of Postgres for the ledger"),
    (APART, "preference", "The user wants short answers", "The user wants short answers about costs in a table"),
    (APART, "fact", "`load_tides` takes a station", "`load_ships` takes a station"),
    (APART, "decision", "We use Redis for the cache", "We use Redis for the queue"),
    (APART, "fact", "The export timeout is 30 s", "The import timeout is 60 s"),
    (APART, "task", "Fix the flaky daemon test", "Document the daemon"),
    (APART, "fact", "We retry on 409", "We do not retry on 500"),
    # series
    (APART, "outcome", "[success] Released 1.2.3 to production", "[success] Released 1.2.4 to production"),
    (APART, "decision", "Release 17 ships the CSV export", "Release 18 ships the CSV export"),
    (APART, "task", "Close ticket OPS-101 after the review", "Close ticket OPS-102 after the review"),
    (APART, "episode", "Reviewed pull request #41", "Reviewed pull request #42"),
    (APART, "fact", "The helper lives in src/tide.py", "The helper lives in src/flood.py"),
    (APART, "outcome", "[success] All 812 tests pass", "[success] All 815 tests pass"),
    (APART, "episode", "Deployed on Monday", "Deployed on Friday"),
    (APART, "decision", "Migration 0007 adds an index", "Migration 0008 adds an index"),
    (APART, "fact", "Commit 3f2a9bc broke the build", "Commit 77d01ef broke the build"),
    (APART, "outcome", "[success] The nightly job ran", "[failure] The nightly job did not run"),
    # another scope
    (APART, "decision", "We use Redis for the cache", "We use Redis for the cache ", "shop"),
    (APART, "fact", "The export timeout is 30 s.", "The export timeout is 60 s.", "shop"),
    (APART, "decision", "We retry on conflicts.", "We do not retry on conflicts.", "shop"),
]  # fmt: skip


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair[0]}: {pair[2][:40]}")
def test_each_pair_is_decided_right_in_both_directions(pair):
    wanted, memory_type, one, other, *scope = pair
    left, right = Said("t/", memory_type, one), Said("t/" + "".join(scope), memory_type, other)
    for found in (relation(left, right), relation(right, left)):
        assert (str(found.kind) if found else APART) == wanted


def test_there_are_sixty_pairs():
    assert len(PAIRS) == 60


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if pair[0] != APART])
def test_related_statements_share_a_mark(pair):
    assert set(marks(pair[2])) & set(marks(pair[3]))
    one, other = statement_of(pair[2]).words, statement_of(pair[3]).words
    assert len(one & other) / len(one | other) >= LEAST_OVERLAP


def test_a_series_of_108_releases_stays_108_statements():
    said = {
        f"k{i:03}": Said("t/", kind, f"Release 1.{i} of the ferry app went out on day {i % 28 + 1}")
        for i, kind in enumerate(["outcome", "decision"] * 54)
    }
    assert list(edges(said)) == []


def test_only_pairs_with_a_new_one_are_looked_at():
    said = {f"k{i}": Said("t/", "fact", f"The export timeout is {i} s") for i in range(4)}
    assert len(list(edges(said))) == 6
    assert {(e.left, e.right) for e in edges(said, new={"k2"})} == {
        ("k0", "k2"),
        ("k1", "k2"),
        ("k2", "k3"),
    }


@pytest.mark.parametrize("piece", ["x-", "x.", "a1", "-", "x--"])
def test_hostile_texts_are_read_in_the_end(piece):
    text = piece * 100_000  # quadratic rules took hours
    assert statement_of(text) == statement_of(text + " ")
