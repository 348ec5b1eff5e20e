"""Images in, feature stores out: what models see of an image, computed once."""
