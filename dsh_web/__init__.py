"""One dependable way to reach the web: the provider-neutral core.

    from dsh_web import WebRuntime

    result = WebRuntime.from_env().search("how do I cancel an asyncio task?")

Names are loaded on first use, so that importing the package costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from .arguments import SearchFields, SearchFilters
    from .cancel import CancelReason, CancelToken
    from .citations import (
        CitationAudit,
        CitationLedger,
        audit_citations,
        normalize_citations,
        read_citations,
        render_citations,
    )
    from .errors import (
        BlockedUrlError,
        BudgetExceededError,
        InvalidRequestError,
        InvalidUrlError,
        ProviderError,
        SelectionError,
        UnsupportedFilterError,
        UnusablePageError,
        WebCancelledError,
        WebError,
        WebTimeoutError,
    )
    from .events import (
        Progress,
        SearchDone,
        SourcesFound,
        StreamEvent,
        TextDelta,
        UsageReported,
    )
    from .explain import Explanation
    from .flow import (
        Emit,
        Flow,
        Guard,
        HttpHead,
        HttpRequest,
        HttpResponse,
        OpenStream,
        ReadChunk,
        ReadClock,
        Resolve,
        Sleep,
        TransportError,
        WaitFor,
    )
    from .metering import Budget, UsageTotal
    from .page_cache import PageCache
    from .providers.http_fetch import HttpFetchProvider
    from .providers.parallel_chat import ParallelChatProvider
    from .providers.parallel_search import ParallelSearchProvider
    from .providers.perplexity_agent import PerplexityAgentProvider
    from .providers.perplexity_search import PerplexitySearchProvider
    from .providers.perplexity_sonar import PerplexitySonarProvider
    from .providers.replay import ReplayProvider
    from .registry import ProviderStatus
    from .retry import RetryPolicy, open_with_retries, send_with_retries
    from .runtime import WebRuntime
    from .saved import read_again, read_saved
    from .seam import (
        FilterSupport,
        Usage,
        WebFinance,
        WebImage,
        WebSearchProvider,
        WebSearchRequest,
        WebSearchResult,
        WebSearchSource,
    )
    from .seam_citations import Citation
    from .seam_fetch import (
        HtmlBody,
        PdfBody,
        TextBody,
        WebFetchProvider,
        WebFetchRequest,
        WebFetchResult,
    )
    from .seam_page import WebPage
    from .snapshots import SnapshotChanges, WebSnapshot
    from .streams import AsyncSearchStream, SearchStream

_HOME = {
    "arguments": ("SearchFields", "SearchFilters"),
    "cancel": ("CancelReason", "CancelToken"),
    "citations": (
        "CitationAudit",
        "CitationLedger",
        "audit_citations",
        "normalize_citations",
        "read_citations",
        "render_citations",
    ),
    "explain": ("Explanation",),
    "metering": ("Budget", "UsageTotal"),
    "errors": (
        "BlockedUrlError",
        "BudgetExceededError",
        "InvalidRequestError",
        "InvalidUrlError",
        "ProviderError",
        "SelectionError",
        "UnsupportedFilterError",
        "UnusablePageError",
        "WebCancelledError",
        "WebError",
        "WebTimeoutError",
    ),
    "events": (
        "Progress",
        "SearchDone",
        "SourcesFound",
        "StreamEvent",
        "TextDelta",
        "UsageReported",
    ),
    "streams": ("AsyncSearchStream", "SearchStream"),
    "flow": (
        "Emit",
        "Flow",
        "Guard",
        "HttpHead",
        "HttpRequest",
        "HttpResponse",
        "OpenStream",
        "ReadChunk",
        "ReadClock",
        "Resolve",
        "Sleep",
        "TransportError",
        "WaitFor",
    ),
    "page_cache": ("PageCache",),
    "providers.http_fetch": ("HttpFetchProvider",),
    "providers.parallel_chat": ("ParallelChatProvider",),
    "providers.parallel_search": ("ParallelSearchProvider",),
    "providers.perplexity_agent": ("PerplexityAgentProvider",),
    "providers.perplexity_search": ("PerplexitySearchProvider",),
    "providers.perplexity_sonar": ("PerplexitySonarProvider",),
    "providers.replay": ("ReplayProvider",),
    "registry": ("ProviderStatus",),
    "retry": ("RetryPolicy", "open_with_retries", "send_with_retries"),
    "runtime": ("WebRuntime",),
    "saved": ("read_again", "read_saved"),
    "seam_citations": ("Citation",),
    "seam_fetch": (
        "HtmlBody",
        "PdfBody",
        "TextBody",
        "WebFetchProvider",
        "WebFetchRequest",
        "WebFetchResult",
    ),
    "seam_page": ("WebPage",),
    "snapshots": ("SnapshotChanges", "WebSnapshot"),
    "seam": (
        "FilterSupport",
        "Usage",
        "WebFinance",
        "WebImage",
        "WebSearchProvider",
        "WebSearchRequest",
        "WebSearchResult",
        "WebSearchSource",
    ),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "AsyncSearchStream",
    "BlockedUrlError",
    "Budget",
    "BudgetExceededError",
    "CancelReason",
    "CancelToken",
    "Citation",
    "CitationAudit",
    "CitationLedger",
    "Emit",
    "Explanation",
    "FilterSupport",
    "Flow",
    "Guard",
    "HtmlBody",
    "HttpFetchProvider",
    "HttpHead",
    "HttpRequest",
    "HttpResponse",
    "InvalidRequestError",
    "InvalidUrlError",
    "OpenStream",
    "PageCache",
    "PdfBody",
    "ParallelChatProvider",
    "ParallelSearchProvider",
    "PerplexityAgentProvider",
    "PerplexitySearchProvider",
    "PerplexitySonarProvider",
    "Progress",
    "ProviderError",
    "ProviderStatus",
    "ReadChunk",
    "ReadClock",
    "ReplayProvider",
    "Resolve",
    "RetryPolicy",
    "SearchDone",
    "SearchFields",
    "SearchFilters",
    "SearchStream",
    "SelectionError",
    "Sleep",
    "SnapshotChanges",
    "SourcesFound",
    "StreamEvent",
    "TextBody",
    "TextDelta",
    "TransportError",
    "UnsupportedFilterError",
    "UnusablePageError",
    "Usage",
    "UsageReported",
    "UsageTotal",
    "WaitFor",
    "WebCancelledError",
    "WebError",
    "WebFetchProvider",
    "WebFetchRequest",
    "WebFetchResult",
    "WebFinance",
    "WebImage",
    "WebPage",
    "WebRuntime",
    "WebSearchProvider",
    "WebSearchRequest",
    "WebSearchResult",
    "WebSearchSource",
    "WebSnapshot",
    "WebTimeoutError",
    "__version__",
    "audit_citations",
    "normalize_citations",
    "open_with_retries",
    "read_again",
    "read_citations",
    "read_saved",
    "render_citations",
    "send_with_retries",
]


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{module}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
