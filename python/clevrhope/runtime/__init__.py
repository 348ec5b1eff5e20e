"""The foundation of all other parts of the package: reading and writing files safely."""
