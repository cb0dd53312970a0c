"""What MkDocs cannot do alone: pages made of files beside `docs/`, and links to those files.

On a code host `../CHANGELOG.md` is the file itself; on the site it is a page. Sources are written
for the host, and translated here, so that every link works in both places.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path, PurePosixPath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

PAGE_OF = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "README.md": "overview.md",
}
"""Files beside `docs/` and the page that stands for each, made of the file."""

COPIED = "notebooks/*.ipynb"
"""Files beside `docs/` that the site holds as they are, under the same path."""

_LINK = re.compile(r"(\]\()((?!\w+:|#|/)[^)\s#]+)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made of files beside `docs/`, and the files to be copied."""
    for file in sorted(_root(config).glob(COPIED)):
        path = file.relative_to(_root(config)).as_posix()
        files.append(File.generated(config, path, abs_src_path=str(file)))
    for name, page in PAGE_OF.items():
        text = (_root(config) / name).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=_translated(text, name, page)))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point links that leave `docs/` at the pages that stand for their targets."""
    if page.file.generated_by is not None:
        return markdown
    source = page.file.src_uri
    return _translated(markdown, f"docs/{source}", source)


def _translated(markdown: str, source: str, page: str) -> str:
    """Return the text of `source` (seen from the root) with its links as `page` needs them."""

    def link(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), match[2]))
        inside = PAGE_OF.get(target) or target.removeprefix("docs/")
        if inside == target and not PurePosixPath(target).match(COPIED):
            return match[0]  # nothing that the site has: strict mode will say so
        return match[1] + posixpath.relpath(inside, posixpath.dirname(page) or ".")

    return _LINK.sub(link, markdown)


def _root(config: MkDocsConfig) -> Path:
    return Path(config.docs_dir).parent
