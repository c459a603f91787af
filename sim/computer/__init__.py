"""Programs in C for the cores of a parallel computer: compiled, loaded, run, and explained."""
