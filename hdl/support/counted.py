"""How many of what, in words."""

__all__ = ["counted"]


def counted(count: int, what: str, several: str = "") -> str:
    """A number and what is counted, in the singular for 1; else `several`, or with an s.

    Examples
    --------
    >>> counted(1, "link"), counted(0, "link"), counted(2, "box", "boxes")
    ('1 link', '0 links', '2 boxes')
    """
    return f"{count} {what if count == 1 else several or f'{what}s'}"
