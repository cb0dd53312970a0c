"""What every Perplexity API rejects, refused here before it is sent, with what to change.

Wire: docs.perplexity.ai/docs/search/filters (2026-10).
"""

from __future__ import annotations

from ..errors import InvalidRequestError
from ..seam import WebSearchRequest

__all__ = ["check_shared_rules"]

MOST_DOMAINS = 20
LONGEST_DOMAIN = 253
MOST_TOKENS = 1_000_000


def check_shared_rules(request: WebSearchRequest, provider_id: str) -> None:
    """Check the filters of `request` against the rules that all the APIs share.

    Raises:
        InvalidRequestError: A combination or a number that the vendor would refuse.
    """
    fault = _fault(request)
    if fault is not None:
        raise InvalidRequestError(fault, provider=provider_id)


def _fault(request: WebSearchRequest) -> str | None:
    if request.recency and (request.published_after or request.published_before):
        return (
            "recency cannot be combined with published_after or published_before: "
            "use one or the other"
        )
    if request.include_domains and request.exclude_domains:
        return "include_domains and exclude_domains cannot be combined: use one of them"
    for name in ("max_tokens", "max_tokens_per_page"):
        if (getattr(request, name) or 0) > MOST_TOKENS:
            return f"{name} must be at most {MOST_TOKENS:,}"
    domains = request.include_domains + request.exclude_domains
    if len(domains) > MOST_DOMAINS:
        return f"{len(domains)} domains are too many: Perplexity takes at most {MOST_DOMAINS}"
    for domain in domains:
        if len(domain) > LONGEST_DOMAIN:
            return f"the domain {domain[:40]!r}... is longer than {LONGEST_DOMAIN} characters"
    return None
