"""Settings and schedules of permutations, copies and steps."""
