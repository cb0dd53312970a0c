"""The notebooks as they are stored, and as they look after a run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
NAMES = sorted(path.stem for path in FOLDER.glob("*.ipynb"))
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
OURS = ("PERPLEXITY_", "PPLX_", "PARALLEL_", "DSH_WEB_")


@pytest.fixture(scope="session")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with each notebook after a run, as notebook and as page."""
    folder = tmp_path_factory.mktemp("notebooks")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    # The kernels are processes of their own: they have to find the package that is being tested.
    paths = [str(FOLDER.parent), environ.get("PYTHONPATH", "")]
    environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    run = subprocess.run(
        [sys.executable, str(FOLDER / "execute.py"), "--to", str(folder)],
        env=environ,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-5000:]
    return folder


@pytest.fixture(scope="session")
def browser_path() -> str:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip("no Chromium on this machine: `make browser` installs it where it can")
    return found
