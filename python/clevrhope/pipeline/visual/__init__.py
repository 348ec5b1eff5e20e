"""Visual tests: the same question about an edited image (docs/suites.md describes them)."""
