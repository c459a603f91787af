"""What a run has shown: results, their statistics, and the order of operations on memory."""
