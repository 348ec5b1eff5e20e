"""Trains models (`clevrhope.training.run`) and evaluates them (`clevrhope.training.evaluation`)."""
