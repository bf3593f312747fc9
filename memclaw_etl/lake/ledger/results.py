"""What the stages made of a window: current files, live items, touched groups."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, delete, func, select, update

from memclaw_etl.lake.ledger.database import batched, insert_missing, upsert
from memclaw_etl.lake.ledger.schema import live_items, stage_files, touched_groups, windows
from memclaw_etl.lake.ledger.values import Stage, StageFile


def current(
    connection: Connection, window_ids: Sequence[str], stage: Stage
) -> dict[str, StageFile]:
    """window_id -> the stage's current file, for the windows that have one."""
    found: dict[str, StageFile] = {}
    for some in batched(window_ids):
        rows = connection.execute(
            select(stage_files).where(
                stage_files.c.window_id.in_(some), stage_files.c.stage == stage
            )
        )
        found.update({row.window_id: StageFile(**row._mapping) for row in rows})
    return found


def all_files(connection: Connection, stage: Stage) -> list[StageFile]:
    """Every current file of a stage."""
    rows = connection.execute(
        select(stage_files).where(stage_files.c.stage == stage).order_by(stage_files.c.path)
    )
    return [StageFile(**row._mapping) for row in rows]


def all_paths(connection: Connection) -> set[str]:
    """Paths of every file that the ledger names."""
    rows = connection.execute(select(stage_files.c.path).where(stage_files.c.path != ""))
    return {row.path for row in rows}


def set_current(connection: Connection, file: StageFile) -> None:
    """Point the ledger at a new file of a stage. The file must be durable already."""
    row = {name: getattr(file, name) for name in StageFile.__dataclass_fields__}
    upsert(connection, stage_files, row)


def set_interviewer(
    connection: Connection, window_id: str, *, interviewer: str, prompt_version: str
) -> None:
    """Note who made the window's reports."""
    connection.execute(
        update(windows)
        .where(windows.c.window_id == window_id)
        .values(interviewer=interviewer, prompt_version=prompt_version)
    )


def replace_items(
    connection: Connection, window_id: str, items: Sequence[Mapping[str, Any]]
) -> None:
    """Make these the window's live items, as a whole; old and new groups are touched by it.

    Args:
        connection: the transaction that also points the ledger at the items' file.
        window_id: the window that the items belong to.
        items: rows of {item_id, group_key, scope}.
    """
    old = connection.execute(
        select(live_items.c.group_key, live_items.c.scope).where(
            live_items.c.window_id == window_id
        )
    ).all()
    groups = {(row.group_key, row.scope) for row in old}
    groups |= {(item["group_key"], item["scope"]) for item in items}
    connection.execute(delete(live_items).where(live_items.c.window_id == window_id))
    insert_missing(connection, live_items, [{**item, "window_id": window_id} for item in items])
    insert_missing(
        connection,
        touched_groups,
        [
            {"window_id": window_id, "group_key": group, "scope": scope}
            for group, scope in sorted(groups)
        ],
    )


def touch(connection: Connection, window_ids: Sequence[str]) -> None:
    """Have all groups of these windows resolved again, whatever the reason."""
    for some in batched(window_ids):
        rows = connection.execute(
            select(live_items.c.window_id, live_items.c.group_key, live_items.c.scope)
            .where(live_items.c.window_id.in_(some))
            .distinct()
        )
        insert_missing(connection, touched_groups, [dict(row._mapping) for row in rows])


def groups_of_windows(connection: Connection, window_ids: Sequence[str]) -> set[str]:
    """Groups that these windows have live items of."""
    found: set[str] = set()
    for some in batched(window_ids):
        rows = connection.execute(
            select(live_items.c.group_key).where(live_items.c.window_id.in_(some)).distinct()
        )
        found.update(row.group_key for row in rows)
    return found


def scopes(connection: Connection, prefix: str) -> list[str]:
    """Scopes with live items that begin so (`memories.items.scopes_prefix`), sorted."""
    begins = func.substr(live_items.c.scope, 1, len(prefix)) == prefix  # LIKE would fold case
    rows = connection.execute(select(live_items.c.scope).where(begins).distinct())
    return sorted(row.scope for row in rows)


def touched(connection: Connection, window_ids: Sequence[str]) -> dict[str, str]:
    """group_key -> scope of the groups that must be resolved because of these windows."""
    found: dict[str, str] = {}
    for some in batched(window_ids):
        rows = connection.execute(
            select(touched_groups.c.group_key, touched_groups.c.scope).where(
                touched_groups.c.window_id.in_(some)
            )
        )
        found.update({row.group_key: row.scope for row in rows})
    return found


def windows_touched(connection: Connection) -> list[str]:
    """Windows whose items changed since the index was brought in line with them."""
    rows = connection.execute(select(touched_groups.c.window_id).distinct())
    return sorted(row.window_id for row in rows)


def clear_touched(connection: Connection, window_ids: Sequence[str]) -> None:
    """The index holds what resolve says about everything that these windows touched."""
    for some in batched(window_ids):
        connection.execute(delete(touched_groups).where(touched_groups.c.window_id.in_(some)))


def windows_to_resolve(connection: Connection) -> list[str]:
    """Windows that were resolved once, and whose live items have changed since."""
    resolved = select(stage_files.c.window_id).where(stage_files.c.stage == Stage.MEMORIES)
    rows = connection.execute(
        select(touched_groups.c.window_id)
        .where(touched_groups.c.window_id.in_(resolved))
        .distinct()
        .order_by(touched_groups.c.window_id)
    )
    return [row.window_id for row in rows]


def windows_of_groups(connection: Connection, groups: Sequence[str]) -> list[str]:
    """Windows whose live items belong to any of the groups."""
    found: set[str] = set()
    for some in batched(groups):
        rows = connection.execute(
            select(live_items.c.window_id).where(live_items.c.group_key.in_(some)).distinct()
        )
        found.update(row.window_id for row in rows)
    return sorted(found)


def all_groups(connection: Connection) -> list[str]:
    """Every group that has a live item."""
    rows = connection.execute(select(live_items.c.group_key).distinct())
    return sorted(row.group_key for row in rows)
