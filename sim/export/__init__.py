"""Networks as libraries in C, for other simulators."""
