"""How many of what, in words."""

__all__ = ["counted"]


def counted(count: int, what: str) -> str:
    """A number and what is counted, in the singular for 1.

    Examples
    --------
    >>> counted(1, "link"), counted(0, "link")
    ('1 link', '0 links')
    """
    return f"{count} {what}{'s'[: count != 1]}"
