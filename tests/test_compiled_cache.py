"""What was compiled is kept: found again, made anew when damaged, bounded, safe in parallel."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import psutil
import pytest
from multicube.sim.engines.compiled import build
from multicube.sim.engines.compiled.compiled_errors import CompilerFailed, NoCompiler
from started import run_tool, started, wait_for

Compilations = list[list[str]]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("MULTICUBE_CACHE", str(folder))
    return folder


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> Compilations:
    """The calls of the C compiler, but for those that ask for its version."""
    calls: Compilations = []
    run = build.run_program

    def counted(command: list[str], **options: Any) -> Any:
        if "--version" not in command:
            calls.append(command)
        return run(command, **options)

    monkeypatch.setattr(build, "run_program", counted)
    return calls


def program(number: int) -> str:
    return f"int answer(void) {{ return {number}; }}"


def answer(number: int) -> int:
    return build.load_library(program(number)).answer()


def test_second_time_compiles_nothing(cache: Path, compilations: Compilations) -> None:
    assert [answer(1), answer(1), answer(2)] == [1, 1, 2]
    assert len(compilations) == 2
    assert len(list(cache.iterdir())) == 2
    assert {path.suffix for path in cache.iterdir()} == {".so"}


_SOURCES = """
from multicube.hdl import build
from multicube.hdl.fabric.digest import digest
from multicube.sim import simulate
from multicube.sim.engines.compiled import machine

def say(wanted):
    print(digest([source for source, _ in wanted]))
    raise SystemExit

machine.load_libraries = say
simulate(build("cube", ports=32), load=0.1, cycles=100)
"""


def test_another_process_writes_the_same_program() -> None:
    """Else nothing compiled is found again, and a checkpoint is another run's."""
    found = [
        run_tool(sys.executable, "-c", _SOURCES, folder=Path.cwd(), PYTHONHASHSEED=seed)
        for seed in ("1", "2")
    ]
    assert len(found[0]) == 33
    assert found[0] == found[1]


