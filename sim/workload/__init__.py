"""The workload of a run: traffic, and injected faults."""
