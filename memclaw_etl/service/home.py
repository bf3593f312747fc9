"""The home: folders, Dagster's instance file, and the stamp that ties the stores together."""

from pathlib import Path

from memclaw_etl.errors import HomeMismatchError, SettingsError
from memclaw_etl.lake.stage_files import put
from memclaw_etl.settings import Settings
from memclaw_etl.stages.bench import Bench
from memclaw_etl.trails.machine import machine12

STAMP = "memclaw-ledger-id"

DAGSTER_YAML = """\
# Written once by memclaw-etl; yours to change afterwards.
telemetry:
  enabled: false # these are other people's conversations
nux:
  enabled: false
concurrency:
  runs:
    max_concurrent_runs: 2
  pools:
    granularity: run
run_monitoring:
  enabled: true
  start_timeout_seconds: 180
run_retries:
  enabled: false # the ledger decides what is retried, never Dagster
retention:
  schedule:
    purge_after_days: 30
  sensor:
    purge_after_days:
      skipped: 2
      success: 14
      failure: 30
"""


def open_home(settings: Settings) -> Bench:
    """Make the home usable and check that its parts belong together.

    Creates folders (readable by the owner only), `dagster.yaml` and the ledger where they are
    missing; changes nothing that is there. A deleted Dagster home is made anew: it only shows
    what the ledger knows.

    Raises:
        SettingsError: the home cannot be written.
        HomeMismatchError: the Dagster home belongs to another ledger.
    """
    try:
        for folder in (
            settings.home,
            settings.lake_root,
            settings.cache_dir,
            settings.dagster_home,
        ):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        bench = Bench(settings)
        _stamp(settings.dagster_home, bench.ledger.ledger_id)
        instance_file = settings.dagster_home / "dagster.yaml"
        if not instance_file.exists():
            put(instance_file, DAGSTER_YAML.encode())
    except OSError as error:
        raise SettingsError(
            f"the home {settings.home} cannot be written ({error.strerror});"
            " choose another with --home or MEMCLAW_HOME"
        ) from error
    return bench


def _stamp(dagster_home: Path, ledger_id: str) -> None:
    stamp = dagster_home / STAMP
    if not stamp.exists():
        put(stamp, ledger_id.encode())
    found = stamp.read_text(encoding="ascii").strip()
    if found != ledger_id:
        raise HomeMismatchError(
            f"the Dagster home {dagster_home} shows ledger {found[:8]}, the settings name ledger"
            f" {ledger_id[:8]}; delete the Dagster home (it is only a view) or fix `ledger_url`"
        )


def this_machine(settings: Settings) -> str:
    """The 12 digits that node ids of this machine's trails carry."""
    return machine12(settings.home / "machine-id")
