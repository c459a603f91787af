"""What networks of all families have in common; these are in `multicube.hdl.families`."""
