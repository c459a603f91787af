"""Locks of folders, which no process outlives."""

import hashlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["locked"]

_AnyPath = str | os.PathLike[str]

if sys.platform == "win32":
    import ctypes
    from ctypes import wintypes

    _LOOK_MILLISECONDS = 100
    """How long to wait at once: Ctrl-C is not noticed before the end of a wait."""

    _OURS = (0x00, 0x80)
    """What a wait ends with if the lock is ours: also if the process that had it has ended."""
    _LATER = 0x102

    _kernel = ctypes.WinDLL("kernel32", use_last_error=True)
    _kernel.CreateMutexW.argtypes = wintypes.LPVOID, wintypes.BOOL, wintypes.LPCWSTR
    _kernel.CreateMutexW.restype = wintypes.HANDLE
    _kernel.WaitForSingleObject.argtypes = wintypes.HANDLE, wintypes.DWORD
    _kernel.WaitForSingleObject.restype = wintypes.DWORD
    _kernel.ReleaseMutex.argtypes = _kernel.CloseHandle.argtypes = (wintypes.HANDLE,)

    @contextmanager
    def _locked(folder: _AnyPath, wait: bool) -> Iterator[bool]:
        # A mutex of the system: a folder can't be locked there, and a file in it would stay.
        place = os.path.normcase(os.path.realpath(folder))
        name = f"multicube-{hashlib.sha256(place.encode()).hexdigest()}"
        handle = _kernel.CreateMutexW(None, False, name)
        if not handle:
            raise ctypes.WinError(ctypes.get_last_error())
        try:
            state = _kernel.WaitForSingleObject(handle, 0)
            while wait and state == _LATER:
                state = _kernel.WaitForSingleObject(handle, _LOOK_MILLISECONDS)
            try:
                yield state in _OURS
            finally:
                if state in _OURS:
                    _kernel.ReleaseMutex(handle)
        finally:
            _kernel.CloseHandle(handle)

else:
    import fcntl

    @contextmanager
    def _locked(folder: _AnyPath, wait: bool) -> Iterator[bool]:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                yield False
            else:
                yield True
        finally:
            os.close(descriptor)


@contextmanager
def locked(folder: _AnyPath, *, wait: bool = True) -> Iterator[bool]:
    """Lock a folder; the value is whether it is locked.

    If another process has locked it, this waits for its end, or has the value False without `wait`.

    Raises
    ------
    OSError
        If the folder can't be opened, or its file system knows no locks.
    """
    with _locked(folder, wait) as ours:
        yield ours
