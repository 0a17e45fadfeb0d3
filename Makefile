.PHONY: install test slow lint format bench stub results docs

install:
	pip install -c constraints.txt -e '.[test]'

test:
	pytest

slow:
	pytest --slow

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

results:
	python -m bench.publish
	python -m bench.readme

docs:
	python -m bench.docs
