"""How exported HTML looks: one style, for light and dark pages, in notebooks and out of them."""

from __future__ import annotations

from typing import Final

__all__ = ["STYLE"]

# Lines and shades are mixed from the colour of the text, so that they fit whatever is behind it.
STYLE: Final = """\
.dsh-web { --line: color-mix(in srgb, currentColor 18%, transparent);
  --shade: color-mix(in srgb, currentColor 5%, transparent);
  --quiet: color-mix(in srgb, currentColor 68%, transparent);
  --link: var(--jp-content-link-color, #1a5fb4);
  font-family: var(--jp-content-font-family, system-ui, -apple-system, "Segoe UI", sans-serif);
  font-size: 14px; line-height: 1.55; max-width: 60rem; text-align: start; color: inherit; }
@media (prefers-color-scheme: dark) {
  .dsh-web { --link: var(--jp-content-link-color, #8ab4f8); } }
.dsh-web a { color: var(--link); text-decoration: none; }
.dsh-web a:hover, .dsh-web a:focus { text-decoration: underline; }
.dsh-web a:focus-visible { outline: 2px solid var(--link); outline-offset: 1px; }
.dsh-web .dsh-about { color: var(--quiet); font-size: 12px; margin: 0 0 .6rem; }
.dsh-web .dsh-about b { color: inherit; font-weight: 600; }
.dsh-web .dsh-question { font-size: 15px; font-weight: 600; margin: 0 0 .15rem; }
.dsh-web .cited-answer { margin: 0 0 1rem; }
.dsh-web .cited-answer > p { margin: 0 0 .6rem; }
.dsh-web sup.citation { line-height: 0; font-size: .75em; position: relative; }
.dsh-web sup.citation > a { padding: 0 .1em; font-weight: 600; }
.dsh-web sup.citation-missing { line-height: 0; font-size: .75em; color: #b3261e; }
.dsh-web .citation-tip { position: absolute; z-index: 20; left: 0; top: 1.4em; width: 22rem;
  max-width: 70vw; padding: .6rem .75rem; border: 1px solid #c8ccd2; border-radius: 8px;
  background: #fff; color: #1f2328; font-size: 12px; font-weight: 400; line-height: 1.45;
  box-shadow: 0 6px 20px rgb(0 0 0 / .18); text-align: start; white-space: normal; }
.dsh-web sup.citation:hover > .citation-tip, .dsh-web sup.citation:focus-within > .citation-tip {
  display: block; }
.dsh-web .citation-tip b { display: block; font-weight: 600; }
.dsh-web .citation-tip i { display: block; font-style: normal; color: #59636e; }
.dsh-web table.dsh-sources { border-collapse: collapse; width: 100%; margin: 0 0 .6rem;
  font-size: 13px; table-layout: auto; }
.dsh-web table.dsh-sources caption { caption-side: top; text-align: start; font-weight: 600;
  padding: 0 0 .35rem; color: inherit; }
.dsh-web table.dsh-sources :is(th, td) { text-align: start; vertical-align: top;
  padding: .4rem .6rem; border: 0; border-bottom: 1px solid var(--line); max-width: none;
  white-space: normal; font-weight: 400; background: none; }
.dsh-web table.dsh-sources thead th { font-weight: 600; color: var(--quiet); font-size: 12px;
  border-bottom: 1px solid var(--line); }
.dsh-web table.dsh-sources tbody tr:hover { background: var(--shade); }
.dsh-web table.dsh-sources .dsh-number { text-align: end; font-variant-numeric: tabular-nums;
  white-space: nowrap; width: 1%; }
.dsh-web table.dsh-sources .dsh-date { white-space: nowrap; width: 1%; }
.dsh-web .dsh-host { display: block; color: var(--quiet); font-size: 12px;
  overflow-wrap: anywhere; }
.dsh-web .dsh-note { margin: 0 0 .4rem; padding: .4rem .7rem; font-size: 12.5px;
  border-inline-start: 3px solid #b58900; background: var(--shade); }
.dsh-web .dsh-page { max-height: 28rem; overflow: auto; padding: .2rem .9rem;
  border: 1px solid var(--line); border-radius: 8px; }
.dsh-web pre { overflow: auto; padding: .6rem .8rem; background: var(--shade); border-radius: 6px; }
"""
