"""Speeds of the engine, of rendering and of the models, measured on this machine."""
