"""Settings: what wins over what, and errors that never repeat a value."""

from pathlib import Path

import pytest

from memclaw_etl.errors import SettingsError
from memclaw_etl.settings import Limits, load_settings

VALUE = "s3cr3t" + "-value"


def write(home: Path, text: str | bytes) -> None:
    data = text if isinstance(text, bytes) else text.encode()
    (home / "memclaw.toml").write_bytes(data)


def test_defaults_need_no_file(tmp_path: Path) -> None:
    settings = load_settings(tmp_path)
    assert settings.interviewer == "heuristic"
    assert settings.sources == ()
    assert settings.limits == Limits()
    assert settings.ledger_address == f"sqlite:///{tmp_path}/ledger.sqlite"
    assert settings.lake_root == tmp_path / "lake"
    assert not settings.preview_text


def test_an_argument_wins_over_the_environment_over_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, 'interviewer = "verbatim"\n[limits]\nwindow_events = 7\nmax_attempts = 9\n')
    assert load_settings(tmp_path).interviewer == "verbatim"
    monkeypatch.setenv("MEMCLAW_INTERVIEWER", "openai")
    monkeypatch.setenv("MEMCLAW_LIMITS__WINDOW_EVENTS", "8")
    settings = load_settings(tmp_path)
    assert settings.interviewer == "openai"
    assert (settings.limits.window_events, settings.limits.max_attempts) == (8, 9)
    assert load_settings(tmp_path, interviewer="heuristic").interviewer == "heuristic"


def test_the_home_is_the_argument_then_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert load_settings().home == tmp_path / ".memclaw"
    monkeypatch.setenv("MEMCLAW_HOME", "~/other")
    assert load_settings().home == tmp_path / "other"
    assert load_settings(tmp_path / "third").home == tmp_path / "third"
    write(tmp_path, 'home = "/elsewhere"')
    assert load_settings(tmp_path).home == tmp_path


def test_sources_are_listed_explicitly(tmp_path: Path) -> None:
    write(
        tmp_path,
        '[[sources]]\nkind = "cursor"\nroot = "~/x"\ninclude = ["a*"]\ntenant_id = "t"\n'
        '[[namespaces]]\npath = "/srv/a"\nnamespace = "a"\n',
    )
    (source,) = load_settings(tmp_path).sources
    assert (source.kind, source.include, source.tenant_id) == ("cursor", ("a*",), "t")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (f"x = {VALUE}", "not valid TOML"),
        (f"[{VALUE}", "not valid TOML"),
        (f'ledger_url = "{VALUE}"\nledger_url = "{VALUE}"', "not valid TOML"),
        (b'x = "\xff\xfe' + VALUE.encode() + b'"', "not valid TOML"),
        (f'api_key = "{VALUE}"', "api_key"),
        (f'interviewer = "{VALUE}"', "interviewer"),
        (f'[limits]\nwindow_events = "{VALUE}"', "limits.window_events"),
        ("[limits]\nwindow_events = 0", "limits.window_events"),
        ("[limits]\nmax_attempts = -1", "limits.max_attempts"),
        (f'[limits]\nnope = "{VALUE}"', "limits.nope"),
        (f'[[sources]]\nkind = "{VALUE}"\nroot = "/x"', "sources.0.kind"),
        (f'[[sources]]\nkind = "cursor"\nroot = "/x"\n"tenant" = "{VALUE}"', "sources.0.tenant"),
        ('[[sources]]\nkind = "cursor"', "sources.0.root"),
        (f'preview_text = "{VALUE}"', "preview_text"),
    ],
)
def test_a_wrong_file_is_named_and_its_values_never_shown(
    tmp_path: Path, text: str | bytes, named: str
) -> None:
    write(tmp_path, text)
    with pytest.raises(SettingsError) as refused:
        load_settings(tmp_path)
    message = str(refused.value)
    assert named in message
    assert str(tmp_path) in message
    assert VALUE not in message
    assert refused.value.__cause__ is None


@pytest.mark.parametrize(
    ("name", "value", "named"),
    [
        ("MEMCLAW_LIMITS", VALUE, "limits"),
        ("MEMCLAW_SOURCES", "[{" + VALUE, "sources"),
        ("MEMCLAW_LIMITS__WINDOW_EVENTS", VALUE, "limits.window_events"),
        ("MEMCLAW_LIMITS__NOPE", VALUE, "limits.nope"),
        ("MEMCLAW_INTERVIEWER", VALUE, "interviewer"),
    ],
)
def test_a_wrong_variable_is_named_and_its_value_never_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str, named: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError) as refused:
        load_settings(tmp_path)
    assert named in str(refused.value)
    assert VALUE not in str(refused.value)
    assert "TOML" not in str(refused.value)


def test_variables_of_other_parts_do_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMCLAW_MACHINE_ID", "0123456789ab")
    assert load_settings(tmp_path).home == tmp_path


def test_settings_cannot_be_changed_and_do_not_show_the_ledgers_password(tmp_path: Path) -> None:
    settings = load_settings(tmp_path, ledger_url=f"postgresql://me:{VALUE}@h/db")
    assert VALUE not in repr(settings)
    assert VALUE in settings.ledger_address
    with pytest.raises(ValueError, match="frozen"):
        settings.interviewer = "openai"


@pytest.mark.parametrize(
    ("grant", "field"),
    [
        ('reader = ""', "grants.0.reader"),
        ('reader = "a"\ntenant_id = ""', "grants.0.tenant_id"),
        ('reader = "a"\nnamespaces = []', "grants.0.namespaces"),
        ('reader = "a"\nnamespace = "x"', "grants.0.namespace"),
        ('tenant_id = "a"', "grants.0.reader"),
    ],
)
def test_a_grant_of_nothing_or_to_nobody_is_refused(tmp_path, grant, field):
    (tmp_path / "memclaw.toml").write_text(f"[[grants]]\n{grant}\n")
    with pytest.raises(SettingsError, match=field):
        load_settings(tmp_path)


def test_a_grant_without_namespaces_is_of_the_whole_tenant(tmp_path):
    (tmp_path / "memclaw.toml").write_text('[[grants]]\nreader = "a"\n')
    [grant] = load_settings(tmp_path).grants
    assert (grant.tenant_id, grant.namespaces) == ("default", None)
