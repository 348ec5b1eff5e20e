"""Datasheets in Markdown: the measurements of a folder and how it was made."""
