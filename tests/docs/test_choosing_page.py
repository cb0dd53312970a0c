"""The page on choosing a provider says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

from dsh_web import prices
from dsh_web.prices import (
    PARALLEL_PRICES_READ_ON,
    PRICES_READ_ON,
    parallel_chat_cost,
    parallel_extract_cost,
    parallel_search_cost,
)

PAGE = (Path(__file__).resolve().parents[2] / "docs/choosing-a-provider.md").read_text()


def test_the_costs_are_those_of_the_price_tables() -> None:
    table = re.search(r"<!-- costs.*?-->\n(.*?)<!-- /costs -->", PAGE, flags=re.S)
    assert table is not None
    rows = [
        tuple(cell.strip() for cell in line.strip("|").split("|"))
        for line in table[1].strip().splitlines()[2:]
    ]
    known = {
        "Perplexity Search": prices.SEARCH_REQUEST,
        "Perplexity Search, fast": prices.SEARCH_REQUEST_FAST,
        "Perplexity Agent, a web search (tokens apart)": prices.AGENT_SEARCH,
        "Perplexity Agent, a fast web search (tokens apart)": prices.AGENT_SEARCH_FAST,
        **{
            f"Parallel Search, `{mode}`": parallel_search_cost(mode, {"sku_search": 1})
            for mode in ("turbo", "fast", "basic", "advanced")
        },
        "Parallel Search, each result beyond 10": parallel_search_cost(
            "basic", {"sku_search_additional_results": 1}
        ),
        "Parallel Extract, each page": parallel_extract_cost(1),
        **{
            f"Parallel Chat, `{model}`": parallel_chat_cost(model)
            for model in ("speed", "lite", "base", "core")
        },
    }

    assert {name: float(price) for name, price, _ in rows} == {
        name: round((cost or 0) * 1000, 6) for name, cost in known.items()
    }
    for name, _, day in rows:
        assert day == (PRICES_READ_ON if name.startswith("Perplexity") else PARALLEL_PRICES_READ_ON)
