"""`make test` takes half of the tests each day."""
import pathlib, sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "convert"))
from days import part_of_the_day


def pytest_collection_modifyitems(items):
    items[:] = part_of_the_day(items, "python", 2)
