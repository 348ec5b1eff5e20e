"""A TOML file in, a grid of datasets, runs and a report out; what is there already is not made again.

Everything heavy is a command in a process of its own (`clevrhope build`, `features`, `train`, `evaluate`), so
a run that dies takes no other with it, and a stop at any minute loses no more than what those lose.
"""

from clevrhope.experiments.checks import check_plan
from clevrhope.experiments.config import Experiment, read_experiment
from clevrhope.experiments.plan import Plan, Step, make_plan
from clevrhope.experiments.run import Outcome, run_experiment

__all__ = [
    "Experiment",
    "Outcome",
    "Plan",
    "Step",
    "check_plan",
    "make_plan",
    "read_experiment",
    "run_experiment",
]
