"""A shared bus."""
