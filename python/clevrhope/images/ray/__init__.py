"""Renderers in the actors of a Ray cluster, on any number of machines."""
