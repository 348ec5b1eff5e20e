"""Settings of datasets, from presets, TOML files and the command line."""
