# Every target works from a fresh clone; paths are relative, so the folder may be called anything.
.DEFAULT_GOAL := help
.PHONY: help setup demo test check conformance bench picture clean lock lock-jars lint

PY := .venv/bin/python
export PYTHON
# Tests and benchmarks start Python hundreds of times: let it keep what it has compiled.
unexport PYTHONDONTWRITEBYTECODE

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | while IFS='	' read -r name text; do \
		printf '  make %-11s %s\n' "$$name" "$$text"; done

setup: ## Install exactly the locked packages into .venv (Python 3.11 or newer is all it needs)
	@scripts/setup

demo: setup ## Run ESPBench on Spark, all five queries, smallest sizes, on embedded services
	@.venv/bin/python -m streamgauge run espbench --quick

lint: setup
	@$(PY) -m ruff check
	@$(PY) -m ruff format --check --quiet
	@$(PY) -m mypy
	@.venv/bin/lint-imports --no-cache

check: lint ## Lint, types, layers and unit tests: under a minute
	@$(PY) -m pytest -n 2 tests/unit -m "not slow" --hypothesis-profile brief

test: lint ## Everything: check, and the tests with the real services and a browser
	@scripts/browser
	@$(PY) -m pytest -n 3 --dist loadfile --no-loadscope-reorder --max-worker-restart 0 --durations 40

conformance: setup ## Every engine, query, transport and mode, and what make test leaves out
	@$(PY) -m pytest -n 2 tests/conformance --every-cell
	@$(PY) -m pytest -n 2 tests/integration -m thorough --every-cell

bench: setup ## Measure what must be fast; ONLY=name for one
	@$(PY) -m benchmarks $(ONLY)

picture: setup ## Draw a run: make picture RUN=@0 FILE=docs/picture.svg
	@$(PY) -m streamgauge.report.charts.picture $(or $(RUN),@0) "$(or $(FILE),docs/picture.svg)" $(CHARTS)

clean: ## Remove .venv, .tools and caches (runs/ stays)
	rm -rf .venv .tools .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

lock: ## Rewrite the package locks (UPGRADE=--upgrade for newer versions)
	@scripts/lock

lock-jars: setup ## Rewrite the jar lock from the list of wanted coordinates
	@$(PY) -m streamgauge.services.lock_jars
