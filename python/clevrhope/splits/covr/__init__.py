"""COVR's compositional splits: questions over several images, held out by what they are like."""
