"""Theory: the predictions of the papers' formulas."""

from .prediction import Prediction, predict

__all__ = ["Prediction", "predict"]
