"""Which stretch of the answer a marker supports."""

from __future__ import annotations

import pytest

from .samples import claims


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Copper rose[2]. Zinc fell[1].", ["Copper rose", "Zinc fell"]),
        ("Copper rose.[2] Zinc fell. [1]", ["Copper rose.", "Zinc fell."]),
        ("A rose[1], and B fell[2].", ["A rose", "and B fell"]),
        ("All agree[1][2] [3].", ["All agree", "All agree", "All agree"]),
        ("All agree [1] and [2].", ["All agree", "All agree"]),
        ("All agree[1]. [2]", ["All agree", "All agree"]),
        ("[1] says so. Next.", ["says so."]),
        ("[1][2] say so[3].", ["say so", "say so", "say so"]),
        ("It rose 3.5 points to 4.[1]", ["It rose 3.5 points to 4."]),
        ("Dr. Smith of the U.S. said e.g. this[1].", ["Dr. Smith of the U.S. said e.g. this"]),
        ("Well... it did[1].", ["Well... it did"]),
        ("See example.com/a.b for it[1].", ["See example.com/a.b for it"]),
        ("Really? Yes![1] No.", ["Yes!"]),
        ("# Title[1]\nBody[2]", ["Title", "Body"]),
        ("- first item\n- second item[1]\n* third[2]", ["second item", "third"]),
        ("1. one\n2. two [1]\n", ["two"]),
        ("- [x] done [1]", ["done"]),
        ("Old paragraph\n\nnew paragraph[1]", ["new paragraph"]),
        ("a soft\nline break[1]", ["a soft\nline break"]),
        ("| a | b [1] | c[2] |\n| d | e | [3]", ["b", "c", "d | e"]),
        ("| a | [1] b | c |", ["b"]),
        ("| a [1] | b | [2]", ["a", "b"]),
        ("Name | Val\n--- | ---\nfoo [1] | bar [2]\nbaz [3] | qux\n", ["foo", "bar", "baz"]),
        ("x | y\n:-- | --:\nfoo | bar[2]\n\nAfter[3]", ["bar", "After"]),
        ("Intro:\n\nName[1] | Val\n--- | ---\na | b\nc | d [2]", ["Name", "d"]),
        ("Der 2. Weltkrieg endete 1945[1].", ["Der 2. Weltkrieg endete 1945"]),
        ("Am 1. FC spielte er[1]. Es waren 12. Der Rest[2]", ["Am 1. FC spielte er", "Der Rest"]),
        ("Prices fell (approx. 4%)[2].", ["Prices fell (approx. 4%)"]),
        ("Der Bau (seit 1990, vgl. Kap. 3)[1].", ["Der Bau (seit 1990, vgl. Kap. 3)"]),
        ("> quoted words[1]", ["quoted words"]),
        ("**Bold claim**[1] and more[2]", ["**Bold claim**", "and more"]),
        (
            "\u6771\u4eac\u306f\u5e83\u3044\u3002\u5927\u962a\u306f\u72ed\u3044[1]\u3002",
            ["\u5927\u962a\u306f\u72ed\u3044"],
        ),
        (
            "\u0939\u093f\u0928\u094d\u0926\u0940\u0964 \u0926\u0942\u0938\u0930\u093e[1]\u0964",
            ["\u0926\u0942\u0938\u0930\u093e"],
        ),
        ("```\ncode. Here\n```\n\nSaid so[1].", ["Said so"]),
        ("Use `a. B` here[1].", ["Use `a. B` here"]),
        ('He said "it rose." [1] Then left.', ['He said "it rose."']),
        ("<think>old sentence</think>New one[1]", ["New one"]),
        ("The answer is no. Next it fell[1].", ["Next it fell"]),
        ("No. 5 leads[1].", ["No. 5 leads"]),
        ("Apples, etc. The rest[1].", ["The rest"]),
        ("At 5 p.m. on Monday[1]. At 5 p.m. He left[2].", ["At 5 p.m. on Monday", "He left"]),
        ("J. R. Smith et al. found it[1].", ["J. R. Smith et al. found it"]),
        ("Sie fiel am 3. Mai 2024[1].", ["Sie fiel am 3. Mai 2024"]),
        (
            "\u300c\u306f\u3044\u3002\u300d\u3068\u8a00\u3063\u305f[1]\u3002",
            ["\u300c\u306f\u3044\u3002\u300d\u3068\u8a00\u3063\u305f"],
        ),
        ("\u0546\u0561\u056d\u0589 \u0533\u056b\u0576[1]\u0589", ["\u0533\u056b\u0576"]),
        ("Text\n---\nother[1]", ["other"]),
        ("Word[1]\u2014another[2]; third[3]", ["Word", "another", "third"]),
        ("* item\n  goes on[1]\n* next", ["item\n  goes on"]),
        ("> quoted[1]\n> more[2]\n\nplain[3]", ["quoted", "more", "plain"]),
        ("## Head\nBody words[1]\r\nand more[2]", ["Body words", "and more"]),
        ("a\rb\r\rc[1]", ["c"]),
        ("[1]", [""]),
        ("...[1]", [""]),
        ("Intro:\n\n[1]\n\nOutro", [""]),
    ],
)
def test_a_claim_is_the_sentence_item_or_cell_without_markers(
    text: str, expected: list[str]
) -> None:
    assert expected == claims(text)
