"""Queues, arbiters and random numbers, of which boxes, routers and the bench are made."""
