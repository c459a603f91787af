"""Files, processes, interruption, and imports that wait."""
