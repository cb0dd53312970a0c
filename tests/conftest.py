import os

import pytest
from hypothesis import settings

# A slow machine is no failure; pytest-timeout catches what never ends.
settings.register_profile("dsh-web", deadline=None)
settings.load_profile("dsh-web")

OURS = ("PERPLEXITY_", "PPLX_", "PARALLEL_", "DSH_WEB_")


@pytest.fixture(autouse=True)
def clean_environ(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(OURS) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
