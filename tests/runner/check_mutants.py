"""Tests of tools/mutants.py that need no build: the faults it makes, the choice by a seed, and how survivors are tried together."""
import pathlib, sys

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import mutants, mutations

CPP = r'''// if (a && b) return 1;
  if (size < 2 && !e.at_least(8)) return refuse("x < 3 (and more)");
  const Value a, b, first = e.cast(subtract(e, a, b), x.dtype);
  text = R"(x < 1
    y < 1)";
  throw Refusal(size < 2);
  return e.build.gather(shape, 1);
'''
FAULTS = [
    ("comparison", '  if (size <= 2 && !e.at_least(8)) return refuse("x < 3 (and more)");'),
    ("condition", '  if (size < 2) return refuse("x < 3 (and more)");'),
    ("condition", '  if ((size < 2 && !e.at_least(8)) && false) return refuse("x < 3 (and more)");'),
    ("constant", '  if (size < 2 && !e.at_least(9)) return refuse("x < 3 (and more)");'),
    ("constant", '  if (size < 3 && !e.at_least(8)) return refuse("x < 3 (and more)");'),
    ("swap", "  const Value a, b, first = e.cast(subtract(e, b, a), x.dtype);"),
    ("cast", "  const Value a, b, first = subtract(e, a, b);"),
    ("axis", "  return e.build.gather(shape, 0);"),
    ("constant", "  return e.build.gather(shape, 2);"),
]
ROWS = """aten::f:
  traits: [iterates, divides]   # as [a, b]
  9: {to: Gather, inputs: [self, index], when: {dim: {min: 1}}}
"""
ROW_FAULTS = [
    ("condition", "  traits: [iterates]   # as [a, b]"),
    ("constant", "  10: {to: Gather, inputs: [self, index], when: {dim: {min: 1}}}"),
    ("constant", "  9: {to: Gather, inputs: [self, index], when: {dim: {min: 2}}}"),
    ("condition", "  9: {to: Gather, inputs: [self, index]}"),
    ("swap", "  9: {to: Gather, inputs: [index, self], when: {dim: {min: 1}}}"),
]


def check_faults():
    for text, wanted, rows in ((CPP, FAULTS, False), (ROWS, ROW_FAULTS, True)):
        made = {(one.kind, one.after) for one in mutations.of_text("f", text, rows)}
        lines = text.splitlines()
        assert set(wanted) <= made, f"missing: {set(wanted) - made}"
        extra = {one for one in made - set(wanted) if not (one[0] == "condition" and rows) and one[0] != "axis"}
        assert not extra, f"not wanted: {extra}"
        assert all(after not in lines for _, after in made)


def check_choice():
    def chosen(seed):
        choice, used = mutations.Choice(ROOT, seed, ["src/files", "mappings/operators"]), set()
        for slot in range(6):
            used.add((one := choice.next_of(slot, {other.file for other in used})))
        return used
    first = chosen(1)
    assert first == chosen(1) != chosen(2)
    assert len({one.file for one in first}) == 6 and len({one.kind for one in first}) >= 3
    assert sum(one.file.startswith("mappings") for one in first) == 4   # its share is double
    assert all((ROOT / one.file).read_text().splitlines()[one.line - 1] == one.before != one.after for one in first)


class Suite:
    """Tests that fail by rule: (mutants that must be there, mutants that must not) → test."""

    def __init__(self, *rules, prevents=None):
        self.rules, self.prevents, self.runs = rules, prevents or {}, []

    def __call__(self, mutants, tests):
        self.runs.append((list(mutants), set(tests)))
        failed = {test for there, absent, test in self.rules if set(there) <= set(mutants) and not set(absent) & set(mutants)}
        unable = {test for test, other in self.prevents.items() if other in failed}
        return (failed - unable) & set(tests), unable & set(tests)


def check_sharing():
    tests = {f"t{i}" for i in range(50)}
    whole = lambda suite: sum(ran == tests for _, ran in suite.runs)
    assert mutants.share_out([], tests, Suite()) == {}

    quiet = Suite()
    assert mutants.share_out(list("abc"), tests, quiet) == {} and len(quiet.runs) == 1

    two = Suite(("a", "", "t1"), ("c", "", "t2"))
    assert mutants.share_out(list("abc"), tests, two) == {"a": "t1", "c": "t2"} and whole(two) == 1

    hidden = Suite(("a", "b", "t1"), ("ab", "", "t2"))   # b hides what t1 finds of a; together they fail otherwise
    assert mutants.share_out(list("abc"), tests, hidden) == {"a": "t1"}

    crash = Suite(*(("b", "", test) for test in tests), ("a", "b", "t3"))
    assert mutants.share_out(list("abcd"), tests, crash) == {"a": "t3", "b": "t0"}

    after = Suite(("a", "", "t1"), ("b", "", "t9"), prevents={"t9": "t1"})   # t9 can't run where t1 fails
    assert mutants.share_out(list("abc"), tests, after) == {"a": "t1", "b": "t9"} and whole(after) == 1


if __name__ == "__main__":
    check_faults()
    check_choice()
    check_sharing()
