# Needs only GNU make 4 and Python 3.11 or later: everything runs from .venv, which the first target that
# needs it sets up. Another interpreter: make PYTHON=python3.13 <target>.

PYTHON ?= python3
WORKERS ?= 5
PY := .venv/bin/python
STAMP := .venv/.stamp

# The caller's environment must not decide what is imported or where pip installs.
unexport PYTHONPATH PYTHONHOME PYTHONSTARTUP PYTHONWARNINGS VIRTUAL_ENV MYPYPATH
# Without bytecode every process that a test starts compiles Kron again, and every worker the tests.
unexport PYTHONDONTWRITEBYTECODE
unexport PIP_TARGET PIP_PREFIX PIP_USER PIP_REQUIRE_VIRTUALENV
# mkdocs-material announces its end of life on every build; constraints.txt holds the version.
export NO_MKDOCS_2_WARNING := 1

PIP_FLAGS := --quiet --disable-pip-version-check --no-input

.DEFAULT_GOAL := help
.PHONY: help demo quick test lint types contracts unit bytecode coverage docs cluster images bench soak hooks format reference constraints clean

help: ## List the targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | while IFS="$$(printf '\t')" read -r name text; \
	  do printf '  make %-12s %s\n' "$$name" "$$text"; done

demo: $(STAMP) ## Show Kron at work, in a minute or less
	@$(PY) demo/engine.py
	@$(PY) demo/krontab.py
	@$(PY) demo/krond.py

# Runs the tests that take less than about 0.1 s each: eight in ten of them.
quick: lint types contracts ## Check what takes a minute at most: style, types, imports, quick tests
	@$(PY) -m pytest -q -n 2 -m 'not heavy' $(ARGS)

# What takes one core each goes side by side. The tests come last and take all cores.
test: lint ## Check everything: the five targets below
	@$(MAKE) --no-print-directory --jobs=2 --output-sync types contracts docs bytecode
	@$(MAKE) --no-print-directory unit

lint: $(STAMP) ## Check style, formatting (ruff) and the subjects of new commits
	@$(PY) -m ruff check --quiet .
	@$(PY) -m ruff format --quiet --check . || { echo 'Run: make format'; exit 1; }
	@$(PY) -m tools.commits

types: $(STAMP) ## Check types (mypy --strict)
	@$(PY) -m mypy

contracts: $(STAMP) ## Check the direction of imports (import-linter)
	@.venv/bin/lint-imports --no-logo

unit: $(STAMP) ## Run the tests in parallel; ARGS= goes to pytest
	@$(PY) -m pytest -q -n $(WORKERS) --dist worksteal $(ARGS)

# In a new clone every worker would else rewrite the assertions of every test: 7 s for each of them.
# What does not import, `unit` says.
bytecode: $(STAMP)
	@$(PY) -m pytest -q --collect-only > /dev/null 2>&1 || true

# Not --quiet: it hides warnings from --strict too, and a broken link would pass.
docs: $(STAMP) ## Build the documentation into .site
	@$(PY) -m mkdocs build --strict

coverage: $(STAMP) ## Run the tests and list the code they do not reach (half as long again)
	@$(PY) -m pytest -q -n $(WORKERS) --cov --cov-report=term $(ARGS)

# Needs Go. Does nothing if it is built already; builds again for other sources or another Go.
cluster: $(STAMP) ## Build the programs for tests/cluster and tests/node, once, outside the tree (12 min)
	@$(PY) -m tools.cluster

# Needs root, buildah and mmdebstrap. Does nothing if it is built already for the same sources.
images: $(STAMP) ## Build the image of kron-operator and its SBOM, outside the tree; ARGS=--help
	@$(PY) -m tools.images $(ARGS)

bench: $(STAMP) ## Run the benchmarks
	@$(PY) -m bench

soak: $(STAMP) ## Run the random tests 20 times as long or more; ARGS= goes to pytest
	@KRON_SOAK=20 $(PY) -m pytest -q -n $(WORKERS) $(ARGS)

hooks: $(STAMP) ## Let git refuse a commit whose subject breaks the rule
	@$(PY) -m tools.commits --install

format: $(STAMP) ## Format the code and sort its imports
	@$(PY) -m ruff check --quiet --fix-only .
	@$(PY) -m ruff format --quiet .

reference: $(STAMP) ## Generate the reference pages, src/kron/share/, the CRD and the console pages
	@$(PY) -m tools.reference
	@$(PY) -m tools.crd
	@$(PY) -m tools.console

# A new environment without the old pins; the comment at the top of the file is kept.
constraints: ## Pin the newest versions in constraints.txt
	@$(check_python)
	@rm -rf .venv-new && $(PYTHON) -m venv .venv-new
	@.venv-new/bin/python -m pip install $(PIP_FLAGS) --editable '.[dev]' hatchling editables
	@{ sed -n '/^#/p' constraints.txt; .venv-new/bin/python -m pip freeze --exclude-editable; } \
	  > .venv-new/constraints.txt
	@mv .venv-new/constraints.txt constraints.txt && rm -rf .venv-new

clean: ## Remove the environment and everything that was built
	@rm -rf .venv .venv-new .site build dist .coverage .coverage.* .hypothesis \
	  .mypy_cache .pytest_cache .ruff_cache .import_linter_cache src/kron/krond/process/launcher
	@find src tests bench demo tools -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

define check_python
$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
  echo "Kron needs Python 3.11 or later; '$(PYTHON)' is $$($(PYTHON) --version 2>&1 | tail -n 1)." >&2; \
  echo "Name another one: make PYTHON=/path/to/python3 ..." >&2; exit 1; }
endef

# The stamp says where and with which interpreter the environment was made. If it says anything else
# (a moved or copied tree, another PYTHON=, a removed interpreter), the environment is made again.
SETUP := $(CURDIR) $(PYTHON)
ifneq ($(shell test -x $(PY) && cat $(STAMP) 2>/dev/null),$(SETUP))
.PHONY: $(STAMP)
VENV_FLAGS := --clear
endif

# constraints.txt also pins what builds the package: pip before 25.3 reads the first variable for
# that, later ones the second.
# hatch_build.py compiles the launcher, if there is a C compiler.
$(STAMP): pyproject.toml constraints.txt hatch_build.py src/kron/krond/process/launcher.c
	@$(check_python)
	@echo 'Setting up .venv ...'
	@rm -f $(STAMP)
	@$(PYTHON) -m venv $(VENV_FLAGS) .venv
	@PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt \
	  $(PY) -m pip install $(PIP_FLAGS) --editable '.[dev]'
	@echo '$(SETUP)' > $(STAMP)
