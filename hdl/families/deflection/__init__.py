"""Tori whose packets are deflected where others wait."""
