"""Results of runs: counts, latencies, and the order of operations on memory."""
