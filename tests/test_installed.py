"""What a wheel of dpaudit holds, whichever folder it is built and installed from."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TOP = ("dpaudit", "attacks", "canaries", "setup.cfg", "pyproject.toml", "README.md", "LICENSE")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    source, built = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in TOP:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, source / name, **({"symlinks": True} if copy is shutil.copytree else {}))
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", built, source]
    done = subprocess.run(command, cwd=built, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (found,) = built.glob("dpaudit-*.whl")
    return found


def test_wheel_holds_every_module_and_data_file(wheel):
    wanted = {
        str(path.relative_to(ROOT))
        for top in ("dpaudit", "attacks", "canaries")
        for pattern in ("*.py", "py.typed", "*.json", "*.h", "*.jinja", "*.css")
        for path in (ROOT / top).rglob(pattern)
        if not path.parent.is_symlink()
    }
    wanted = {name if name.startswith("dpaudit/") else f"dpaudit/{name}" for name in wanted}
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info" not in name}
    assert held == wanted


def test_installed_package_runs_from_any_folder(wheel, tmp_path):
    subprocess.run([sys.executable, "-m", "zipfile", "-e", wheel, tmp_path / "site"], check=True)
    (tmp_path / "attacks").mkdir()  # a user's own folder of that name is nobody's business
    script = "import dpaudit.attacks, dpaudit.canaries; print(dpaudit.attacks.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path / "site")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith(str(tmp_path / "site"))
