"""The appearance of the names in scenes: colors, materials and meshes, from JSON and .blend files."""
