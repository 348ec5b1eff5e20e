"""The checks of suites of paired tests, in code that shares nothing with the code that makes them."""
