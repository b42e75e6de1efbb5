# The front door. `make demo` and `make test` need nothing but Python 3.10 or later, git and make.

PYTHON ?= python3
BIN := .venv/bin
JOBS ?= 2

.PHONY: demo test verify lint snapshots kept bench tightness mutants opacus ensembles laplace local p3gm questions questions-cifar10 clean

demo: .venv/installed  ## a first audit on embedded data, then every adversary against its claim; minutes
	$(BIN)/dpaudit run --canary adv-maxloss --samples 1000
	$(BIN)/dpaudit ladder

test: .venv/installed-dev  ## every test but long simulations, lint included
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal --durations 10

verify: .venv/installed-dev  ## long simulations: levels and mean bounds; about ten minutes
	$(BIN)/python -m pytest -m verify -n $(JOBS) --dist worksteal

lint: .venv/installed-dev  ## style, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

snapshots: .venv/installed-dev  ## renew the kept sentences of every command (tests/snapshots)
	DPAUDIT_RENEW=1 $(BIN)/python -m pytest tests/cli/test_snapshots.py tests/report/test_report_outcomes.py

kept: .venv/installed-dev  ## renew the observations that runs must repeat (tests/kept): only after an intended change
	DPAUDIT_RENEW=1 $(BIN)/python -m pytest tests/test_kept_observations.py

bench: .venv/installed-dev  ## speed, as ratios measured in one run; about twenty minutes
	mkdir -p build
	$(BIN)/python benchmarks/training.py --figure build/training.png
	$(BIN)/python benchmarks/scaling.py --figure build/scaling.png
	$(BIN)/python benchmarks/end_to_end.py
	$(BIN)/python benchmarks/estimators.py

tightness: .venv/installed-dev  ## the gap between bounds and claims; hours, can be resumed
	mkdir -p build
	$(BIN)/python -m reproductions.tightness.checkpoint
	$(BIN)/python -m reproductions.tightness.run --keep build/tightness --json build/tightness.json --figure build/tightness.png

mutants: .venv/installed-dev  ## broken DP-SGD trainers that must be caught; about ten minutes
	$(BIN)/python -m mutants.catching

opacus: .venv/installed-dev  ## an audit of Opacus as its users run it; about ten minutes on two cores
	mkdir -p build
	$(BIN)/python -m reproductions.opacus.run --json build/opacus.json --figure build/opacus.png

ensembles: .venv/installed-dev  ## private learners, aggregated and audited; DPAUDIT_DATA has pima.csv.gz
	mkdir -p build
	$(BIN)/python -m reproductions.ensembles.run --json build/ensembles.json

laplace: .venv/installed-dev  ## networks with Laplace noise: audits and utility
	mkdir -p build
	$(BIN)/python -m reproductions.laplace.audits --json build/laplace_audits.json
	$(BIN)/python -m reproductions.laplace.utility --json build/laplace_adult.json

local: .venv/installed-dev  ## randomized response with hidden parameters; seconds
	mkdir -p build
	$(BIN)/python -m reproductions.local.run --json build/local.json --figure build/local.png

p3gm: .venv/installed-dev  ## classifiers trained on synthetic records; an hour on two cores, can be resumed
	mkdir -p build
	$(BIN)/python -m reproductions.p3gm.run --json build/p3gm.json
	$(BIN)/python -m reproductions.p3gm.convergence --json build/p3gm_convergence.json --figure build/p3gm_convergence.png
	$(BIN)/python -m reproductions.p3gm.figures --data mnist --samples build/p3gm_samples.png --composition build/p3gm_composition.png

questions: .venv/installed-dev  ## the leak of Bayesian networks; a quarter of an hour, can be resumed
	$(BIN)/python -m reproductions.bayesian.questions --only digits --keep build/questions --json reproductions/bayesian/results/digits.json

questions-cifar10: .venv/installed-dev  ## the same with the paper's CNN; an hour on two cores; DPAUDIT_DATA has cifar10_12k.npz
	$(BIN)/python -m reproductions.bayesian.questions --only cifar10 --keep build/questions --json reproductions/bayesian/results/cifar10.json

clean:  ## remove everything that make has made
	rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

# A stamp, because a failed venv leaves a python without pip behind.
.venv/created:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "dpaudit needs Python 3.10 or later; try: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv --clear .venv
	@touch $@

.venv/installed: setup.cfg pyproject.toml | .venv/created
	@echo "Installing dpaudit into .venv (PyTorch is large: some minutes)"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

.venv/installed-dev: setup.cfg pyproject.toml | .venv/created
	@echo "Installing dpaudit and its test tools into .venv (PyTorch is large: some minutes)"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .[dev]
	@touch $@ .venv/installed
