"""Queues, arbiters and random numbers: the parts of boxes, routers and the test bench."""