def test_other_compiler_or_options_compile_anew(
    cache: Path, compilations: Compilations, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = build.library(program(1))
    monkeypatch.setenv("CC", f"{build.compiler_command()[0]} -DOTHER")
    assert build.library(program(1)) != path
    assert len(compilations) == 2
    assert compilations[1][1] == "-DOTHER"
    monkeypatch.setenv("CFLAGS", "-O0 -DMORE")
    build.library(program(1))
    assert len(compilations) == 3
    assert compilations[2].index("-DOTHER") < compilations[2].index("-O1")
    assert compilations[2].index("-O1") < compilations[2].index("-O0")
    assert "-DMORE" in compilations[2]


@pytest.mark.parametrize("caller", ["", "sh "])
def test_another_program_in_place_of_the_compiler_compiles_anew(
    caller: str,
    cache: Path,
    compilations: Compilations,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It has the same path, and says the same of its version."""
    compiler = tmp_path / "compiler"
    real = build.compiler_command()[0]
    monkeypatch.setenv("CC", f"{caller}{compiler}")
    paths = []
    for option in ("-DFIRST", "-DSECOND", "-DSECOND"):
        text = f'#!/bin/sh\nexec {real} {option} "$@"\n'
        if not compiler.exists() or compiler.read_text() != text:
            compiler.write_text(text)
            compiler.chmod(0o700)
        paths.append(build.library(program(1)))
    assert len(compilations) == 2
    assert paths[0] != paths[1] == paths[2]


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: b"no library",
        lambda content: content[:1000],
        lambda content: content[: len(content) // 2],
        lambda content: content[:-1],
        lambda content: content[:5000] + b"damaged" + content[5007:],
    ],
)
def test_damaged_library_is_made_anew(
    damage: Callable[[bytes], bytes], cache: Path, compilations: Compilations
) -> None:
    path = build.library(program(3))
    content = path.read_bytes()
    path.unlink()  # never write into a file that may be mapped
    path.write_bytes(damage(content))
    assert answer(3) == 3
    assert len(compilations) == 2
    assert list(cache.iterdir()) == [path]


def test_library_that_does_not_load_is_made_anew(
    cache: Path, compilations: Compilations, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = build.library(program(4))
    path.unlink()
    path.write_bytes(b"whole, but no library")
    path.rename(path.with_name(f"{path.stem.split('-')[0]}-{build._digest(path)}.so"))
    assert answer(4) == 4
    assert len(compilations) == 2
    assert list(cache.iterdir()) == [path]


def test_library_that_never_loads(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str) -> None:
        raise OSError("failed to map segment")

    monkeypatch.setattr(build.ctypes, "CDLL", refuse)
    with pytest.raises(CompilerFailed, match="can't be loaded: failed to map segment"):
        answer(5)


def test_failing_compiler(cache: Path) -> None:
    with pytest.raises(CompilerFailed, match="error") as caught:
        build.library("this is no C")
    assert "\n" not in str(caught.value)
    assert list(cache.iterdir()) == []


def test_bytes_of_libraries_are_bounded(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = []
    for number in range(3):
        paths.append(build.library(program(number)))
        os.utime(paths[-1], (1000 + number, 1000 + number))
    size = paths[0].stat().st_size
    assert {path.stat().st_size for path in paths} == {size}
    monkeypatch.setattr(build, "CACHE_LIMIT", 3 * size)
    assert build.library(program(0)) == paths[0]  # used again
    newest = build.library(program(3))
    assert set(cache.iterdir()) == {paths[0], paths[2], newest}
    monkeypatch.setattr(build, "CACHE_LIMIT", 2 * size - 1)
    newest = build.library(program(4))
    assert list(cache.iterdir()) == [newest]
    monkeypatch.setattr(build, "CACHE_LIMIT", 0)
    assert build.library(program(4)) == newest
    newest = build.library(program(5))
    assert list(cache.iterdir()) == [newest]


def test_folders_of_killed_runs_are_removed(cache: Path) -> None:
    for name, age in (("building-old", 100), ("building-locked", 100), ("building-young", 5)):
        (cache / name).mkdir(parents=True)
        (cache / name / "network.c").touch()
        then = time.time() - age
        os.utime(cache / name, (then, then))
    with build._locked(cache / "building-locked") as locked:
        assert locked
        path = build.library(program(6))
    assert set(cache.iterdir()) == {path, cache / "building-locked", cache / "building-young"}
    build.library(program(7))
    assert not (cache / "building-locked").exists()


COMPILER = """
import os, subprocess, sys
if "--version" in sys.argv:
    sys.exit()
open(os.path.join(os.environ["TMPDIR"], "cc1.s"), "w").close()
print(os.getcwd(), file=open(sys.argv[0] + ".runs", "w"))
subprocess.run(["sleep", "300"])
"""


def test_a_killed_run_leaves_neither_compiler_nor_files(cache: Path, tmp_path: Path) -> None:
    compiler = tmp_path / "cc"
    compiler.write_text(f"#!{sys.executable}\n{COMPILER}")
    compiler.chmod(0o755)
    code = "from multicube.sim.engines.compiled import build; build.library('int answer;')"
    environment = {**os.environ, "CC": str(compiler)}
    runs = tmp_path / "cc.runs"
    words = [sys.executable, "-c", code]
    with started(words, env=environment, stdout=None, stderr=None) as process:
        wait_for(lambda: runs.exists() and runs.read_text())
        (work,) = cache.iterdir()
        assert work == Path(runs.read_text().strip())
        assert (work / "cc1.s").exists()
        programs: list[psutil.Process] = []

        def both() -> bool:
            below = psutil.Process(process.pid).children(recursive=True)
            programs[:] = (each for each in below if each.name() != "sh")
            return len(programs) == 2

        wait_for(both)
        process.kill()
        _, alive = psutil.wait_procs(programs, timeout=120)
        assert not [each for each in alive if each.status() != psutil.STATUS_ZOMBIE]
        wait_for(lambda: not work.exists())


@pytest.mark.long
def test_processes_at_once(cache: Path) -> None:
    code = (
        "from multicube.sim.engines.compiled import build;"
        "print([build.load_library(f'int answer(void) {{ return {n}; }}').answer()"
        " for n in range(5)])"
    )
    command = [sys.executable, "-c", code]
    processes = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    for process in processes:
        assert process.communicate(timeout=300) == ("[0, 1, 2, 3, 4]\n", "")
    assert [path.suffix for path in cache.iterdir()] == [".so"] * 5


def plant(cache: Path, number: int) -> Path:
    """Code that nobody asked for, as the cache's own library of a program."""
    path = build.library(program(number))
    evil = build.library("int answer(void) { return 666; }")
    path.unlink()
    planted = path.with_name(f"{path.stem.split('-')[0]}-{build._digest(evil)}.so")
    evil.rename(planted)
    return planted


def test_planted_library_would_run_if_it_were_ours(cache: Path) -> None:
    """What the next tests are about: the name says nothing of who has made a library."""
    plant(cache, 20)
    assert answer(20) == 666


@pytest.mark.parametrize(
    ("above", "mode"), [(0, 0o777), (0, 0o770), (0, 0o1777), (1, 0o777), (2, 0o707)]
)
def test_nothing_is_loaded_from_a_folder_that_others_can_write_to(
    above: int, mode: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "home" / "user" / "cache"
    monkeypatch.setenv("MULTICUBE_CACHE", str(cache))
    planted = plant(cache, 21)
    [cache, *cache.parents][above].chmod(mode)
    assert answer(21) == 21
    assert list(cache.iterdir()) == [planted]


def test_nothing_is_loaded_from_a_folder_below_anothers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "home" / "cache"
    monkeypatch.setenv("MULTICUBE_CACHE", str(cache))
    plant(cache, 26)
    usual = Path.stat

    def of_another(path: Path, **options: Any) -> Any:
        found = usual(path, **options)
        return os.stat_result((*found[:4], 4711, *found[5:])) if path == cache.parent else found

    monkeypatch.setattr(Path, "stat", of_another)
    assert answer(26) == 26


def test_nothing_is_loaded_from_anothers_folder(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = plant(cache, 22)
    mine = os.geteuid()
    monkeypatch.setattr(build.os, "geteuid", lambda: mine + 1)
    assert answer(22) == 22
    assert list(cache.iterdir()) == [planted]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_anothers_library_is_made_anew(cache: Path) -> None:
    os.chown(plant(cache, 23), 4711, 4711)
    assert answer(23) == 23
    assert answer(23) == 23


@pytest.mark.parametrize("mode", [0o770, 0o606])
def test_library_that_others_can_write_to_is_made_anew(mode: int, cache: Path) -> None:
    plant(cache, 24).chmod(mode)
    assert answer(24) == 24


@pytest.mark.parametrize("what", ["folder", "library"])
def test_links_are_not_followed(
    what: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = plant(cache, 25)
    if what == "folder":
        (tmp_path / "link").symlink_to(cache)
        monkeypatch.setenv("MULTICUBE_CACHE", str(tmp_path / "link"))
    else:
        planted.rename(tmp_path / planted.name)
        planted.symlink_to(tmp_path / planted.name)
    assert answer(25) == 25
    assert what == "folder" or not planted.is_symlink()


def test_cache_is_for_its_user_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "new" / "cache"
    monkeypatch.setenv("MULTICUBE_CACHE", str(cache))
    mask = os.umask(0o002)
    try:
        path = build.library(program(27))
    finally:
        os.umask(mask)
    modes = [found.stat().st_mode & 0o777 for found in (cache.parent, cache, path)]
    assert modes == [0o775, 0o700, 0o700]
    assert build.library(program(27)) == path


def test_cache_in_the_folder_one_is_in(
    compilations: Compilations, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.chdir(tmp_path)
    for name in (".", "cache"):
        monkeypatch.setenv("MULTICUBE_CACHE", name)
        assert [answer(28), answer(28)] == [28, 28]
    assert len(compilations) == 2
    monkeypatch.delenv("MULTICUBE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "xdg")
    assert build.cache_folder() == tmp_path / "xdg" / "multicube"


def test_library_without_the_function_is_made_anew(cache: Path, compilations: Compilations) -> None:
    path = build.library(program(29))
    other = build.library("int another(void) { return 1; }")
    path.unlink()
    other.rename(path.with_name(f"{path.stem.split('-')[0]}-{build._digest(other)}.so"))
    assert build.load_library(program(29), ["answer"]).answer() == 29
    assert len(compilations) == 3
    with pytest.raises(CompilerFailed, match="has no function another"):
        build.load_library(program(29), ["another"])


@pytest.mark.parametrize("where", ["file", "below a file"])
def test_cache_that_cannot_be_written(
    where: str, tmp_path: Path, compilations: Compilations, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.touch()
    folder = file if where == "file" else file / "deep" / "cache"
    monkeypatch.setenv("MULTICUBE_CACHE", str(folder))
    number = 7 if where == "file" else 8
    path = build.library(program(number))
    assert answer(number) == number
    assert build.library(program(number)) == path
    assert len(compilations) == 1
    assert tmp_path not in path.parents


def test_cache_on_a_full_disk(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library is kept elsewhere, until the process ends."""
    called = build.called
    said = "ld: final link failed: No space left on device\ncollect2: error: ld returned 1"

    def full(command: Sequence[str], folder: Path | None = None) -> CompletedProcess[str]:
        if folder is not None and cache in folder.parents:
            return CompletedProcess(command, 1, "", said)
        return called(command, folder)

    monkeypatch.setattr(build, "called", full)
    assert answer(20) == 20
    assert cache not in build.library(program(20)).parents


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_read_only_cache(cache: Path, compilations: Compilations) -> None:
    path = build.library(program(9))
    cache.chmod(0o555)
    try:
        assert build.library(program(9)) == path
        assert answer(10) == 10
    finally:
        cache.chmod(0o755)
    assert list(cache.iterdir()) == [path]


def test_no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("MULTICUBE_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    assert answer(11) == 11


@pytest.fixture(params=[None, "file"])
def no_home(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "XDG_CACHE_HOME", "ZIG_GLOBAL_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    if request.param is not None:
        (tmp_path / request.param).touch()
        monkeypatch.setenv("HOME", str(tmp_path / request.param))


@pytest.mark.long
@pytest.mark.usefixtures("no_home", "cache")
def test_ziglang_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """It needs a cache of its own, and gets one until the process ends."""
    monkeypatch.setenv("CC", f"{sys.executable} -m ziglang cc")
    assert answer(12) == 12


@pytest.mark.usefixtures("no_home")
def test_the_cache_of_ziglang_without_a_home() -> None:
    shown = [sys.executable, "-c", "import os; print(os.environ['ZIG_GLOBAL_CACHE_DIR'])"]
    assert os.access(build.called([*shown, "ziglang"]).stdout.strip(), os.W_OK)


def test_cache_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MULTICUBE_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert build.cache_folder() == Path.home() / ".cache" / "multicube"
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert build.cache_folder() == Path("/somewhere/multicube")
    monkeypatch.setenv("MULTICUBE_CACHE", "/mine")
    assert build.cache_folder() == Path("/mine")


def test_compiler_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def tool(name: str) -> None:
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)

    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(build.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(NoCompiler, match="pip install ziglang"):
        build.compiler_command()
    build._command.cache_clear()
    monkeypatch.setattr(build.importlib.util, "find_spec", lambda name: object())
    assert build.compiler_command() == (sys.executable, "-m", "ziglang", "cc")
    for name in ("clang", "gcc", "cc", "mine"):
        build._command.cache_clear()
        tool(name)
        if name != "mine":
            assert build.compiler_command() == (str(tmp_path / name),)
    monkeypatch.setenv("CC", "mine -m32 '-DX=a b'")
    assert build.compiler_command() == (str(tmp_path / "mine"), "-m32", "-DX=a b")
    monkeypatch.setenv("CC", "missing")
    with pytest.raises(NoCompiler, match="named by CC, 'missing', was not found"):
        build.compiler_command()
    build._command.cache_clear()


@pytest.mark.parametrize("blank", ["", "  "])
def test_blank_compiler_is_none(blank: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CC", raising=False)
    usual = build.compiler_command()
    monkeypatch.setenv("CC", blank)
    assert build.compiler_command() == usual


def of_nothing(path: Path) -> Path:
    """A file that may be executed, and is no program."""
    path.write_bytes(b"\x00\x01")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("cc 'x", 'CC is not a command, "cc \'x": No closing quotation'),
        ("{folder}", "named by CC, '{folder}', was not found"),
        ("{folder}/text", "{folder}/text can't be run: Exec format error"),
        ("false", "false failed: exit status 1, and no library"),
        ("true", "true failed: exit status 0, and no library"),
    ],
)
def test_odd_compiler(
    command: str, message: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_nothing(tmp_path / "text")
    monkeypatch.setenv("CC", command.format(folder=tmp_path))
    expected = re.escape(message.format(folder=tmp_path))
    with pytest.raises((NoCompiler, CompilerFailed), match=expected) as caught:
        build.library(program(30))
    assert "\n" not in str(caught.value)


def test_odd_options(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CFLAGS", '-DX="1')
    with pytest.raises(CompilerFailed, match="CFLAGS are not options, '-DX=\"1': No closing"):
        build.library(program(31))


def test_complaint_in_no_encoding(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "mine"
    script.write_text("#!/bin/sh\nprintf 'error: \\377' >&2; exit 1\n")
    script.chmod(0o755)
    monkeypatch.setenv("CC", str(script))
    with pytest.raises(CompilerFailed, match="mine failed: error"):
        build.library(program(32))
