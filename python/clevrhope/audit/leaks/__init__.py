"""The check that a held-out pair occurs where it must, and nowhere else."""
