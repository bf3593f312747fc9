"""What interviews cost, from the purse of this process into the ledger."""

from memclaw_etl.interview.model_purse import RUN_BUDGET, day_of
from memclaw_etl.lake.ledger import breakers, spending
from memclaw_etl.lake.ledger.spending import Spent
from memclaw_etl.stages.bench import Bench


def open_purse(bench: Bench) -> None:
    """Tell the purse what was spent today, by whichever process."""
    now = bench.ledger.now()
    with bench.ledger.read() as tx:
        cost = spending.cost_of_day(tx, day_of(now))
    bench.purse.open_day(now, cost=cost)


def new_budget(bench: Bench) -> None:
    """A new run begins: what waited for the budget of the one before is owed again."""
    with bench.ledger.write() as tx:
        breakers.close(tx, [RUN_BUDGET])


def must_wait(bench: Bench, interviewer: str) -> bool:
    """Whether a breaker that such an interview needs is open, and not to be probed yet."""
    with bench.ledger.read() as tx:
        opened = breakers.open_resources(tx)
    now = bench.ledger.now()
    needs = (*bench.needs(interviewer), RUN_BUDGET)
    return any(opened[resource] > now for resource in needs if resource in opened)


def book(bench: Bench) -> None:
    """Write into the ledger what was spent since the last time."""
    usage = bench.purse.take_unbooked()
    if not usage.calls:
        return
    spent = Spent(
        calls=usage.calls,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        cost=usage.cost,
    )
    add_spent(bench, spent)


def add_spent(bench: Bench, spent: Spent) -> None:
    """Add to today's account of the model in the settings."""
    model = bench.settings.model
    with bench.ledger.write() as tx:
        spending.add(
            tx, spent, day=day_of(bench.ledger.now()), endpoint=model.resource, model=model.name
        )
