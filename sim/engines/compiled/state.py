"""Saved states of the compiled engine, which can be restored, also from a file."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....hdl.fabric.errors import InvalidValue
from ....hdl.support.output_file import whole_file

__all__ = ["State", "check_words"]

_FORMAT = "multicube state 1"


@dataclass(frozen=True, eq=False)
class State:
    """The complete state of an engine's runs.

    Attributes
    ----------
    identity : str
        A hash of the fabrics: cells by name, their types, wires and straps. Only an engine that
        runs the same fabrics can restore the state.
    cycles : tuple[int, ...]
        Cycles simulated by each of the engine's machines.
    arrays : tuple[tuple[np.ndarray, ...], ...]
        Wires, registers and memories of each machine.
    note : str
        A text that is kept with the state.
    """

    identity: str
    cycles: tuple[int, ...]
    arrays: tuple[tuple[np.ndarray, ...], ...]
    note: str = ""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file in NumPy's npz format, which holds numbers and no code."""
        head = {
            "format": _FORMAT,
            "identity": self.identity,
            "cycles": self.cycles,
            "arrays": [len(arrays) for arrays in self.arrays],
            "note": self.note,
        }
        parts: dict[str, Any] = {  # any, since NumPy has a flag among its named arguments
            f"{number}_{index}": array
            for number, arrays in enumerate(self.arrays)
            for index, array in enumerate(arrays)
        }
        with whole_file(path) as file, file.open("wb") as stream:
            np.savez_compressed(stream, head=np.array(json.dumps(head)), **parts)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "State":
        """Read a state from a file written by `save`.

        Raises
        ------
        OSError
            If the file can't be opened.
        ValueError
            If the file does not hold a state.
        """
        with open(path, "rb") as stream:
            try:
                with np.load(stream, allow_pickle=False) as parts:
                    head = json.loads(str(parts["head"]))
                    if head["format"] != _FORMAT:
                        raise InvalidValue(f"its format is {head['format']!r}")
                    arrays = tuple(
                        tuple(parts[f"{number}_{index}"] for index in range(count))
                        for number, count in enumerate(head["arrays"])
                    )
                    note = str(head.get("note", ""))
                    return cls(head["identity"], tuple(head["cycles"]), arrays, note)
            except Exception as error:  # a file can be wrong in any way
                reason = " ".join(str(error).split())
                raise InvalidValue(f"{os.fspath(path)} holds no saved state: {reason}") from None


def check_words(what: str, words: np.ndarray, widths: Sequence[int]) -> None:
    """Check words in the form of the compiled code: a single bit is all ones or all zeros.

    Parameters
    ----------
    what : str
    words : np.ndarray
        [vector][word][lane]
    widths : Sequence[int]
        Of each word.

    Raises
    ------
    ValueError
        If a word is larger than its width allows.
    """
    limits = np.array([(1 << width) - 1 for width in widths], np.uint32)[:, None]
    bits = np.array([width == 1 for width in widths], bool)[:, None]
    # 1 more than all ones is 0.
    if not np.all(np.where(bits, words + np.uint32(1) <= 1, words <= limits)):
        raise InvalidValue(f"State has {what} that do not fit their width")
