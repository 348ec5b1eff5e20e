"""A dataset, a model and its recipe in; a run folder with weights, log and predictions out.

`clevrhope.training.run.train` trains, `clevrhope.training.evaluation.evaluate` predicts.
"""
