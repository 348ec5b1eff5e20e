"""The check that a held-out pair is where it must be, and nowhere else."""
