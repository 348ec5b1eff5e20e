"""What the names in scenes look like: colors, materials and meshes, from JSON and .blend files."""
