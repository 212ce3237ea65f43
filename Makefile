# Every target makes the virtual environment itself; `make help` lists them.
PYTHON ?= python3
VENV ?= .venv
REFERENCE ?= $(shell $(BIN)/python -m tests.tools.golden)
JOBS ?= 2
GPU_JOBS ?= 8
# The original MXNet takes a NumPy that no Python after 3.11 can install.
ORIGINAL ?= .venv-original
ORIGINAL_PYTHON ?= $(firstword $(foreach version,11 10 9 8,$(shell command -v python3.$(version))) python3)
MUTANTS ?= 50
SEED ?= 1
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help venv quickstart test slow gpu hostile chaos original mutants lint stubs format report bench reference docs
.DEFAULT_GOAL := help

help:
	@echo "make quickstart  train LeNet on handwritten digits (under two minutes), plots in build/logs/quickstart/"
	@echo "make test        the tests that run in minutes"
	@echo "make slow        the tests marked slow as well"
	@echo "make gpu         on a machine with one: every operator, kernel and some networks against the CPU, in minutes"
	@echo "make hostile     100,000 damaged or forged files of all kinds that programs load; logs/hostile.txt counts what came of them"
	@echo "make chaos       50 kills of training, of loading workers and of one of three ranks; logs/chaos.txt counts what came of them"
	@echo "make original    what is compared with the original MXNet 1.9.1, which is installed into $(ORIGINAL)"
	@echo "make mutants     $(MUTANTS) small faults in the source, and whether the tests notice; logs/mutants.json"
	@echo "make docs        the documentation site, without network, into build/docs; a warning or a broken link is an error"
	@echo "make lint        ruff check, ruff format --check, mypy, type stubs, tables of results against logs/"
	@echo "make stubs       rewrite the type stubs (.pyi) that lie beside the sources"
	@echo "make format      let ruff fix and format"
	@echo "make report      rewrite the tables of docs/results.md and the plots from logs/"
	@echo "make bench       imports, training steps, operators and networks, timed against PyTorch"
	@echo "make reference   every recorded answer of the original software (REFERENCE=FOLDER for others)"

venv: $(STAMP)

# Reinstalled only when pyproject.toml changes: the install is editable. Python compiles what it imports, when it does.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed, $(PYTHON) is $$($(PYTHON) --version 2>&1); try make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt --editable '.[test,docs]'
	@touch $@

quickstart: $(STAMP)
	$(BIN)/python scripts/quickstart.py

# A file of tests stays in one process: what its tests share is made once. tests/conftest.py puts the long ones first.
test: $(STAMP)
	$(BIN)/python -m pytest -q -m "not slow" --numprocesses $(JOBS) --dist loadfile --no-loadscope-reorder

slow: $(STAMP)
	$(BIN)/python -m pytest -q

# Needs no virtual environment: machines with a GPU often have PyTorch and no network. Each worker compiles kernels; one
# whose device breaks is replaced.
gpu:
	$(or $(wildcard $(BIN)/python),$(PYTHON)) scripts/benchmarks/gpu.py --smoke --jobs $(GPU_JOBS)

hostile: $(STAMP)
	rm -f logs/hostile.txt
	MXTEST_MUTATIONS=160 MXTEST_MUTATIONS_EACH=19 MXTEST_MUTATIONS_LOG=logs/hostile.txt \
	  $(BIN)/python -m pytest -q tests/core/files/test_hostile.py tests/core/files/test_hostile_structures.py
	awk '{tried += $$2; refused += $$4; loaded += $$6} END {print "in all: " tried " tried, " refused " refused, " loaded " loaded"}' \
	  logs/hostile.txt >> logs/hostile.txt

chaos: $(STAMP)
	$(BIN)/python -m tests.scripts.chaos --kills 50 --output logs/chaos.txt

$(ORIGINAL)/.installed:
	$(ORIGINAL_PYTHON) -m venv $(ORIGINAL)
	$(ORIGINAL)/bin/python -m pip install --quiet mxnet==1.9.1 numpy==1.23.5
	@touch $@

original: $(STAMP) $(ORIGINAL)/.installed
	MXTEST_MXNET_PYTHON=$(abspath $(ORIGINAL))/bin/python $(BIN)/python -m pytest -q -m mxnet

mutants: $(STAMP)
	$(BIN)/python -m tests.tools.mutants --count $(MUTANTS) --seed $(SEED) --jobs $(JOBS) --report logs/mutants.json

# Tutorials are run again when they change (DOCS_EXECUTE=off: not at all, pages are without what they print).
docs: $(STAMP)
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs
	@echo "build/docs/index.html"

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python packaging/stubs.py --check
	$(BIN)/python scripts/report.py --check

stubs: $(STAMP)
	$(BIN)/python packaging/stubs.py

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

report: $(STAMP)
	$(BIN)/python scripts/report.py

bench: $(STAMP)
	$(BIN)/python scripts/benchmarks/import_time.py
	$(BIN)/python scripts/benchmarks/train_step.py
	$(BIN)/python scripts/benchmarks/operators.py
	$(BIN)/python scripts/benchmarks/networks.py

reference: $(STAMP)
	$(BIN)/python $(REFERENCE)/check.py all -j 2
