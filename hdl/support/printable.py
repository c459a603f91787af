"""Texts that any file can have."""

__all__ = ["printable"]


def printable(text: str) -> str:
    """A text with a question mark for what is no character, as in names of files that are no UTF-8.

    Examples
    --------
    >>> printable("b\\udcff.dot")
    'b?.dot'
    """
    return text.encode(errors="replace").decode()
