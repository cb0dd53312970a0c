"""The demo runs to its end, whichever vendor it is told to ask."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).resolve().parents[2] / "examples/demo.py"


def run(**environ: str) -> subprocess.CompletedProcess[str]:
    ours = ("PERPLEXITY_", "PPLX_", "PARALLEL_", "DSH_WEB_")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    root = str(DEMO.parents[1])
    paths = os.pathsep.join(filter(None, [root, clean.get("PYTHONPATH")]))
    return subprocess.run(
        [sys.executable, str(DEMO)],
        env={**clean, "PYTHONPATH": paths, **environ},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("setting", "answering", "finding"),
    [
        ({}, "perplexity", "perplexity-search"),
        ({"DSH_WEB_SEARCH_PROVIDER": "parallel"}, "parallel-chat", "parallel"),
        ({"DSH_WEB_SEARCH_PROVIDER": "perplexity-search"}, "perplexity", "perplexity-search"),
    ],
    ids=str,
)
def test_it_shows_every_way_in(setting: dict[str, str], answering: str, finding: str) -> None:
    shown = run(**setting)

    assert shown.returncode == 0, shown.stderr
    assert shown.stderr == ""
    for line in (
        f"=== The seam: provider {answering!r}",
        f"=== The seam: provider {finding!r}",
        "=== LangChain: WebSearchRetriever.invoke",
        "=== LlamaIndex: WebToolSpec.to_tool_list",
        "WEB_PROVIDER_ERROR, HTTP 429, retry after 7.0 s",
        f"metadata['provider'] = {finding!r}",
    ):
        assert line in shown.stdout


def test_an_unknown_provider_is_named() -> None:
    shown = run(DSH_WEB_SEARCH_PROVIDER="bing")

    assert shown.returncode == 2
    assert "'bing'" in shown.stderr
