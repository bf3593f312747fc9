"""What was spent on models, by UTC day, endpoint and model."""

from dataclasses import dataclass

from sqlalchemy import Connection, func, select, update

from memclaw_etl.lake.ledger.database import insert_missing
from memclaw_etl.lake.ledger.schema_models import model_spending


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Calls, tokens and money; `cost` in the currency of the settings' prices."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0


def add(connection: Connection, spent: Spent, *, day: str, endpoint: str, model: str) -> None:
    """Add to a day's account."""
    row = {"day": day, "endpoint": endpoint, "model": model}
    empty = {name: getattr(Spent(), name) for name in Spent.__dataclass_fields__}
    insert_missing(connection, model_spending, [{**row, **empty}])
    columns = model_spending.c
    connection.execute(
        update(model_spending)
        .where(columns.day == day, columns.endpoint == endpoint, columns.model == model)
        .values({name: columns[name] + getattr(spent, name) for name in empty})
    )


def cost_of_day(connection: Connection, day: str) -> float:
    """What was spent on a UTC day, on every endpoint and model together."""
    found: float | None = connection.execute(
        select(func.sum(model_spending.c.cost)).where(model_spending.c.day == day)
    ).scalar_one()
    return found or 0.0
