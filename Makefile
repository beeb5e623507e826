# Needs make and Python 3.11 or later, nothing else: everything runs from .venv, which the first
# target that needs it sets up. Another interpreter: make PYTHON=python3.13 <target>.

PYTHON ?= python3
WORKERS ?= 4
PY := .venv/bin/python
STAMP := .venv/.stamp

# The caller's environment must not decide what is imported or where pip installs.
unexport PYTHONPATH PYTHONHOME PYTHONSTARTUP PYTHONWARNINGS VIRTUAL_ENV MYPYPATH
unexport PIP_TARGET PIP_PREFIX PIP_USER PIP_REQUIRE_VIRTUALENV
# mkdocs-material announces its end of life on every build; constraints.txt holds the version.
export NO_MKDOCS_2_WARNING := 1

PIP_FLAGS := --quiet --disable-pip-version-check --no-input

.DEFAULT_GOAL := help
.PHONY: help demo test lint types contracts unit coverage docs cluster bench soak format reference constraints clean

help: ## List the targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | while IFS="$$(printf '\t')" read -r name text; \
	  do printf '  make %-12s %s\n' "$$name" "$$text"; done

demo: $(STAMP) ## Show Kron at work, in a minute or less
	@$(PY) demo/engine.py
	@$(PY) demo/krontab.py
	@$(PY) demo/krond.py

test: lint types contracts unit docs ## Check everything: the five targets below

lint: $(STAMP) ## Check style and formatting (ruff)
	@$(PY) -m ruff check --quiet .
	@$(PY) -m ruff format --quiet --check . || { echo 'Run: make format'; exit 1; }

types: $(STAMP) ## Check types (mypy --strict)
	@$(PY) -m mypy

contracts: $(STAMP) ## Check the direction of imports (import-linter)
	@.venv/bin/lint-imports --no-logo

unit: $(STAMP) ## Run the tests in parallel; ARGS= goes to pytest
	@$(PY) -m pytest -q -n $(WORKERS) $(ARGS)

# Not --quiet: it hides warnings from --strict too, and a broken link would pass.
docs: $(STAMP) ## Build the documentation into .site
	@$(PY) -m mkdocs build --strict

coverage: $(STAMP) ## Run them and show what they do not reach, which takes half as long again
	@$(PY) -m pytest -q -n $(WORKERS) --cov --cov-report=term $(ARGS)

# Needs Go. Nothing to do when it is there; another version of its sources or of Go is built anew.
cluster: $(STAMP) ## Build the control plane for tests/cluster, once, outside the tree (nine minutes)
	@$(PY) -m tools.cluster

bench: $(STAMP) ## Run the benchmarks
	@$(PY) -m bench

soak: $(STAMP) ## Run the tests with numbers 20 times as big; ARGS= goes to pytest
	@KRON_SOAK=20 $(PY) -m pytest -q -n $(WORKERS) $(ARGS)

format: $(STAMP) ## Format the code and sort its imports
	@$(PY) -m ruff check --quiet --fix-only .
	@$(PY) -m ruff format --quiet .

reference: $(STAMP) ## Renew what is made from the code: reference pages, share/, the CRD, console pages
	@$(PY) -m tools.reference
	@$(PY) -m tools.crd
	@$(PY) -m tools.console

# A new environment without the old pins; the comment at the top of the file is kept.
constraints: ## Renew constraints.txt with the newest versions
	@$(check_python)
	@rm -rf .venv-new && $(PYTHON) -m venv .venv-new
	@.venv-new/bin/python -m pip install $(PIP_FLAGS) --editable '.[dev]' hatchling editables
	@{ sed -n '/^#/p' constraints.txt; .venv-new/bin/python -m pip freeze --exclude-editable; } \
	  > .venv-new/constraints.txt
	@mv .venv-new/constraints.txt constraints.txt && rm -rf .venv-new

clean: ## Remove the environment and everything that was built
	@rm -rf .venv .venv-new .site build dist .coverage .coverage.* .hypothesis \
	  .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	@find src tests bench demo tools -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

define check_python
$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
  echo "Kron needs Python 3.11 or later; '$(PYTHON)' is $$($(PYTHON) --version 2>&1 | tail -n 1)." >&2; \
  echo "Name another one: make PYTHON=/path/to/python3 ..." >&2; exit 1; }
endef

# The stamp says where and with which interpreter the environment was made. Any other answer (a
# moved or copied tree, another PYTHON=, an interpreter that is gone) means: make it anew.
SETUP := $(CURDIR) $(PYTHON)
ifneq ($(shell test -x $(PY) && cat $(STAMP) 2>/dev/null),$(SETUP))
.PHONY: $(STAMP)
VENV_FLAGS := --clear
endif

# constraints.txt also pins what builds the package: pip before 25.3 reads the first variable for
# that, later ones the second.
$(STAMP): pyproject.toml constraints.txt
	@$(check_python)
	@echo 'Setting up .venv ...'
	@rm -f $(STAMP)
	@$(PYTHON) -m venv $(VENV_FLAGS) .venv
	@PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt \
	  $(PY) -m pip install $(PIP_FLAGS) --editable '.[dev]'
	@echo '$(SETUP)' > $(STAMP)
