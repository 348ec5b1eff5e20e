"""Settings of a dataset: presets, TOML files, and what the command line says over them."""
