# make demo    build the environment, upscale a real clip and a still
# make test    build the environment, run the tests but the slow ones; JOBS=4: so many at once
# make slow    run the slow tests
# make fuzz    hostile files against the commands: SECONDS=3600 SEED=… KIND=film; see tests/fuzz
# make soak    long runs in one process: nothing grows; FRAMES=… CALLS=… JOBS=… DEVICE=cuda; see tests/soak
# make env     build the environment in .venv, with the snellen command in it; with packages/lab
# make lint    style, types and layers, as CI checks them
# make docs    build the documentation site in docs/_build, offline; a warning is an error
# make release-check    was this source run by the GPU tests? See CONTRIBUTING.md
# make faults RUNS=300    strike commands by signals at that many moments; SEED=n repeats some
# make mutants    make lines of the source wrong, one at a time: do the quick tests notice?
# make sanitize    compute-sanitizer over its tests, on a GPU; writes benchmarks/gpu-sanitizer.json
# make release    build wheel and sdist of the commit, bit for bit the same for everyone; see there
#
# Another Python or folder: make test PYTHON=python3.13 VENV=.venv313

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$p" && break; done)
VENV ?= .venv
BIN := $(VENV)/bin

# Images and reference outputs that some tests want; they skip where the folder is absent.
ifneq ($(wildcard ../shared/data),)
export SNELLEN_DATA ?= $(abspath ../shared/data)
endif

JOBS ?= auto
# Compiled code of programs under tests/ is that of the tests, never the user's.
OWN_CACHE = SNELLEN_CACHE=$(CURDIR)/.test-cache/snellen
PYTEST = $(BIN)/python -m pytest -n $(JOBS) --maxprocesses 8 --dist worksteal

.PHONY: demo test slow fuzz soak env lint docs release-check release sanitize faults mutants clean

demo: $(VENV)/.demo
	$(BIN)/python examples/demo.py

test: $(VENV)/.test
	$(PYTEST)

slow: $(VENV)/.test
	$(PYTEST) -m slow

SECONDS = 3600
fuzz: $(VENV)/.test
	$(OWN_CACHE) PYTHONPATH=$(CURDIR)/src:$(CURDIR)/tests $(BIN)/python -m fuzz --seconds $(SECONDS) $(if $(SEED),--seed $(SEED)) \
		$(if $(KIND),--kind $(KIND)) $(if $(CASE),--case $(CASE)) $(if $(KEEP),--keep $(KEEP))

env: $(VENV)/.env

lint: $(VENV)/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build

release-check: $(VENV)/.env
	$(BIN)/python .ci/release_check.py

faults: $(VENV)/.test
	SNELLEN_FAULTS=$(or $(RUNS),300) SNELLEN_FAULTS_SEED=$(or $(SEED),0) \
		$(BIN)/python -m pytest tests/faults -m "" -s

soak: $(VENV)/.test
	$(OWN_CACHE) PYTHONPATH=$(CURDIR)/src:$(CURDIR)/tests $(BIN)/python -m soak $(if $(FRAMES),--frames $(FRAMES)) $(if $(CALLS),--calls $(CALLS)) \
		$(if $(filter-out auto,$(JOBS)),--jobs $(JOBS)) $(if $(DEVICE),--device $(DEVICE))

mutants: $(VENV)/.test
	PYTHONPATH=$(CURDIR)/tests $(BIN)/python -m mutants $(NUMBERS)

sanitize: $(VENV)/.test
	$(BIN)/python -m benchmarks.sanitize $(ARGS)

release: $(VENV)/.release
	$(BIN)/python .ci/release.py

$(VENV)/.env: pyproject.toml packages/lab/pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed: make $(MAKECMDGOALS) PYTHON=/path/to/python3" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable . --editable packages/lab
	touch $@

$(VENV)/.demo $(VENV)/.test $(VENV)/.dev $(VENV)/.docs $(VENV)/.release: $(VENV)/.env
	$(BIN)/python -m pip install --quiet --editable ".[$(@:$(VENV)/.%=%)]"
	touch $@

clean:
	rm -rf $(VENV) demo docs/_build .test-cache
