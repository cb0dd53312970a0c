"""Recorded extractions, through the provider that reads them."""

from __future__ import annotations

import json

import pytest
import respx

from dsh_web import ParallelExtractProvider, WebRuntime

from .case_files import Recording


@respx.mock
@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_an_extraction_is_read_as_counted(recorded_extraction: Recording, mode: str) -> None:
    body = json.loads(recorded_extraction.body)
    respx.post("https://api.parallel.ai/v1/extract").respond(json=body)
    runtime = WebRuntime()
    runtime.register_extract_provider(ParallelExtractProvider(api_key="invented"))
    urls = [entry["url"] for entry in (*body["results"], *body["errors"])]

    if mode == "sync":
        result = runtime.extract(reversed(urls), objective="history")
    else:
        result = await runtime.aextract(reversed(urls), objective="history")

    assert [outcome.url for outcome in result.outcomes] == urls[::-1]
    assert len(result.pages) == recorded_extraction.expected["n_sources"]
    assert result.pages[-1].url == recorded_extraction.expected["first_source_url"]
    assert result.pages[-1].text
    assert result.pages[-1].excerpts == tuple(body["results"][0]["excerpts"])
