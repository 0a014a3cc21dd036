# The two commands a newcomer needs: `make demo` and `make test`. Both make their own virtual environment in .venv, so they
# work on systems whose Python is externally managed. Only Python 3.10+, make and git are needed beforehand.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
EXAMPLE ?= examples/rtx4090-workstation.yaml
TARGET ?= ubuntu2204
# torch for the tests: the CPU build, from PyTorch's own CPU index, so that nobody downloads gigabytes of CUDA.
TORCH ?= torch==2.13.0
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
PYTEST_ARGS ?=

.PHONY: demo test lint types contracts data shell bench docs clean wheel

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "provision needs Python 3.10 or newer; name one: make PYTHON=python3.11 $(MAKECMDGOALS)" >&2; exit 2; }
	@$(PYTHON) -m venv $(VENV) || { echo "cannot make a virtual environment; on Debian and Ubuntu: apt install python3-venv" >&2; exit 2; }

$(VENV)/.base: $(BIN)/python pyproject.toml
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.base
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,dev]'
	@touch $@

# An index of its own first (CPU wheels only); where it cannot be reached, what pip finds with the CPU label or nothing.
$(VENV)/.torch: $(VENV)/.dev
	@sh tools/install_cpu_torch.sh $(BIN)/python '$(TORCH)' '$(TORCH_INDEX)'
	@touch $@

demo: $(VENV)/.base  ## plan an example and print the install script it leads to
	@$(BIN)/provision plan $(EXAMPLE)
	@$(BIN)/provision render --target $(TARGET) --out out
	@echo; sed -n '1,40p' out/install.sh; echo "... ($$(wc -l < out/install.sh) lines in out/install.sh)"

test: $(VENV)/.torch  ## run every test that this machine can run
	@$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: $(VENV)/.dev
	@$(BIN)/ruff check .

types: $(VENV)/.dev
	@$(BIN)/mypy

contracts: $(VENV)/.dev
	@$(BIN)/lint-imports

data: $(VENV)/.base
	@$(BIN)/provision catalog lint

shell: $(VENV)/.dev
	@$(BIN)/shellcheck .ci/run tools/*.sh

bench: $(VENV)/.dev
	@$(BIN)/python benchmarks/run.py

docs: $(VENV)/.base
	@$(BIN)/python tools/make_docs.py

wheel: $(VENV)/.dev
	@$(BIN)/python -m build --wheel --outdir dist .

clean:
	rm -rf $(VENV) out dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
