# Everything a person or CI needs: `make demo` to see it work, `make test` to check it.
# Both set up .venv first; nothing has to be installed by hand but Python 3.11+ and make.

PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

.DEFAULT_GOAL := help
.PHONY: help setup demo serve test lint types imports unit notebooks browser fmt docs bench clean

help:  ## Show this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 20

setup: $(STAMP)  ## Make .venv and install the package with everything for development

$(STAMP): pyproject.toml dsh_web/_version.py
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, this is " + sys.version.split()[0] + ": set PYTHON=") if sys.version_info < (3, 11) else None'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $(STAMP)

demo: $(STAMP)  ## One question through everything, offline, without a key
	@$(BIN)/python examples/demo.py

serve: $(STAMP)  ## Run the loopback server in the foreground
	$(BIN)/dsh-web serve

test: lint types browser unit  ## Lint, types and every test

lint: $(STAMP) imports  ## Style and import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

imports: $(STAMP)
	$(BIN)/lint-imports --no-logo

types: $(STAMP)  ## mypy --strict
	$(BIN)/mypy

unit: $(STAMP)
	$(BIN)/python -m pytest

notebooks: $(STAMP)  ## Run all notebooks; pages go to build/notebooks
	$(BIN)/python notebooks/execute.py

# The pictures of notebooks are checked in a real browser. Where none can be installed (no Debian,
# no rights), those tests say so and are skipped.
browser:
	@command -v chromium chromium-browser google-chrome >/dev/null 2>&1 || { \
	  test "$$(id -u)" = 0 && command -v apt-get >/dev/null 2>&1 \
	  && { apt-get install -y -qq chromium || { apt-get update -qq && apt-get install -y -qq chromium; }; } \
	  >/dev/null 2>&1 && echo "installed chromium"; } || echo "no Chromium: tests in a browser are skipped"

fmt: $(STAMP)  ## Format and fix what can be fixed by machine
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(STAMP)  ## The documentation as a site, in site/
	@# The variable leaves out a notice about the theme's own future, which says nothing of these pages.
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench: $(STAMP)  ## Figures of the drivers beside raw httpx
	$(BIN)/python benchmarks/driving.py

clean:  ## Remove everything that was made
	rm -rf .venv dist build site .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
