"""Runs the notebooks from top to bottom, and shows them as web pages.

python notebooks/execute.py                  # all of them, pages go to build/notebooks
python notebooks/execute.py 02 --screenshot docs/images/citations.png
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbconvert import HTMLExporter

HERE = Path(__file__).resolve().parent
SECONDS_PER_CELL = 120


def notebooks(prefixes: list[str] | None = None) -> list[Path]:
    """Return the notebooks in order, or those whose names begin with one of `prefixes`."""
    found = sorted(HERE.glob("[0-9]*.ipynb"))
    return [path for path in found if not prefixes or path.name.startswith(tuple(prefixes))]


def executed(path: Path) -> nbformat.NotebookNode:
    """Return the notebook with its outputs; the file stays as it is.

    Raises:
        nbclient.exceptions.CellExecutionError: A cell has failed.
    """
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(path.parent)}}
    client = NotebookClient(
        notebook,
        kernel_name="python3",
        # Kernels listen on the loopback interface only, which is what they warn of.
        extra_arguments=["--log-level=ERROR"],
        timeout=SECONDS_PER_CELL,
        resources=resources,
        coalesce_streams=True,
    )
    client.execute()
    return notebook


def as_page(notebook: nbformat.NotebookNode) -> str:
    """Return an executed notebook as one HTML page."""
    page, _ = HTMLExporter(template_name="lab").from_notebook_node(notebook)
    return str(page)


def screenshot(page: Path, picture: Path, browser: str) -> None:
    """Take a picture of the first answer on an executed page, the first citation pointed at."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        view = chromium.new_page(
            viewport={"width": 1080, "height": 1400}, device_scale_factor=2, color_scheme="light"
        )
        view.route("http*://**", lambda route: route.abort())
        view.goto(page.as_uri())
        answer = view.locator(".dsh-web").first
        answer.scroll_into_view_if_needed()
        answer.locator("sup.citation a").nth(1).hover()
        box = answer.bounding_box()
        assert box is not None
        margin = 10
        clip = {
            "x": box["x"] - margin,
            "y": box["y"] - margin,
            "width": box["width"] + 2 * margin,
            "height": box["height"] + 2 * margin,
        }
        view.screenshot(path=picture, clip=clip)
        chromium.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("prefix", nargs="*", help="beginning of a name, for example 02")
    parser.add_argument("--to", type=Path, default=Path("build/notebooks"), metavar="FOLDER")
    parser.add_argument(
        "--screenshot", type=Path, metavar="PNG", help="picture of the first answer"
    )
    parser.add_argument("--browser", default="/usr/bin/chromium", help="Chromium to take it with")
    arguments = parser.parse_args()
    arguments.to.mkdir(parents=True, exist_ok=True)
    for path in notebooks(arguments.prefix):
        start = time.monotonic()
        page = (arguments.to / path.with_suffix(".html").name).resolve()
        notebook = executed(path)
        nbformat.write(notebook, arguments.to / path.name)
        page.write_text(as_page(notebook), encoding="utf-8")
        print(f"{path.name:<36} {time.monotonic() - start:5.1f} s  {page}")
        if arguments.screenshot:
            screenshot(page, arguments.screenshot, arguments.browser)
    return 0


if __name__ == "__main__":
    sys.exit(main())
