"""Experiments: a grid of datasets, runs and a report from one TOML file; what exists is not made again.

Commands (`clevrhope build`, `features`, `train`, `evaluate`) do all heavy work. Each run has a process of its
own, so a run that crashes stops no other, and an interruption loses no more than the command itself would.
"""
