"""Checks that constructors share: what the messages suggest."""

import pytest
from multicube.hdl.fabric.checks import nearest

NETWORKS = ("cube", "omega", "torus", "mesh", "hypercube", "rp3-combining")


@pytest.mark.parametrize(
    ("word", "meant"),
    [("tours", "torus"), ("HyperCub", "hypercube"), ("rp3combining", "rp3-combining")],
)
def test_nearest_suggests_the_most_similar_word(word: str, meant: str) -> None:
    assert nearest(word, NETWORKS) == f"; did you mean {meant!r}?"


@pytest.mark.parametrize("word", ["", "xyzzy", 7, None])
def test_nearest_suggests_nothing_if_no_word_is_similar(word: object) -> None:
    assert nearest(word, NETWORKS) == ""


def test_nearest_writes_a_word_as_it_is_allowed() -> None:
    assert nearest("clockmhz", ["clock_MHz"]) == "; did you mean 'clock_MHz'?"
