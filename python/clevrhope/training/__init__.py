"""A dataset, a model and its recipe in; a run folder with weights, log and predictions out."""
