"""Feature stores: what models read of an image, computed once per image and kept on disk."""
