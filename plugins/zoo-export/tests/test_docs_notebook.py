"""The notebook of docs/ runs, from a DataFrame to an ONNX file, and its models agree."""

from __future__ import annotations

import ast
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import zoo

nbclient, nbformat = (pytest.importorskip(name) for name in ("nbclient", "nbformat"))
for needed in ("ipykernel", "zoo_hf"):
    pytest.importorskip(needed)

PAGE = Path(__file__).parents[3] / "docs" / "from-dataframe-to-onnx.ipynb"


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The notebook after all its cells, in an empty folder, without a network; and that folder."""
    folder = tmp_path_factory.mktemp("notebook")
    commands = folder / "bin"
    commands.mkdir()
    (commands / "zoo").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m zoo "$@"\n')
    (commands / "zoo").chmod(0o755)
    settings = {
        "ZOO_CACHE": str(folder / "cache"),
        "ZOO_PLUGINS": "zoo-export",
        "HF_HUB_OFFLINE": "1",
        "HF_HOME": str(folder / "hub"),
        "IPYTHONDIR": str(folder / "ipython"),
        "JUPYTER_PLATFORM_DIRS": "1",
        "PYTHONPATH": os.pathsep.join([str(Path(zoo.__file__).parents[1]), *sys.path]),
        "PATH": os.pathsep.join([str(commands), os.environ["PATH"]]),
        "OMP_NUM_THREADS": "1",
    }
    notebook = nbformat.read(PAGE, as_version=4)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in settings.items():
            patch.setenv(name, value)
        nbclient.NotebookClient(
            notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": folder}}
        ).execute()
    return notebook, folder


def shown(notebook: Any, word: str) -> str:
    """What the cell whose code has this word printed and gave."""
    (cell,) = (c for c in notebook.cells if c.cell_type == "code" and word in c.source)
    texts = [output.get("text", "") for output in cell.outputs]
    texts += [output.get("data", {}).get("text/plain", "") for output in cell.outputs]
    return "".join(texts)


def test_it_is_kept_without_outputs() -> None:
    """They would grow old, and name the machine that they were made on."""
    nbformat.validate(notebook := nbformat.read(PAGE, as_version=4))
    assert not any(c.outputs or c.execution_count for c in notebook.cells if c.cell_type == "code")


@pytest.mark.slow
def test_the_bench_gives_a_table_and_an_answer(executed: Any) -> None:
    notebook, folder = executed
    (bench,) = (c for c in notebook.cells if "result = zoo.bench" in c.source)
    (html,) = (o.data["text/html"] for o in bench.outputs if "text/html" in o.get("data", {}))
    answer = shown(notebook, "print(result.answer)")
    assert "Use sin: accuracy " in answer, "only positions tell the classes apart"
    assert answer.splitlines()[0] in html.replace("&#x27;", "'")
    assert (folder / "run" / "records.jsonl").exists()


@pytest.mark.slow
def test_the_model_the_onnx_file_and_transformers_agree(executed: Any) -> None:
    notebook, folder = executed
    assert "Compared in onnxruntime" in shown(notebook, "zoo export")
    by_zoo = ast.literal_eval(shown(notebook, "zoo.train(").splitlines()[-1])
    by_onnx = ast.literal_eval(shown(notebook, "InferenceSession").splitlines()[-1])
    assert by_zoo == by_onnx == ["ends lower", "ends higher"]
    text = shown(notebook, "AutoModel.from_pretrained")
    difference = re.search(r"largest difference from the ONNX file: (\S+)", text)
    assert "vectors: (2, " in text
    assert difference is not None
    assert float(difference[1]) < 1e-4
    model: Any = zoo.load(folder / "final")
    assert model.predict(["late gained early today dropped slowly"])[0].label == "ends lower"
