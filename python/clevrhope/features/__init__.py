"""Feature stores: the inputs that models read from images, computed once per image and kept on disk."""
