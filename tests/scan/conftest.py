"""Marks the tests that start a Ray cluster: `make test` leaves them to `make test-all`, and of the others it takes half each day."""
import pathlib, sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "convert"))
from days import part_of_the_day


def pytest_configure(config):
    config.addinivalue_line("markers", "cluster: starts a Ray cluster")


def pytest_collection_modifyitems(items):
    for item in items:
        if "ray" in item.fixturenames:
            item.add_marker(pytest.mark.cluster)
    items[:] = part_of_the_day(items, "scan", 2)
