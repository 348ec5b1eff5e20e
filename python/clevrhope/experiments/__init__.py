"""Experiments: a grid of datasets, runs and a report from one TOML file; what exists is not made again.

Commands (`clevrhope build`, `features`, `train`, `evaluate`) do all heavy work. The commands of each run
have a process of their own, so a run that dies takes no other with it, and an interruption costs no more
than it would cost the command under way.
"""
