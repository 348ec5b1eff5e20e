"""What every other part of the package stands on: reading and writing files safely."""
