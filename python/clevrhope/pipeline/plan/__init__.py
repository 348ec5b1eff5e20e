"""A request in; how many images, questions and bytes, and how long here, out. Nothing is written."""

from clevrhope.pipeline.plan.make import make_plan
from clevrhope.pipeline.plan.result import Plan, Rates, SplitPlan
from clevrhope.pipeline.plan.words import plan_json, plan_lines

__all__ = ["Plan", "Rates", "SplitPlan", "make_plan", "plan_json", "plan_lines"]
