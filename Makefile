# Two commands for a fresh machine: `make demo` and `make test`. Both make their own environment.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Tests run in this many processes, each file in one, see tests/conftest.py.
JOBS ?= 2
# A thread of numpy's for each: more of them wait for one another, and take the time to do so.
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q --numprocesses $(JOBS) --no-loadscope-reorder

.PHONY: demo test quick check matrix bench bench-class mutation names assignment site pictures clean

demo: $(VENV)/grader.installed
	$(BIN)/python -m grader.cli.demo

test: $(VENV)/test.installed
	$(PYTEST) --durations=15

# The cheap two thirds of the tests, in a minute and a half; what it leaves out: tests/conftest.py.
quick: $(VENV)/test.installed
	$(PYTEST) -m 'not slow'

# A minute: style, types, and who may import whom.
check: $(VENV)/test.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Two minutes: what a student reads is the same with every pytest that the bundle allows.
matrix: $(VENV)/test.installed
	$(BIN)/python tests/pytest_matrix.py

# Some minutes: every decode loop side by side on this machine, see docs/fast-decode.md.
bench: $(VENV)/test.installed
	$(BIN)/python -m benchmarks.decode

# Half an hour: what grading costs, by submission, by class and beside it, and nbgrader on two.
bench-class: $(VENV)/test.installed
	$(BIN)/python benchmarks/grading_cost.py
	$(BIN)/python benchmarks/overheads.py
	$(BIN)/python benchmarks/throughput.py

# Three quarters of an hour: the mutants of solution/ that the tests do not kill, see docs/mutation.md.
mutation: $(VENV)/test.installed
	$(BIN)/python -m pip install --quiet 'cosmic-ray>=8.7'
	$(BIN)/python benchmarks/mutation/run.py

# Some minutes: unknown bugs, and whether another part is named for them, see docs/known-bugs.md.
names: $(VENV)/test.installed
	$(BIN)/python -m benchmarks.names

# After a change in solution/ or reference_model/: stubs, given files, golden data, figures.
assignment: $(VENV)/grader.installed
	$(BIN)/python -m grader.authoring.skeleton
	$(BIN)/python -m grader.authoring.golden
	$(BIN)/python -m grader.authoring.exercises
	$(BIN)/python -m grader.authoring.figures
	$(BIN)/python -m reference_model.lecture.figures
	$(BIN)/python -m grader.grading.signatures
	$(BIN)/python -m grader.grading.reach

# The handouts, docs/ and the playground as pages, in build/site/: no server and no network needed.
site: $(VENV)/site.installed
	$(BIN)/python docs/site/make_site.py

# Some minutes: the README's pictures, of a terminal, the class page and the playground.
pictures: $(VENV)/test.installed
	$(BIN)/python docs/site/pictures.py

$(VENV)/grader.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, $(PYTHON) is %d.%d; try: make PYTHON=python3.12" % sys.version_info[:2] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[grader,chat]'
	@touch $@

$(VENV)/test.installed: $(VENV)/grader.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[grader,chat,distributed,lecture,nbgrader,site,dev]'
	$(BIN)/python tests/install_torch.py
	@touch $@

$(VENV)/site.installed: $(VENV)/grader.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[site]'
	@touch $@

clean:
	rm -rf $(VENV) results build
