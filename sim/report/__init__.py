"""Figures: measured curves, and drawings of networks."""
