"""Pictures in, feature stores out: what models see of a picture, computed once."""
