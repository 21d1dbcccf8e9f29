"""What `make test` does on some days only, so that it is done in the end: `make test-all` does it whole."""
import datetime, os, zlib

OPSETS = range(7, 27)


def number_of(name):
    """One that changes from day to day; COMPATCHECK_TEST_DAY=2026-11-28 repeats a day."""
    day = os.environ.get("COMPATCHECK_TEST_DAY") or datetime.date.today().isoformat()
    return zlib.crc32(f"{day} {name}".encode())


def opset_of_the_day(name):
    return OPSETS[number_of(name) % len(OPSETS)]


def part_of_the_day(items, name, parts):
    """Every so many of the items, others each day."""
    if os.environ.get("COMPATCHECK_WHOLE"):
        return list(items)
    return list(items)[number_of(name) % parts::parts]
