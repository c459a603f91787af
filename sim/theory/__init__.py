"""Theory: what the papers' formulas predict."""

from .prediction import predicted_latency

__all__ = ["predicted_latency"]
