"""A schedule and an update in, what the rate is multiplied with out."""

from clevrhope.models.recipe import Schedule


def factor(schedule: Schedule, update: int, updates: int) -> float:
    """What update number `update`, from 0, of `updates` multiplies the rate with.

    Public LXMERT code reads its schedule before it counts the update, so a warm-up begins with the rate 0;
    "linear" would be at 0 at the update behind the last one.
    """
    done = update / updates
    if schedule.kind == "constant":
        return 1.0
    if schedule.kind == "linear":
        return 1 - done
    if done < schedule.warmup:
        return done / schedule.warmup
    return (1 - done) / (1 - schedule.warmup)
