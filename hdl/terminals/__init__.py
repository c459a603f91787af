"""Network interfaces: the components between a terminal and the first or last box."""
