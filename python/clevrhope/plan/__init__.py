"""A request in; how many pictures, questions and bytes, and how long here, out. Nothing is written."""

from clevrhope.plan.make import make_plan
from clevrhope.plan.result import Plan, Rates, SplitPlan
from clevrhope.plan.told import plan_json, plan_lines

__all__ = ["Plan", "Rates", "SplitPlan", "make_plan", "plan_json", "plan_lines"]
