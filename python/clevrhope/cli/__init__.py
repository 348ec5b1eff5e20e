"""The commands, which only translate options and results; `clevrhope.__main__` collects them."""
