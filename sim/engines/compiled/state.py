"""Saved states of the compiled engine, which can be restored, also from a file."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from zipfile import ZipFile, is_zipfile

import numpy as np
from numpy.lib import format as npy

from ....hdl.fabric.digest import digest
from ....hdl.fabric.errors import InvalidValue
from ....hdl.support.output_file import whole_file

__all__ = ["Form", "Owner", "State", "check_words"]

_FORMAT = "multicube state 3"

_LONGEST_HEAD = 2**20
"""Most bytes of a file's head, which is read before anything else."""

Form = tuple[tuple[int, ...], np.dtype]
"""Shape and type of an array."""


class Owner(NamedTuple):
    """What a state must belong to: fabrics and a run, and the forms of each machine's arrays."""

    identity: str
    run: str
    forms: tuple[tuple[Form, ...], ...]


@dataclass(frozen=True, eq=False)
class State:
    """The complete state of an engine's runs.

    Attributes
    ----------
    identity : str
        The digest of the fabrics: cells by name, their types, wires, straps and contents. Only an
        engine that runs the same fabrics can restore the state.
    cycles : tuple[int, ...]
        Cycles simulated by each of the engine's machines.
    arrays : tuple[tuple[np.ndarray, ...], ...]
        Wires, registers and memories of each machine.
    run : str
        The digest of the run to which it belongs, if it belongs to one.
    note : str
        A text that is kept with the state.
    """

    identity: str
    cycles: tuple[int, ...]
    arrays: tuple[tuple[np.ndarray, ...], ...]
    run: str = ""
    note: str = ""

    @property
    def _digest(self) -> str:
        return digest(self.identity, self.cycles, self.arrays, self.run, self.note)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file in NumPy's npz format, which holds numbers and no code."""
        head = {
            "format": _FORMAT,
            "identity": self.identity,
            "run": self.run,
            "cycles": self.cycles,
            "arrays": [len(arrays) for arrays in self.arrays],
            "digest": self._digest,
        }
        note = np.frombuffer(self.note.encode(), np.uint8)
        parts: dict[str, Any] = {  # any, since NumPy has a flag among its named arguments
            f"{number}_{index}": array
            for number, arrays in enumerate(self.arrays)
            for index, array in enumerate(arrays)
        }
        with whole_file(path) as file, file.open("wb") as stream:
            np.savez_compressed(stream, head=np.array(json.dumps(head)), note=note, **parts)

    @classmethod
    def load(cls, path: str | os.PathLike[str], owner: Owner | None = None) -> "State":
        """Read a state from a file written by `save`.

        Parameters
        ----------
        path : path-like
        owner : Owner, optional
            Whose state it must be. Another is refused before it is unpacked, however large it is.

        Raises
        ------
        OSError
            If the file can't be opened.
        ValueError
            If the file does not hold a state, or it is another's.
        """
        with open(path, "rb") as stream:
            try:
                if not is_zipfile(stream):
                    raise InvalidValue("it is no archive of arrays (.npz)")
                stream.seek(0)
                with np.load(stream, allow_pickle=False) as parts:
                    if parts.zip.getinfo("head.npy").file_size > _LONGEST_HEAD:
                        raise InvalidValue(f"its head has more than {_LONGEST_HEAD} bytes")
                    head = json.loads(str(parts["head"]))
                    if head["format"] != _FORMAT:
                        raise InvalidValue(f"its format is {head['format']!r}")
                    names = [
                        [f"{number}_{index}" for index in range(count)]
                        for number, count in enumerate(head["arrays"])
                    ]
                    if owner is not None and owner[:2] != (head["identity"], head["run"]):
                        raise _Other(f"{os.fspath(path)} is the checkpoint of another run")
                    if owner is not None and owner.forms != tuple(
                        tuple(_form(parts.zip, name) for name in each) for each in names
                    ):
                        raise InvalidValue("its arrays have other shapes or types")
                    state = cls(
                        head["identity"],
                        tuple(head["cycles"]),
                        tuple(tuple(parts[name] for name in each) for each in names),
                        head["run"],
                        parts["note"].tobytes().decode(),
                    )
                    if head["digest"] != state._digest:
                        raise InvalidValue("it is not as it was written")
                    return state
            except _Other:
                raise
            except Exception as error:  # a file can be wrong in any way
                reason = " ".join(str(error).split())
                raise InvalidValue(f"{os.fspath(path)} holds no saved state: {reason}") from None


class _Other(InvalidValue):
    """A state that is another run's."""


def _form(files: ZipFile, name: str) -> Form:
    """The form of an array in a file, of which only the beginning is read."""
    with files.open(f"{name}.npy") as file:
        version = npy.read_magic(file)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, _, type_ = read(file)
    return shape, type_


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
