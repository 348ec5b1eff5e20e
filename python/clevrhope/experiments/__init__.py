"""A TOML file in, a grid of datasets, runs and a report out; what is there already is not made again.

Everything heavy is a command in a process of its own (`clevrhope build`, `features`, `train`, `evaluate`), so
a run that dies takes no other with it, and a stop at any minute loses no more than what those lose.
"""
