"""Which brackets are markers, and which only look like some."""

from __future__ import annotations

import pytest

from dsh_web.citations import normalize_citations

from .samples import markers, numbers, read, unresolved


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Lisbon[1] and arr[2] in prose", [1, 2]),
        ("adjacent[1][2][3].", [1, 2, 3]),
        ("[3] opens and closes [1]", [3, 1]),
        ("repeated[2] and repeated[2]", [2, 2]),
        ("group [1, 3] and tight [2,4]", [1, 3, 2, 4]),
        ("range [2-4] and en dash [5\u20136]", [2, 3, 4, 5, 6]),
        ("mixed [1, 3-5]", [1, 3, 4, 5]),
        ("padded zeros [01] and [007]", [1, 7]),
        ("typed [web:1] and inherited [web:2,4] and [web:3, web:5]", [1, 2, 4, 3, 5]),
        ("typed range [web:1-3]", [1, 2, 3]),
        ("wow![1] no image", [1]),
        ("a (not a link)[1] (indeed)", [1]),
        ("[label][2] is no reference link without a definition", [2]),
        ("<b>bold[1]</b><br>[2]", [1, 2]),
        ("https://site.example/path[1]", [1]),
        ("| cell [1] | other[2] |", [1, 2]),
        ("> quoted[1]\n- listed[2]\n1. numbered[3]", [1, 2, 3]),
        ("    indented by four[1]", [1]),
        ("CR\r\nLF[1]\rCR[2]", [1, 2]),
        ("unmatched ` tick[1] and ``two[2]", [1, 2]),
        ("a lone $ sign[1] and 5 $[2]", [1, 2]),
        ("costs $5[1] or $10[2]", [1, 2]),
        ("escaped backslash \\\\[1]", [1]),
        ("odd < sign[1] > here", [1]),
        ("`code` then[1]", [1]),
        ("```\ncode\n```\nafter[1]", [1]),
        ("> ```\n> code\n\nafter the quote[1]", [1]),
        ("- ```\n  code\n\nafter the list[1]", [1]),
        ("- a ` in one item[1]\n- and ` in another[2]", [1, 2]),
        ("text <think>[1]</think> in the middle", [1]),
        ("<think>plan[1] <think>[2]</think> more[3]</think>\n\nAnswer[4]", [4]),
        ("{not json} [1]", [1]),
        ("[1] and (see [2])", [1, 2]),
        ("```\n- ```\nx[1]\n```\nafter[2]", [2]),
        ("```md\n    ```\n    x[1]\n    ```\n```\nafter[2]", [2]),
        ("- ```\n  x[1]\n```\nafter[2]", [2]),
        ("- ```\n  x[1]\n- next item[2]", [2]),
        ("1. step\n   ```python\nx[1]\n   ```\nafter[2]", [2]),
        ("> ```\n> x[1]\nafter the quote[2]", [2]),
        ("> > ```\n> > x[1]\n> after the inner quote[2]", [2]),
        ("> a `code\n> goes on[1]` here[2]", [2]),
        ("# title ` one\nbody[1] ` two", [1]),
        ("a ` one\n\nb[1] ` two", [1]),
        ("| `x[1]` ` | y[2] |\n| z ` | w[3] |", [2, 3]),
        ("\\`x[1]\\` is no code", [1]),
        ("costs $5[1], as `$x` says[2]", [1, 2]),
        ("$5[1] to $10[2] or $15[3]", [1, 2, 3]),
        ("\\$5[1] and \\$6[2]", [1, 2]),
        ("- cafe A $$ nice[1]\n- cafe B $$ fine[2]", [1, 2]),
        ("Formula: $$\nx[1]\n$$\nwhere y[2]\n\n$$\nz[3]\n$$\nso[4]", [2, 4]),
        ("\\[2] is short[1], \\[3\\] is long[4]", [1, 4]),
        ("- ```\n> [1] leaves the item", [1]),
        ("[no link [1](https://x.example) and [2]](https://y.example)", [2]),
        ("a[1](see also the table) b[2] (as said)", [1, 2]),
        ("[1][2] and [label][3]\n\n[2]: https://x.example\n[3]: https://y.example", [1, 2, 3]),
        ("see https://x.example/a[1]. Or https://x.example[2], too", [1, 2]),
        ("if a<b[1] and c>d[2]", [1, 2]),
        ("<think>a</think>[1] <think>[2]</think>", [1, 2]),
        ("\n<think>[1]</think>[2]", [2]),
    ],
)
def test_markers_are_found_with_their_numbers(text: str, expected: list[int]) -> None:
    assert expected == numbers(text)


