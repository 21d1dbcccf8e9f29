"""A marker for pytest: the test fails unless the model converts.

    @pytest.mark.onnx_convertible("model.pt2", opset=17)
    def test_model(onnx_report): ...

The path begins at the test's folder. Keywords are those of compatcheck.check. `onnx_report` is the report; with several markers,
that of the closest.
"""
from __future__ import annotations

import os
from typing import Any

import pytest

_cache = pytest.StashKey[dict[int, Any]]()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "onnx_convertible(model, opset=17, **options): fails unless compatcheck finds that the model converts to ONNX"
    )


def _report(item: pytest.Item, mark: pytest.Mark) -> Any:
    import compatcheck

    reports = item.stash.setdefault(_cache, {})
    if id(mark) not in reports:
        if not mark.args:
            raise pytest.UsageError(f"{item.nodeid}: onnx_convertible names no model")
        model, *rest = mark.args
        if isinstance(model, (str, os.PathLike)):
            model = item.path.parent / model
        try:
            reports[id(mark)] = compatcheck.check(model, *rest, **mark.kwargs)
        except (compatcheck.Error, TypeError) as error:  # TypeError: a wrong keyword
            pytest.fail(f"onnx_convertible: {type(error).__name__}: {error}", pytrace=False)
    return reports[id(mark)]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    __tracebackhide__ = True
    for mark in item.iter_markers("onnx_convertible"):
        report = _report(item, mark)
        if report.exit_code != 0:
            pytest.fail(str(report), pytrace=False)


@pytest.fixture
def onnx_report(request: pytest.FixtureRequest) -> Any:
    """The report of the marker `onnx_convertible`."""
    mark = request.node.get_closest_marker("onnx_convertible")
    if mark is None:
        raise pytest.UsageError("onnx_report needs the marker onnx_convertible")
    return _report(request.node, mark)
