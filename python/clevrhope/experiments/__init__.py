"""Experiments: a grid of datasets, runs and a report from one TOML file; what exists is not made again.

All heavy work is done by commands (`clevrhope build`, `features`, `train`, `evaluate`) in a process for each
run, so a run that dies takes no other with it, and an interruption loses no more than it costs those commands.
"""
