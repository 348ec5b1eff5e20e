"""The models, by name. Importing this package does not import torch."""
