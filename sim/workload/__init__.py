"""What is done to a network in a run: traffic, and faults."""
