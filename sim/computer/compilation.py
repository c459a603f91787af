"""Compiles programs in C for the cores of a parallel computer, with the clang of ziglang."""

import importlib.util
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from subprocess import CompletedProcess

from ...hdl.computer.address_map import DEVICES, LOCAL, PROGRAM, SHARED, SHARED_BITS, WINDOW_SHIFT
from ...hdl.fabric.checks import check_integer, check_path, check_several, shown
from ...hdl.fabric.errors import InvalidValue, MulticubeError
from ...hdl.support.children import scratch_folder
from ...hdl.support.input_file import read_content
from ..engines.compiled.build import called
from .defaults import STACK_BYTES
from .program_image import ProgramImage, read_image

__all__ = ["compile_program"]

_MOST_STACK = 1 << 20
_HERE = Path(__file__).parent
_COMPILER = (sys.executable, "-m", "ziglang", "cc", "-target", "riscv32-freestanding-none")
_OPTIONS = (
    "-mcpu=generic_rv32+m",
    "-std=gnu11",
    "-O2",
    "-fhosted",  # so main returns 0 if it says nothing
    "-Werror=main-return-type",
    "-fno-builtin",
    "-fno-sanitize=all",
    "-fno-stack-protector",
    "-fno-asynchronous-unwind-tables",
    "-ffunction-sections",
    "-fdata-sections",
    "-mno-relax",
    f"-I{_HERE / 'include'}",
    f"-DMC_DEVICES={DEVICES:#x}u",
    f"-DMC_WINDOW_SHIFT={WINDOW_SHIFT}",
)
_LINK = ("-Wl,-T,memory.ld", "-Wl,--gc-sections")

_MEMORY = """\
ENTRY(_start)
MEMORY {{
  program : ORIGIN = {program:#x}, LENGTH = {program:#x}
  own : ORIGIN = {own:#x}, LENGTH = {own:#x}
  shared : ORIGIN = {shared:#x}, LENGTH = {shared_bytes:#x}
}}
SECTIONS {{
  .text : {{
    KEEP(*(.text.start)) *(.text .text.*) *(.rodata .rodata.* .srodata .srodata.*)
  }} > program
  mc_stack_top = {own:#x} + {stack};
  .own mc_stack_top : {{ *(.own) }} > own
  .data : {{ *(.data .data.* .sdata .sdata.*) }} > shared
  .bss : {{ *(.bss .bss.* .sbss .sbss.* COMMON) }} > shared
  .init_array : {{ *(.init_array .init_array.*) }} > shared
  ASSERT(SIZEOF(.init_array) == 0, "no constructors: cores begin at main")
  .tdata : {{ *(.tdata .tdata.* .tbss .tbss.*) }} > shared
  ASSERT(SIZEOF(.tdata) == 0, "no thread-local variables: a core's own are mc_own")
  /DISCARD/ : {{ *(.eh_frame .eh_frame_hdr .comment) }}
  .named : {{ INPUT_SECTION_FLAGS(SHF_WRITE) *(*) }} > shared
}}
"""
"""The script of the linker. The regions of the program and of a core's own memory are as long as
their first address is high."""


_TOO_LARGE = {
    "program": "code and constants are too large",
    "own": "the stack and what is mc_own are too large",
    "shared": "globals are too large",
}
"""By the region of the linker's script that overflows."""


_ATOMIC = "undefined symbol: __atomic"
"""What C's atomics need, which the compiler makes of others of them, without an end."""


def _macro(define: object) -> str:
    """Check a macro."""
    if not isinstance(define, str) or not re.fullmatch(r"[A-Za-z_]\w*(=[^\n\0]*)?", define):
        raise InvalidValue(f"Macro must be NAME or NAME=VALUE, not {shown(define)}")
    return define


def compile_program(
    program: str | os.PathLike[str], *, defines: Sequence[str] = (), stack: int = STACK_BYTES
) -> ProgramImage:
    """Compile a program, and link it with its runtime.

    Parameters
    ----------
    program : path-like
    defines : Sequence[str]
        Macros, such as `N=64`.
    stack : int
        Bytes of each core's stack.

    Returns
    -------
    ProgramImage

    Raises
    ------
    MulticubeError
        If the compiler is not installed.
    TypeError, ValueError
        If an argument is not as above, or the compiler does not accept the program: its first
        error, with file and line.
    """
    if importlib.util.find_spec("ziglang") is None:
        raise MulticubeError("ziglang is not installed: pip install 'multicube[computer]'")
    stack = check_integer("Stack", stack, 64, _MOST_STACK)
    if stack % 16:
        raise InvalidValue(f"Stack must be a multiple of 16 bytes, not {stack}")
    check_path("Program", program)
    options = [f"-D{_macro(define)}" for define in check_several("Macros", defines, "texts")]
    source = Path(program).absolute()
    read_content("Program", program)
    with scratch_folder() as work:
        script = _MEMORY.format(
            program=PROGRAM, own=LOCAL, stack=stack, shared=SHARED, shared_bytes=4 << SHARED_BITS
        )
        (work / "memory.ld").write_text(script, "utf-8")
        _call(work, *_OPTIONS, "-g0", "-c", str(_HERE / "runtime.c"), "-o", "runtime.o")
        options.append(f"-DMC_WORK={work.name}")  # new each time: ziglang's cache has no warnings
        flags = ("-g", "-gdwarf-4", *options, "-c", "-x", "c", str(source), "-o", "program.o")
        done = _call(work, *_OPTIONS, *flags)
        said = done.stderr
        if not done.returncode:
            done = _link(work)
        if done.returncode:
            raise InvalidValue(_first_error(done.stderr, source))
        return replace(read_image((work / "program.elf").read_bytes()), warnings=said)


def _call(work: Path, *words: str) -> CompletedProcess[str]:
    return called([*_COMPILER, *words], work)


def _link(work: Path) -> CompletedProcess[str]:
    """Link, with the compiler's own functions (floating point, memcpy) only if they are needed:
    the first time it must build these."""
    words = ("-mcpu=generic_rv32+m", *_LINK, "runtime.o", "program.o", "-o", "program.elf")
    done = _call(work, "-nostdlib", *words)
    if done.returncode and "undefined symbol" in done.stderr and _ATOMIC not in done.stderr:
        done = _call(work, *words)
    return done


def _first_error(said: str, source: Path) -> str:
    """The first error, in one line; the file is named as the user knows it."""
    lines = said.splitlines()
    sign = _ATOMIC if _ATOMIC in said else "error:"
    first = next((line for line in lines if sign in line), lines[0] if lines else "no message")
    place = re.search(r">>> referenced by (\S+:\d+)", said.partition(first)[2])
    first = first.replace(f"{source.parent}/", "").removeprefix("ld.lld: ")
    if _ATOMIC in first:
        first += " (shared words are updated by mc_fetch_add and the like)"
    if "undefined symbol" in first:
        return f"{Path(place[1]).name if place else source.name}: {first}"
    if overflow := re.search(r"will not fit in region '(\w+)': overflowed by (\d+)", first):
        first = f"error: {_TOO_LARGE[overflow[1]]} by {overflow[2]} bytes"
    return f"{source.name}: {first}" if first.startswith("error:") else first
