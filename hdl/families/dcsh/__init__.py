"""The Distributed Crossbar Switch Hypermesh (Ould-Khaoua and Sotudeh)."""
