"""Siegel, Nation, Kruskal and Napolitano 1989: multistage cubes, and machines that use them.

Combining is here too: our own measurements of what the paper claims of it.
"""

__all__ = ["SOURCE"]

SOURCE = "Siegel et al. 1989"
