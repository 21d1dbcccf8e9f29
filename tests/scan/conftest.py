"""Marks the tests that start a Ray cluster: `make test` leaves them to `make test-all`."""
import pytest


def pytest_configure(config):
    config.addinivalue_line("markers", "cluster: starts a Ray cluster")


def pytest_collection_modifyitems(items):
    for item in items:
        if "ray" in item.fixturenames:
            item.add_marker(pytest.mark.cluster)
