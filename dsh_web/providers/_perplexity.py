"""What the Perplexity providers share: where the API lives, which keys it takes, what it rejects.

Wire facts: Perplexity's API reference (docs.perplexity.ai/api-reference), its Python SDK 0.46.1 and
published recordings of 2025 and 2026.
"""

from __future__ import annotations

from typing import ClassVar

from ..seam import WebSearchRequest
from . import PERPLEXITY_KEYS
from ._perplexity_rules import check_shared_rules
from ._vendor import VendorProvider

__all__ = ["PerplexityProvider"]


class PerplexityProvider(VendorProvider):
    """A provider of Perplexity; a subclass adds one API's path, request body and mapping.

    Args:
        api_key: The key, or a function (sync or async) that resolves it per call. Default:
            `$PERPLEXITY_API_KEY`, else `$PPLX_API_KEY`. Without one the provider is unavailable.
        base_url: Where the API lives; the path is appended. Default: `$PERPLEXITY_BASE_URL`, else
            `https://api.perplexity.ai`.
        max_retries: Attempts after the first, for connect failures, 408, 409, 429 and 5xx.
        extra_body: Vendor-only fields, merged last into the request body.
    """

    label: ClassVar[str] = "Perplexity"
    key_variables: ClassVar[tuple[str, ...]] = PERPLEXITY_KEYS
    base_url_variable: ClassVar[str] = "PERPLEXITY_BASE_URL"
    default_base_url: ClassVar[str] = "https://api.perplexity.ai"

    def _check_combinations(self, request: WebSearchRequest) -> None:
        check_shared_rules(request, self.id)
