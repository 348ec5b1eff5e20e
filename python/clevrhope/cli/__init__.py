"""The commands, which translate options and results and do nothing else."""
