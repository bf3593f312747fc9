"""The id of this machine, which every node id of a disk trail begins with."""

import hashlib
import os
import re
import secrets
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

from memclaw_etl.errors import SettingsError

MACHINE_VARIABLE: Final = "MEMCLAW_MACHINE_ID"
_MACHINE_ID_FILE: Final = Path("/etc/machine-id")
_PLAIN: Final = re.compile(r"[0-9A-Za-z_-]{1,32}")
_ID_CHARS: Final = 12


def machine12(home_file: Path | None, *, machine_id_file: Path = _MACHINE_ID_FILE) -> str:
    """The id of this machine: 12 hex digits, or the name that the environment gives it.

    In order: `MEMCLAW_MACHINE_ID` (a plain name as it stands, anything else hashed), the hash of
    the system's machine id, and where that is absent or zeroed (containers) a random id that is
    written to `home_file` once and is the same ever after.

    Raises:
        SettingsError: nothing of this is there and no `home_file` was given.
    """
    if named := os.environ.get(MACHINE_VARIABLE, "").strip():
        return named if _PLAIN.fullmatch(named) else _hashed(named)
    system = _read(machine_id_file)
    if system.strip("0"):
        return _hashed(system)
    if home_file is None:
        raise SettingsError(f"this machine has no id: set {MACHINE_VARIABLE} to a fixed name")
    return _read(home_file) or _write_once(home_file)


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_ID_CHARS]


def _read(path: Path) -> str:
    """The first word of a file, empty where there is none."""
    try:
        return path.read_text(encoding="utf-8").strip()
    except (FileNotFoundError, NotADirectoryError, PermissionError, UnicodeDecodeError):
        return ""


def _write_once(path: Path) -> str:
    """Write a random id unless another process was faster; return the id that stands there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(secrets.token_hex(_ID_CHARS // 2))
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(name, path)
    finally:
        Path(name).unlink()
    if not (written := _read(path)):
        raise SettingsError(f"the machine id in {path} is empty: remove the file")
    return written
