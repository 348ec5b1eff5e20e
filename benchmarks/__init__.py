"""Measures the speed of the engine, of rendering and of the models on this machine."""
