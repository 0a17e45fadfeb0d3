"""Timings of single components, from pytest-benchmark's JSON to a page."""

import json
from pathlib import Path
from typing import Any

from markdown_tables import cells

from bench.components.timings import FILE, main, read
from bench.publish.others import components_page

COMMIT = "0123456789abcdef0123456789abcdef01234567"
SHAPES = {"small": "8 × 64 tokens of width 64", "large": "16 × 256 tokens of width 256"}


def measurement(kind: str, name: str, way: str, size: str, median: float) -> dict[str, Any]:
    """As pytest-benchmark writes one, with more of its statistics than are used."""
    info = {"kind": kind, "component": name, "distribution": "zoo", "way": way, "size": size}
    return {
        "group": f"{kind}, {way}, {size}",
        "extra_info": {**info, "shape": SHAPES[size]},
        "stats": {"median": median, "iqr": median / 10, "rounds": 20, "ops": 1 / median},
    }


def benchmark(*measurements: dict[str, Any], dirty: bool = False) -> dict[str, Any]:
    environment = {"device_name": "a machine", "threads": 2, "torch": "2.13.0"}
    environment["git"] = {"commit": COMMIT, "dirty": dirty}
    return {
        "machine_info": {"node": "secret", "zoo": environment},
        "datetime": "2026-01-02T03:04:05",
        "benchmarks": list(measurements),
    }


def published(tmp_path: Path, content: object) -> Path:
    run = tmp_path / "run.json"
    run.write_text(json.dumps(content))
    directory = tmp_path / "results" / "components" / "cpu"
    main([str(run), str(directory)])
    return directory


def test_a_page_has_each_parts_medians_by_size_and_the_fastest_first(tmp_path):
    directory = published(
        tmp_path,
        benchmark(
            measurement("attention", "naive", "forward", "small", 1.234e-3),
            measurement("attention", "naive", "forward", "large", 0.5),
            measurement("attention", "naive", "backward", "large", 1.25),
            measurement("attention", "fused", "forward", "large", 0.1234),
            measurement("norm", "rms", "forward", "small", 1.5e-5),
            dirty=True,
        ),
    )
    text = components_page(directory)
    assert [row for row in cells(text) if row[0].startswith("`")] == [
        ["`fused`", "zoo", "", "123 ms", "", "10%"],
        ["`naive`", "zoo", "1.23 ms", "500 ms", "1.25 s", "10%"],
        ["`rms`", "zoo", "15 µs", "10%"],
    ]
    assert "## attention" in text
    assert "a machine, 2 threads" in text
    assert "Commit: 0123456789ab+. Measured 2026-01-02." in text
    assert "*large*: 16 × 256 tokens of width 256" in text


def test_what_is_published_is_small_and_names_no_host(tmp_path):
    directory = published(
        tmp_path, benchmark(measurement("norm", "rms", "forward", "small", 1.23456789e-5))
    )
    environment, (timing,) = read(directory)
    assert timing.seconds == {"small": {"forward": [1.235e-05, 1.235e-06]}}
    assert environment.commit == COMMIT
    assert "secret" not in (directory / FILE).read_text()
    assert len((directory / FILE).read_text().splitlines()) == 2