@pytest.mark.parametrize(
    "text",
    [
        "```\nx[1]\n```",
        "~~~python\nx[1]\n~~~",
        "````\n```\nx[1]\n```\n````",
        "```\nnever closed[1]",
        "> ```\n> quoted[1]\n> ```",
        "- ```\n  listed[1]\n  ```",
        "1. step\n\n   ```\n   x[1]\n   ```",
        "`x[1]` and ``y ` [2]``",
        "`over\ntwo lines[1]`",
        "<code>x[1]</code> <pre>y[2]</pre>",
        "$x[1]$ and $$\ny[2]\n$$",
        "\\(x[1]\\) and \\[y[2]\\]",
        "[1](https://x.example) ![2](chart.png) [[3]](https://x.example)",
        '[text with [1] inside](<https://x.example/a b> "title")',
        "[nested ![1](a.png) image](https://x.example/a_(b))",
        '<https://x.example/a[1]> and <a href="x[1]">link</a>',
        "<!-- [1] -->",
        "[^1] and [^2]\n\n[^1]: A note.",
        "[1]: https://x.example/own-list\n  [2]: <https://x.example>",
        "\\[1] and \\[2\\]",
        "\u30101\u3011 \u30104:0\u2020source\u3011",
        "[ 1 ] [-1] [x] [source] [i] [1.5] [1;2]",
        "[\u0661] \u00b9 <sup>1</sup> [\uff11]",
        "[Web:1] [WEB:1] [web: 1] [web:x] [static_doc_1]",
        '{"ranks": [1], "note": "see [2]"}',
        "<think>only reasoning[1]",
        "$$\nx[1]\n\ny[2]\n$$",
        "\\[\nx[1]\n\ny[2]\n\\]",
        "> $$\n> x[1]\n> $$",
        "<!-- one\n\n[1] -->",
        "<pre>\nx[1]\n\ny[2]\n</pre>",
        '<a href="https://x.example">[1]</a>',
        "[text with [1]][Some  Label]\n\n[some label]: https://x.example",
        "![1](chart one.png) ![alt [2]](a.png)",
        "[1](https://x.example/a b)",
        "[![1](a.png)](https://x.example)",
        "![image [1](https://x.example) and [2]](a.png)",
        "> ```\n> > ```\n> x[1]\n> ```",
        "[\\[1\\]](https://x.example)",
        "https://x.example/?a[1]=2&b[2]=3",
        "[web:1]: https://x.example",
        "> - [1]: https://x.example",
        '<think>plan</think>\n{"a": [1]}',
        '\ufeff{"a": [1]}',
        '{"long": ' + "9" * 5000 + ', "a": [1]}',
        '{"deep": ' + "[" * 5000 + "1" + "]" * 5000 + "}",
        "",
        "[1",
        "1]",
    ],
)
def test_what_only_looks_like_a_marker_is_left_alone(text: str) -> None:
    assert () == read(text)


def test_a_marker_without_a_source_is_kept_and_flagged() -> None:
    records = read("Alpha[0], gamma[7], of memory[memory:2].", sources=3)

    assert ["[0]", "[7]", "[memory:2]"] == [record.raw_marker for record in records]
    assert [False, False, False] == [record.resolved for record in records]
    assert ["numeric", "numeric", "memory"] == [record.source_type for record in records]
    assert [None, None, None] == [record.url for record in records]


def test_members_of_a_group_resolve_one_by_one_and_share_its_span() -> None:
    records = read("Two of three[1, 9, web:2].", sources=3)

    assert [True, False, True] == [record.resolved for record in records]
    assert {"[1, 9, web:2]"} == {record.raw_marker for record in records}
    assert 1 == len({record.marker_span for record in records})


@pytest.mark.parametrize(
    "text", ["in [1-100]", "class [0-9]", "down [3-1]", "one [2-2]", "[1-2-3]"]
)
def test_a_range_with_a_member_that_does_not_exist_is_no_citation(text: str) -> None:
    assert () == read(text, sources=3)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[1499]", ["[1499]"]),
        ("[1500] [1998] [2199]", []),
        ("[2200]", ["[2200]"]),
        ("[web:1998]", ["[web:1998]"]),
        ("[1998, 2005]", []),
    ],
)
def test_a_bare_year_without_a_source_is_neither(text: str, expected: list[str]) -> None:
    assert expected == unresolved(text)


def test_a_number_of_any_length_is_only_a_number_without_a_source() -> None:
    records = read(f"x[{'9' * 10_000}] y[{'0' * 10_000}2]")

    assert [None, 2] == [record.source_index for record in records]
    assert [False, True] == [record.resolved for record in records]


def test_a_bare_marker_has_the_kind_that_its_contract_gives_it() -> None:
    assert ["numeric", "web"] == [r.source_type for r in read("a[1] b[web:1]")]
    agent = read("a[1] b[web:1]", contract="perplexity-agent/2026-10")
    assert ["web", "web"] == [r.source_type for r in agent]
    assert {"perplexity"} == {r.provider for r in agent}


def test_offsets_count_code_points() -> None:
    text = "\U0001f680 e\u0301 \u05d7\u05d9\u05e4\u05d4[1] \ud800[2]"

    assert [text[slice(*record.marker_span)] for record in read(text)] == ["[1]", "[2]"]


def test_a_long_list_of_alternating_fences_and_markers_is_told_apart() -> None:
    text = "\n\n".join(f"```\nx[{n}]\n```\n\nSaid[{n}]." for n in range(1, 10))

    assert [f"[{n}]" for n in range(1, 10)] == markers(text)


def test_a_range_of_any_length_makes_no_more_records_than_an_answer_can_mean() -> None:
    sources = [f"https://source{number}.example/" for number in range(1, 200)]

    assert 100 == len(normalize_citations("all of it[1-100]", sources))
    assert () == normalize_citations("all of it[1-101]", sources)


def test_the_address_of_a_page_may_end_in_a_marker_but_not_hold_one() -> None:
    assert [2] == numbers("https://x.example/?a[1]=2 and https://y.example/b[2]")
