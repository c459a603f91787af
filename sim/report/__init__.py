"""Pictures: curves, and drawings of networks."""
