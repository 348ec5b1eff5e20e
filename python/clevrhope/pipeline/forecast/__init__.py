"""What a build would make and how long it would take on this machine, without writing anything."""

from clevrhope.pipeline.forecast.plan import make_plan
from clevrhope.pipeline.forecast.words import plan_json, plan_lines

__all__ = ["make_plan", "plan_json", "plan_lines"]
