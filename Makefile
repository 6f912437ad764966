# One environment (.venv in the checkout), one gate (`make check`). Nothing needs to be installed or activated before.

.DEFAULT_GOAL := help
SHELL := /bin/sh
BIN   := .venv/bin
SYNCED := .venv/.synced

# Tests start Python by the hundred, and where nothing is kept each process compiles all that it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test smoke check lint type cov bench eval api chaos chaos-long topologies stories wheel dist release docs docs-serve reference ui lock schemas budget environment clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-15s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

demo: $(SYNCED) ## see it work: embedded server, four services, five cases of the contacts example; PAGE=1 leaves them on the page
	@$(BIN)/haltpoint demo $(if $(PAGE),--page)

# With one partition only what reads over all of them can differ: lists, statistics, dead letters. The other stories see one
# partition of the four.
ONE_PARTITION := tests/e2e/test_command_line.py

test: $(SYNCED) ## all tests: unit, properties, integration with a real server, end to end with four partitions and one
	@$(MAKE) --no-print-directory --keep-going .four-partitions .one-partition

smoke: $(SYNCED) ## two minutes of tests: the story of each promise, as tests/smoke.txt lists it
	@$(BIN)/pytest -n 2 --quiet $$(grep -v '^#' tests/smoke.txt)

check: $(SYNCED) ## the gate: format, lint, words, types, import rules, budgets, unit and property tests
	@$(MAKE) --no-print-directory --keep-going -j2 $(if $(filter output-sync,$(.FEATURES)),--output-sync) \
	    .unit .pyright .mypy .properties .chain .style .words .rules .budget
	@echo "check: all good"

lint: $(SYNCED) ## put the code into shape: format, fix what can be fixed, check the import rules
	@$(BIN)/ruff format --quiet .
	@$(BIN)/ruff check --fix .
	@$(MAKE) --no-print-directory .rules

type: $(SYNCED) ## mypy --strict and pyright
	@$(MAKE) --no-print-directory --keep-going -j2 $(if $(filter output-sync,$(.FEATURES)),--output-sync) .mypy .pyright

cov: $(SYNCED) ## all tests, with the lines and branches that they miss
	@$(BIN)/pytest --cov --cov-report=term --cov-report=html

bench: $(SYNCED) ## actions per second and CPU per action on this machine
	@$(BIN)/python -m tests.bench

eval: $(SYNCED) ## models that misbehave, a thousand chains, and a judge of what really happened
	@$(BIN)/python -m evals
	@$(BIN)/python -m tests.bench.beside

chaos: $(SYNCED) ## kill processes and servers, break connections, judge the history; property tests with new examples
	@$(BIN)/pytest tests/chaos
	@PROOF_SEEDS=8 $(BIN)/pytest tests/integration/test_proof_functions.py
	@$(BIN)/pytest tests/properties --hypothesis-profile=new

chaos-long: $(SYNCED) ## a soak of half an hour with a thousand kills, a crowd of 20,000 chains, a model that is away, 100 lost tails
	@SOAK_SECONDS=1800 $(BIN)/pytest -n 0 -s tests/chaos/test_soak.py
	@CROWD=1 $(BIN)/pytest -n 0 -s tests/chaos/test_crowd.py
	@MODEL_CHAINS=500 MODEL_AWAY=300 MODEL_SECONDS=3600 $(BIN)/pytest tests/chaos/test_model.py
	@LOSSES=20 $(BIN)/pytest tests/chaos/test_losses.py

# The tests of the whole system that use one server, on two kinds of several, and with a user for each service.
ON_TOPOLOGIES := $(addprefix tests/e2e/test_,$(addsuffix .py,five_cases agents approvals approval_rules ask_human bounds \
    control escalation hooks secrets skills sources undo)) \
    tests/stories/test_routing.py

topologies: $(SYNCED) ## real Sentinels and clusters: outages under load, the crash matrix and the system's tests on each; half an hour
	@failed=0; $(BIN)/pytest -n 0 tests/topologies || failed=$$?; \
	    for kind in sentinel cluster users; do TOPOLOGY=$$kind $(BIN)/pytest -n 2 --quiet $(ON_TOPOLOGIES) || failed=$$?; done; \
	    cat build/topologies.md; exit $$failed

stories: $(SYNCED) ## long stories over real processes: the whole tutorial, all examples, the compose file, users, modes of the eval
	@$(BIN)/pytest -n 2 --dist loadfile tests/stories

ui: $(SYNCED) ## the pages in a real browser: needs Debian's chromium, or one that CHROMIUM names
	@$(BIN)/pytest -n 0 tests/ui

api: $(SYNCED) ## the HTTP API against its OpenAPI document, over 2,000 requests: three minutes
	@API_EXAMPLES=60 $(BIN)/pytest -n 0 --timeout 900 tests/integration/gateway/test_openapi.py

