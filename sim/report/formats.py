"""The formats of files that results can be written to, by the suffixes of their names."""

__all__ = ["FORMATS", "PICTURES"]

PICTURES = (".svg", ".png", ".pdf")

FORMATS = (".csv", ".json", *PICTURES)
