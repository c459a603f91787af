"""Runs of packets, of messages with values, and of programs; load sweeps."""
