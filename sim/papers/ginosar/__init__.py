"""Ginosar and Egozi 1989: communication measures of static networks."""

__all__ = ["SOURCE"]

SOURCE = "Ginosar and Egozi 1989"
