"""Datasheets: what was measured in a folder and how it was made, in Markdown."""
