"""The catalogue: networks by name, from all families, with their parameters."""
