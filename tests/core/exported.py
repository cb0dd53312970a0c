"""A result from hostile and friendly pages, for the tests of what results are turned into."""

from __future__ import annotations

from dsh_web import WebSearchRequest, WebSearchResult, WebSearchSource, read_again

HOSTILE_TITLE = '"><script>alert(1)</script> & {brace} $x_y$ [1](http://evil.example)'


def answered(**changes: object) -> WebSearchResult:
    """Return an answer that cites two of three sources, and one number that nothing has."""
    result = WebSearchResult(
        content="Tea is a **leaf**.[1] It is brewed.[2][9]\n\n- hot water[1]",
        sources=(
            WebSearchSource(
                url="https://tea.example/leaf?a=1&b=2",
                title="Leaf",
                snippet="All about the leaf.\nAnd the plant.",
                published_at="2026-03-09",
                ids=(1,),
            ),
            WebSearchSource(
                url="https://www.brew.example/how_to",
                title=HOSTILE_TITLE,
                snippet="<img src=x onerror=alert(2)> boil & wait",
                published_at="2 hours ago",
                updated_at="2026-05-01",
                ids=(2,),
            ),
            WebSearchSource(url="javascript:alert(3)", title=None, ids=(3,)),
        ),
        provider="perplexity",
        model="some/model",
        warnings=("the filter <b>recency</b> is approximated",),
        request=WebSearchRequest(query="what is tea? <i>", recency="month"),
    )
    return read_again(result).model_copy(update=changes)
