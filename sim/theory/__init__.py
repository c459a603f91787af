"""Theory: what the papers' formulas predict."""

from .prediction import Prediction, predict

__all__ = ["Prediction", "predict"]
