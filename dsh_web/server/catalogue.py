"""Models, presets and prices of the Agent API, as published and captured by 9 October 2026."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

_MODELS = {
    "anthropic": """claude-fable-5 claude-fable-5-1 claude-haiku-4-5 claude-haiku-5-5
        claude-opus-4-5 claude-opus-4-6 claude-opus-4-7 claude-opus-4-8 claude-opus-5
        claude-opus-5-5 claude-sonnet-4-5 claude-sonnet-4-6 claude-sonnet-5 claude-sonnet-5-5""",
    "google": """gemini-3-flash-preview gemini-3.1-flash-lite gemini-3.1-pro-preview
        gemini-3.5-flash gemini-3.5-flash-lite gemini-3.6-flash gemini-3.7-flash
        gemini-3.8-flash""",
    "openai": """gpt-5 gpt-5-mini gpt-5-nano gpt-5.1 gpt-5.2 gpt-5.3-codex gpt-5.4 gpt-5.4-mini
        gpt-5.4-nano gpt-5.5 gpt-5.6-luna gpt-5.6-sol gpt-5.6-terra gpt-6-astra gpt-6-luna gpt-6-sol
        gpt-6.1-sol""",
    "perplexity": """sonar deepseek-v4-pro-0813 glm-5.3 glm-5.3-flash kimi-k3
        nemotron-3-ultra-550b-a55b""",
    "xai": """grok-4.20-multi-agent grok-4.20-non-reasoning grok-4.20-reasoning grok-4.3 grok-4.5
        grok-4.6 grok-4.7""",
}
MODEL_IDS = tuple(f"{owner}/{name}" for owner, names in _MODELS.items() for name in names.split())


@dataclass(frozen=True)
class TokenPrice:
    """USD per million tokens."""

    input: float
    output: float
    cache_read: float
    cache_write: float | None = None


TOKEN_PRICES = {
    "perplexity/sonar": TokenPrice(0.25, 2.5, 0.0625),
    "openai/gpt-6-luna": TokenPrice(0.1, 0.5, 0.01, 0.125),
    "openai/gpt-5.6-luna": TokenPrice(0.2, 1.2, 0.02, 0.25),
    "openai/gpt-5.6-sol": TokenPrice(4, 20, 0.4, 5),
    "openai/gpt-6-sol": TokenPrice(2, 10, 0.2, 2.5),
    "anthropic/claude-haiku-5-5": TokenPrice(0.1, 0.5, 0.01, 0.125),
    "anthropic/claude-sonnet-5": TokenPrice(2, 10, 0.2, 2.5),
    "anthropic/claude-opus-5-5": TokenPrice(4, 20, 0.2, 5),
    "google/gemini-3.8-flash": TokenPrice(0.75, 3.75, 0.075),
}
# Stands in for models whose price was not captured, so that costs stay plausible.
_TYPICAL_PRICE = TOKEN_PRICES["perplexity/sonar"]

# USD per call of a tool.
SEARCH_PRICE = 0.0025
FAST_SEARCH_PRICE = 0.001
FETCH_PRICE = 0.0005
IMAGE_SEARCH_PRICE = 0.0025
PEOPLE_SEARCH_PRICE = 0.005
FINANCE_SEARCH_PRICE = 0.005
SANDBOX_PRICE = 0.03


@dataclass(frozen=True)
class Preset:
    """A server-side configuration."""

    name: str
    model: str
    searches: int
    """Search calls that a run makes at most."""
    max_output_tokens: int


PRESETS = {
    preset.name: preset
    for preset in (
        Preset("fast", "openai/gpt-6-luna", 1, 8_192),
        Preset("low", "openai/gpt-6-luna", 2, 16_384),
        Preset("medium", "openai/gpt-6-luna", 3, 64_000),
        Preset("high", "openai/gpt-5.6-sol", 3, 128_000),
        Preset("xhigh", "openai/gpt-5.6-sol", 3, 128_000),
        Preset("wide-research", "openai/gpt-5.6-sol", 3, 128_000),
    )
}
_OLDER_NAMES = {
    "fast-search": "fast",
    "pro-search": "low",
    "deep-research": "medium",
    "advanced-deep-research": "high",
}
EFFORTS = ("fast", "low", "medium", "high", "xhigh")
_PINNED = re.compile(r"([a-z]+)@\d{4}-\d{2}-\d{2}\.\d+")


def find_preset(name: str) -> Preset | None:
    """Return the preset of a current or older name, or None."""
    return PRESETS.get(_OLDER_NAMES.get(name, name))


def find_effort(text: str) -> Preset | None:
    """Return the preset of an effort word, plain or like `fast@2026-10-16.0`, or None."""
    pinned = _PINNED.fullmatch(text)
    word = pinned[1] if pinned else text
    return PRESETS[word] if word in EFFORTS else None


def token_price(model: str) -> TokenPrice:
    """Return a model's price; a typical one if it was never published."""
    return TOKEN_PRICES.get(model, _TYPICAL_PRICE)


def model_list() -> dict[str, Any]:
    """Return the body of `GET /v1/models`; `pricing` is there only where it was captured."""
    data = []
    for id_ in MODEL_IDS:
        owner = id_.partition("/")[0]
        entry: dict[str, Any] = {
            "id": id_,
            "object": "model",
            "created": 0,
            "owned_by": owner,
        }
        price = TOKEN_PRICES.get(id_)
        if price is not None:
            entry["pricing"] = {
                "input": price.input,
                "output": price.output,
                "cache_read": price.cache_read,
                **({} if price.cache_write is None else {"cache_write": price.cache_write}),
                "unit": "usd_per_1m_tokens",
            }
        data.append(entry)
    return {"object": "list", "data": data}
