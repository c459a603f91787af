"""What is installed is what is in the checkout."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
FOLDERS = ("hdl", "sim", "boards")
SURFACE = Path("sim/multicube")
"""The folder of the package `multicube` itself."""
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def _sources(pattern: str = "*.py") -> list[Path]:
    """Files of the library, relative to the checkout."""
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob(pattern)]
    return sorted(
        path.relative_to(ROOT)
        for path in paths
        if path.is_file() and path.suffix != ".md" and path.parent.name != "__pycache__"
    )


def _installed(path: Path) -> Path:
    """Where a file of the library is installed."""
    inner = path.relative_to(SURFACE) if path.is_relative_to(SURFACE) else path
    return "multicube" / inner


def test_packages_are_all_folders_that_hold_python() -> None:
    found = {".".join(_installed(path).parent.parts) for path in _sources()}
    assert found == set(PROJECT["tool"]["setuptools"]["packages"])


def test_every_package_says_what_it_is() -> None:
    for folder in {path.parent for path in _sources()}:
        initial = ROOT / folder / "__init__.py"
        assert initial.is_file(), f"{folder} has no __init__.py"
        assert initial.read_text().startswith('"""'), f"{initial} has no docstring"


def test_readme_exists() -> None:
    assert (ROOT / PROJECT["project"]["readme"]).read_text().startswith("# multicube")


def test_one_version_everywhere() -> None:
    version = PROJECT["project"]["version"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == version
    assert citation["license"] == PROJECT["project"]["license"]
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    released = [heading for heading in headings if heading != "Unreleased"]
    assert released[0] == f"{version} - {citation['date-released']}"


def test_one_address_everywhere() -> None:
    """The repository's address is `urls.Repository` of pyproject.toml; while it has none, no page
    names one, and the library is installed from a checkout."""
    project = PROJECT["project"]
    address = project.get("urls", {}).get("Repository", "").removesuffix(".git")
    pages = {name: (ROOT / name).read_text() for name in ("README.md", "CONTRIBUTING.md")}
    pages["CITATION.cff"] = (ROOT / "CITATION.cff").read_text()
    for name, text in pages.items():
        named = re.findall(rf"https?://[\w./-]+/{project['name']}(?![\w-])", text)
        assert set(named) == ({address} if address else set()), name
    if not address:
        assert PROJECT["tool"]["multicube"]["install"] == "pip install ."


def _run(*command: str | os.PathLike[str], folder: Path) -> str:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library's wheel, built from a copy: setuptools leaves its work in the source folder."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for name in FOLDERS:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder]
    _run(*build, source, folder=folder)
    (found,) = folder.glob("*.whl")
    return found


def test_wheel_holds_every_file_but_notes(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (licence,) = (name for name in archive.namelist() if name.endswith("/LICENSE"))
        assert archive.read(licence) == (ROOT / "LICENSE").read_bytes()
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert names == {_installed(path).as_posix() for path in _sources("*")}
    assert {"multicube/__init__.py", "multicube/__main__.py", "multicube/py.typed"} < names


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs' folder of a new environment that holds the wheel, far from the checkout.

    What the library depends on comes from this environment: a path file makes it visible there,
    but not the editable install, which is a path file itself.
    """
    folder = tmp_path_factory.mktemp("environment")
    _run(sys.executable, "-m", "venv", "--without-pip", folder, folder=folder)
    python = folder / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps"]
    _run(*install, "--no-index", wheel, folder=folder)
    packages = Path(
        _run(python, "-c", "import site; print(site.getsitepackages()[0])", folder=folder).strip()
    )
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin"


def test_installed_library_is_not_the_checkout(installed: Path, tmp_path: Path) -> None:
    modules = PROJECT["tool"]["setuptools"]["packages"]
    code = f"import {', '.join(modules)}; print(multicube.__file__, multicube.hdl.__file__)"
    for path in _run(installed / "python", "-W", "error", "-c", code, folder=tmp_path).split():
        assert Path(path).is_relative_to(installed.parent)


def test_installed_library_has_a_surface(installed: Path, tmp_path: Path) -> None:
    code = "import multicube; print(multicube.__version__, multicube.build('cube', ports=4).ports)"
    version = PROJECT["project"]["version"]
    assert _run(installed / "python", "-c", code, folder=tmp_path) == f"{version} 4\n"
    said = _run(installed / "python", "-m", "multicube", "--version", folder=tmp_path)
    assert said == f"multicube {version}\n"


@pytest.mark.long
def test_installed_command_runs(installed: Path, tmp_path: Path) -> None:
    assert "cube" in _run(installed / "multicube", "list", folder=tmp_path)
    _run(installed / "multicube", "export", "cube", "ports=8", "-o", "cube8.v", folder=tmp_path)
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == ["cube8.sdc", "cube8.v", "cube8.v.json", "cube8.xdc"]


@pytest.mark.long
def test_installed_command_simulates(installed: Path, tmp_path: Path) -> None:
    run = [installed / "multicube", "sim", "cube", "ports=4", "--load", "0.3", "--json"]
    run += ["--cycles", "200", "--warmup", "50", "--engine", "amaranth"]
    assert '"lost": 0' in _run(*run, folder=tmp_path)
