# Everything people and machines do here, by name. Plain GNU make, 3.81 or newer.

VENV      ?= .venv
PYTHON    := $(VENV)/bin/python
PIP       := $(PYTHON) -m pip --disable-pip-version-check
COVERAGE  := $(PYTHON) -m coverage
INSTALLED := $(VENV)/.installed
REPORTS   := build/tests
ENGINE    := nbrunner/core/*,nbrunner/loop/*,nbrunner/replay/*,nbrunner/views/*
NO_KEYS   := env -u ANTHROPIC_API_KEY -u ANTHROPIC_AUTH_TOKEN

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo lab test suites fresh lint types walls unit notebooks outputs browser pictures \
        bench coverage test-lowest test-interop constraints clean

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' Makefile

demo: $(INSTALLED)  ## Run the demo notebook without a browser or an API key
	$(PYTHON) notebooks/demo.py

lab: $(INSTALLED)  ## Open the notebooks in JupyterLab
	cd notebooks && ../$(PYTHON) -m jupyterlab

test: fresh lint types walls suites coverage test-lowest  ## Check everything
	@$(PYTHON) scripts/totals.py $(REPORTS)

# A page waits more than it works: beside it the other tests cost hardly any time.
suites: $(INSTALLED)
	@mkdir -p $(REPORTS)
	@$(MAKE) browser > $(REPORTS)/browser.txt 2>&1 & beside=$$!; \
	$(MAKE) unit notebooks; first=$$?; \
	wait $$beside; second=$$?; cat $(REPORTS)/browser.txt; \
	test $$first -eq 0 && test $$second -eq 0

fresh: $(INSTALLED)
	rm -rf $(REPORTS)
	$(COVERAGE) erase

lint: $(INSTALLED)  ## Check style and format
	$(PYTHON) -m ruff check
	$(PYTHON) -m ruff format --check

types: $(INSTALLED)  ## Check types
	$(PYTHON) -m mypy

walls: $(INSTALLED)  ## Check who may import whom
	$(VENV)/bin/lint-imports

unit: $(INSTALLED)  ## Run the tests that need no browser
	$(COVERAGE) run -m pytest --ignore=tests/browser --ignore=tests/interop \
	    --junitxml=$(REPORTS)/unit.xml

notebooks: $(INSTALLED)  ## Run the notebooks and compare their saved outputs
	$(NO_KEYS) $(COVERAGE) run -m pytest --nbval --nbval-current-env \
	    --junitxml=$(REPORTS)/notebooks.xml notebooks/*.ipynb

outputs: $(INSTALLED)  ## Run the notebooks anew and keep their outputs
	$(NO_KEYS) $(PYTHON) -m nbconvert --to notebook --execute --inplace \
	    --ExecutePreprocessor.record_timing=False notebooks/*.ipynb

browser: $(INSTALLED)  ## Run the tests in a real JupyterLab and Chromium
	NBRUNNER_BROWSER="$$(PATH="$(VENV)/bin:$$PATH" scripts/find_browser)" && \
	export NBRUNNER_BROWSER && \
	$(COVERAGE) run -m pytest --junitxml=$(REPORTS)/browser.xml tests/browser

pictures: $(INSTALLED)  ## Take the pictures in docs/ anew
	NBRUNNER_BROWSER="$$(PATH="$(VENV)/bin:$$PATH" scripts/find_browser)" && \
	export NBRUNNER_BROWSER && \
	NBRUNNER_PICTURES=docs/states $(PYTHON) -m pytest tests/browser/test_states.py
	cp docs/states/paused.png docs/panel.png

bench: $(INSTALLED)  ## Measure against the alternatives; keep docs/benchmarks.md
	NBRUNNER_BROWSER="$$(PATH="$(VENV)/bin:$$PATH" scripts/find_browser)" && \
	export NBRUNNER_BROWSER && \
	$(NO_KEYS) $(PYTHON) -m tests.bench $(BENCH)

coverage: $(INSTALLED)  ## Join and judge what the test runs measured
	$(COVERAGE) combine
	$(COVERAGE) report --fail-under=95 --include='$(ENGINE)'
	$(COVERAGE) json --quiet -o build/coverage.json
	$(COVERAGE) report > build/coverage.txt && cat build/coverage.txt

test-lowest: $(INSTALLED)  ## Run the tests on the lowest and the newest anthropic
	$(PYTHON) scripts/test_sdk_range.py --reports $(REPORTS)

test-interop: $(INSTALLED)  ## Run against a mock server that others wrote; needs Node.js 20
	scripts/install_mock_server build/interop
	NBRUNNER_INTEROP=build/interop $(PYTHON) -m pytest tests/interop

constraints:  ## Pin the newest version of everything, in constraints.txt
	rm -rf build/fresh && scripts/make_venv build/fresh
	build/fresh/bin/pip install --quiet --editable '.[dev]'
	(echo '# Written by `make constraints`: the versions that `make test` runs on.'; \
	 build/fresh/bin/pip freeze --exclude-editable) > constraints.txt

clean:  ## Remove everything that these commands made
	rm -rf .venv* build .coverage* .*_cache

$(INSTALLED): pyproject.toml constraints.txt
	scripts/make_venv $(VENV)
	@echo "Installing into $(VENV): a minute or two ..."
	$(PIP) install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@
