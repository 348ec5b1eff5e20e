"""COVR's compositional splits: questions over several images, held out by their properties or terms."""
