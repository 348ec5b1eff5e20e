"""Finished datasets in; tables, one JSON object and plots of what is in them out."""
