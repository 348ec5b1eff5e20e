"""Measurements of finished datasets, and the pages, tables and plots that show them."""
