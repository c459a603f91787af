"""Runs: of packets, of messages with values, of programs, and of many loads."""
