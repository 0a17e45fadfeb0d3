PLUGINS := $(wildcard plugins/zoo-*)

.PHONY: install test thorough lint format bench stub results claims gpu-bundle docs

install:
	pip install -c constraints.txt -e '.[test]'

test:
	pytest

# All that is slow, before a release: kills, published files made again byte for byte, the page at
# every width, plug-ins installed by pip; then, with our plug-ins, theirs, notebooks and the site.
thorough:
	pytest -m slow
	pip install -c constraints.txt -e '.[test,docs]' $(PLUGINS:%='./%[test]')
	pytest -m slow $(PLUGINS:%=%/tests)
	python -m bench.docs

lint:
	ruff check .
	ruff format --check .
	mypy

format:
	ruff check --fix .
	ruff format .

bench:
	zoo bench --attention fused,naive --pe rope,sin

stub:
	python -m bench.stub

# Repeats what is stale and no more; ARGS="--data-dir DIR" where data/ is in another directory.
results:
	python -m bench.results $(ARGS)
	python -m bench.publish
	python -m bench.readme

# Runs every published claim, the cheapest first, and makes the page; it goes on where it was
# interrupted. ARGS="--seeds 12 NAME ..." for those that are undecided at eight.
claims:
	python -m bench.claims $(ARGS)
	python -m bench.publish

# The diagnostics' profile, ten hours or more on two cores; goes on from what is published and where
# it was interrupted, seed by seed, and publishes each seed.
profile:
	python -m bench.results --rounds 6 diagnostics/cpu/profile
	python -m bench.publish
	python -m bench.readme

# What bench/gpu.sh needs on a machine without a network, in build/gpu; ARGS="--data DIR".
gpu-bundle:
	python -m bench.gpu_bundle build/gpu $(ARGS)

docs:
	python -m bench.docs
