"""What was compiled is kept: found again, made anew when damaged, bounded, safe in parallel."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from multicube.sim.engines.compiled import build
from multicube.sim.engines.compiled.errors import CompilerFailed, NoCompiler

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
    run = subprocess.run

    def counted(command: list[str], **options: Any) -> Any:
        if "--version" not in command:
            calls.append(command)
        return run(command, **options)

    monkeypatch.setattr(build.subprocess, "run", counted)
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


def test_other_compiler_or_options_compile_anew(
    cache: Path, compilations: Compilations, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = build.library(program(1))
    monkeypatch.setenv("CC", f"{build.compiler_command()[0]} -DOTHER")
    assert build.library(program(1)) != path
    assert len(compilations) == 2
    assert compilations[1][1] == "-DOTHER"
    monkeypatch.setenv("CFLAGS", "-O1 -DMORE")
    build.library(program(1))
    assert len(compilations) == 3
    assert compilations[2].index("-DOTHER") < compilations[2].index("-O2")
    assert compilations[2].index("-O2") < compilations[2].index("-O1")
    assert "-DMORE" in compilations[2]


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


def test_number_of_libraries_is_bounded(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "CACHE_LIMIT", 3)
    paths = []
    for number in range(3):
        paths.append(build.library(program(number)))
        os.utime(paths[-1], (1000 + number, 1000 + number))
    assert build.library(program(0)) == paths[0]  # used again
    newest = build.library(program(3))
    assert set(cache.iterdir()) == {paths[0], paths[2], newest}
    monkeypatch.setattr(build, "CACHE_LIMIT", 1)
    newest = build.library(program(4))
    assert list(cache.iterdir()) == [newest]


def test_folders_of_killed_runs_are_removed(cache: Path) -> None:
    for name, age in (("building-old", 24 * 3600), ("building-young", 60)):
        (cache / name).mkdir(parents=True)
        (cache / name / "network.c").touch()
        then = time.time() - age
        os.utime(cache / name, (then, then))
    path = build.library(program(6))
    assert set(cache.iterdir()) == {path, cache / "building-young"}


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
        assert process.communicate(timeout=60) == ("[0, 1, 2, 3, 4]\n", "")
    assert [path.suffix for path in cache.iterdir()] == [".so"] * 5


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
