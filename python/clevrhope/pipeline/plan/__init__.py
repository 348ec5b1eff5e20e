"""What a build would make and how long it would take on this machine, without writing anything."""

from clevrhope.pipeline.plan.planner import make_plan
from clevrhope.pipeline.plan.result import Plan, Rates, SplitPlan
from clevrhope.pipeline.plan.words import plan_json, plan_lines

__all__ = ["Plan", "Rates", "SplitPlan", "make_plan", "plan_json", "plan_lines"]
