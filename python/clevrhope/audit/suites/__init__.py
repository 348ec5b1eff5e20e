"""The checks of suites of paired tests: what a pair is, in code that shares nothing with what makes them."""
