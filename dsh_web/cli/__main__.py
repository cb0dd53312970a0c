"""`python -m dsh_web.cli`: the same as the `dsh-web` command."""

from __future__ import annotations

from . import main

if __name__ == "__main__":
    raise SystemExit(main())
