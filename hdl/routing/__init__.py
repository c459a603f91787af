"""Which channels packets take, which permutations pass, and whether packets can deadlock."""