wheel: $(SYNCED) ## install wheel and sdist into empty environments, run demo, pages and a user's tests from there
	@$(BIN)/pytest -n 0 tests/installed

dist: $(SYNCED) ## build the wheel and the sdist, in dist
	@rm -rf dist
	@for target in wheel sdist; do $(BIN)/python -m hatchling build --target $$target; done

release: $(SYNCED) ## what must be true of a version before it is published; then as dist. It publishes nothing
	@$(BIN)/python -m tests.release

docs: $(SYNCED) ## the documentation as a site: build/site/index.html, readable without a server
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "build/site/index.html"

docs-serve: $(SYNCED) ## the same at http://127.0.0.1:8000 while you write
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve --quiet

reference: $(SYNCED) ## write docs/reference from the code
	@$(BIN)/python -m tests.reference

schemas: $(SYNCED) ## docker-compose.yml and the workflow against their schemas
	@$(BIN)/check-jsonschema --builtin-schema vendor.compose-spec docker-compose.yml
	@$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/ci.yml

budget: $(SYNCED) ## set the rows of budget.toml down to what the rooms of the code weigh
	@$(BIN)/python -m tests.budget --down

environment: $(SYNCED) ## set up .venv; every other target does it too

# The public index by name and without local configuration, so that no machine's mirror gets into the lock files.
lock: ## resolve the dependencies anew (needs uv): uv.lock, and requirements.lock for plain pip
	@command -v uv >/dev/null || { echo "make lock needs uv: https://docs.astral.sh/uv/" >&2; exit 1; }
	@uv lock --no-config --default-index https://pypi.org/simple
	@uv export --no-config --default-index https://pypi.org/simple --frozen --quiet --all-groups --all-extras \
	    --no-hashes --no-emit-project --no-annotate --no-header --output-file requirements.lock >/dev/null

clean: ## remove the environment, caches and reports
	@rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis .coverage* htmlcov dist build
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: .mypy .pyright .style .words .rules .budget .unit .properties .chain .compiled .four-partitions .one-partition .pages .unused
.mypy:
	@$(BIN)/mypy
.pyright:
	@$(BIN)/pyright
.style:
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
.words:
	@$(BIN)/codespell *.md docs services shared examples evals tests/*/*.py tests/*/*/*.py
.rules:
	@$(BIN)/lint-imports --no-logo
.budget:
	@$(BIN)/python -m tests.budget
# -n 0: side by side with the others already, and each process more would import all tests once more.
.unit:
	@$(BIN)/pytest -n 0 --quiet tests/unit --ignore=tests/unit/chain
.properties:
	@$(BIN)/pytest -n 0 --quiet tests/properties
# Every branch of what is decided is asked for by its own tests; examples found by luck (tests/properties) do not count.
.chain:
	@$(BIN)/pytest -n 0 --quiet tests/unit/chain --cov=haltpoint.chain --cov-report=term --cov-fail-under=100
# What processes import that start side by side: compiled once, and not by each of them.
.compiled:
	-@$(BIN)/pytest -n 0 -qq --collect-only >/dev/null
.four-partitions:
	@$(BIN)/pytest $(OPTIONS)
.one-partition:
	@HALTPOINT_PARTITIONS=1 $(BIN)/pytest -n 0 --quiet $(ONE_PARTITION)
.pages:
	@$(BIN)/pytest -n 0 --quiet $$(grep -v '^#' tests/ui/first.txt)
.unused:
	@$(BIN)/deptry .

# With uv when it is there, else with venv and pip from the exported lock, which is complete: pip has nothing to find out,
# and what is never imported is never compiled. Older than a lock file: synced again.
PIP := --quiet --disable-pip-version-check --no-deps
$(SYNCED): pyproject.toml uv.lock requirements.lock
	@if command -v uv >/dev/null; then \
	    uv sync --frozen --quiet --all-groups --all-extras; \
	else \
	    for python in python3 python3.14 python3.13 python3.12 python3.11 none; do \
	        $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && break; \
	    done; \
	    if [ $$python = none ]; then \
	        echo "Haltpoint needs Python 3.11 or newer and found $$(python3 --version 2>&1 || echo none)." >&2; exit 1; \
	    fi; \
	    if ! $$python -c 'import venv, ensurepip' 2>/dev/null; then \
	        echo "$$python has no venv module. Debian, Ubuntu: sudo apt-get install python3-venv" >&2; exit 1; \
	    fi; \
	    echo "Setting up .venv with $$($$python --version), once ..."; \
	    $$python -m venv .venv && \
	    $(BIN)/python -m pip install $(PIP) --no-compile -r requirements.lock && \
	    $(BIN)/python -m pip install $(PIP) -e .; \
	fi
	@touch $@
