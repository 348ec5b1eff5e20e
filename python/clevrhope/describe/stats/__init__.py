"""Statistics of finished datasets, as tables, as one JSON object and as plots."""
