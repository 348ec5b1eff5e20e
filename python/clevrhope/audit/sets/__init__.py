"""The checks of questions over several images."""
