"""Network interfaces: what stands between a terminal and the first or last box."""
