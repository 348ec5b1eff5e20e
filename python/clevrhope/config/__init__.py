"""Settings of datasets and models, from presets, TOML files and the command line."""
