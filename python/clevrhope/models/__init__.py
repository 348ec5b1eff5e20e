"""Models, a folder each, by name. Nothing here imports torch until a model is asked for."""
