#!/usr/bin/env python3
"""Graphs that are small in the file and endless when taken at their word: each ends in time and memory, with a verdict or
with the reason why there is none. `--patience` multiplies the bounds, for instrumented builds."""
import argparse, os, pathlib, resource, subprocess, sys, tempfile

import hostile as h

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "convert"))
from days import part_of_the_day

SECONDS = 3
MEGABYTES = 500
VERDICT = (0, 1)

# name, text, exits, what stderr says
CASES = [
    ("nested ifs", h.nested_ifs(100_000), (3,), "nested more than 400 deep"),
    ("nested ifs, few enough", h.nested_ifs(390), VERDICT, ""),
    ("nested loops", h.nested_loops(390), VERDICT, ""),
    ("nested list", h.nested_literal(100_000), (3,), "nested more than 400 deep"),
    ("nested list, short enough", h.nested_literal(390), VERDICT, ""),
    ("nested tuple", h.nested_tuple_literal(100_000), (3,), "nested more than 400 deep"),
    ("nested dict", h.nested_dict_literal(100_000), (3,), "nested more than 400 deep"),
    ("nested annotations", h.nested_annotation(100_000), (3,), "nested more than 400 deep"),
    ("nested type", h.nested_type(100_000), (3,), "nested more than 400 deep"),
    ("list of lists as a type", h.nested_list_type(100_000), (3,), "a type nested more than 100 deep"),
    ("optional of optionals", h.nested_optional_type(100_000), (3,), "a type nested more than 100 deep"),
    ("tuple of tuples as a type", h.nested_tuple_type(100_000), (3,), "nested more than 400 deep"),
    ("tuples made one in the other", h.nested_tuples(20_000), VERDICT, ""),
    ("tuples that double", h.doubling_tuples(40), VERDICT, ""),
    ("lists that double", h.doubling_lists(40), VERDICT, ""),
    ("lists of unknown items that double", h.doubling_open_lists(40), VERDICT, ""),
    ("lists of tensors that double", h.doubling_tensor_lists(40), VERDICT, ""),
    ("[0] * 10**9", h.long_list(10**9), VERDICT, ""),
    ("[0] * 2**62", h.long_list(2**62), VERDICT, ""),
    ("[] * 2**62", h.repeated_nothing(2**62), VERDICT, ""),
    ("many long lists", h.many_long_lists(3000, 2000), VERDICT, ""),
    ("many long constants", h.many_long_constants(1000, 4000), VERDICT, ""),
    ("a list that extends itself", h.extended_list(40), VERDICT, ""),
    ("a list that is read after each append", h.appended_and_read(4000), VERDICT, ""),
    ("strings that double", h.doubling_strings(50), VERDICT, ""),
    ("strings formatted from themselves", h.doubling_formats(30), VERDICT, ""),
    ("strings that grow", h.many_strings(10_000), VERDICT, ""),
    ("a sum of many sizes, squared", h.sum_of_sizes(1000), VERDICT, ""),
    ("powers of a size", h.powers_of_a_size(62), VERDICT, ""),
    ("quotients of a size", h.quotients_of_a_size(60), VERDICT, ""),
    ("small quotients of a size", h.quotients_by_three(5000), VERDICT, ""),
    ("contents that are long sums", h.growing_contents(3000), VERDICT, ""),
    ("a long loop", h.unrolled(10**9, 3), VERDICT, ""),
    ("loops in loops, unrolled", h.unrolled_deep(390, 32), VERDICT, ""),
    ("a body of constants, unrolled", h.unrolled_constants(32, 300), VERDICT, ""),
    ("a body that becomes constants, unrolled", h.unrolled_sums(10_000, 2000), VERDICT, ""),
    ("a body of much text, unrolled", h.unrolled_text(32, 1_000_000), VERDICT, ""),
    ("a list filled in a loop", h.filled_list(10_000), VERDICT, ""),
    ("values passed round in a loop", h.rotated(300), VERDICT, ""),
    ("a long chain", h.chain(20_000), VERDICT, ""),
    ("dimensions known only at run time", h.dimensions_at_run_time(3000, 8), VERDICT, ""),
    ("a dimension of too many", h.dimensions_at_run_time(3, 20), VERDICT, ""),
    ("a write to one of many parts", h.written_part_of_many(4000), VERDICT, ""),
    ("a chain of writes", h.chain_of_writes(3000), VERDICT, ""),
    ("a write to a view of views", h.views_and_write(3000), VERDICT, ""),
    ("writes to many views", h.writes_to_views(2000), VERDICT, ""),
    ("writes to a deep view, read each time", h.writes_to_deep_view(90, 12_000), VERDICT, ""),
    ("many writes to one tensor", h.writes_to_one(3000), VERDICT, ""),
    ("a list of all tensors, each written", h.list_of_all(1500), VERDICT, ""),
    ("one value used everywhere", h.one_used_often(30_000), VERDICT, ""),
    ("one condition everywhere", h.branches(10_000), VERDICT, ""),
    ("failures deep in branches", h.failing_in_branches(100, 3000, 3000), VERDICT, ""),
    ("a condition that comes a long way", h.long_number_chain(50_000), VERDICT, ""),
    ("a call of many arguments", h.wide_call(200_000), VERDICT, ""),
    ("an operator of a long name", h.long_name(10_000, 1000), (3,), "an operator's name of more than 1000 letters"),
    ("arguments too long to tell", h.refused_long_list(100), VERDICT, ""),
    ("a long constant in many calls", h.long_constant_shown(100_000, 3000), VERDICT, ""),
    ("a wide dict", h.wide_dict(3000), VERDICT, ""),
    ("a dict filled entry by entry", h.filled_dict(3000), VERDICT, ""),
    ("a constant dict read often", h.constant_dict(1000, 1000), VERDICT, ""),
    ("a triangle of many rows and no column", h.empty_triangle(2**63 - 1), VERDICT, ""),
    ("too few arguments", h.too_few_arguments(), VERDICT + (3,), ""),
]


def run(program, text, patience):
    def bound():
        resource.setrlimit(resource.RLIMIT_CPU, (20 * patience, 20 * patience))

    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "hostile.ir"
        file.write_text(text)
        with open(pathlib.Path(folder) / "err", "w+") as err:
            process = subprocess.Popen([program, str(file)], stdout=subprocess.DEVNULL, stderr=err, preexec_fn=bound)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            err.seek(0)
            return process.returncode, usage.ru_utime + usage.ru_stime, usage.ru_maxrss >> 10, err.read()


def fault(program, patience, name, text, exits, says):
    code, seconds, megabytes, stderr = run(program, text, patience)
    if code not in exits:
        return f"{name}: exit {code}, allowed are {exits}: {stderr.strip()[:300]}"
    if says not in stderr:
        return f"{name}: stderr says {stderr.strip()[:300]!r}, not {says!r}"
    if seconds > SECONDS * patience:
        return f"{name}: took {seconds:.1f} s"
    if megabytes > MEGABYTES * patience:
        return f"{name}: took {megabytes} MB"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--patience", type=int, default=1)
    options = parser.parse_args()
    cases = part_of_the_day(CASES, "hostile", 2)
    wrong = [line for case in cases if (line := fault(options.program, options.patience, *case))]
    print(*wrong, sep="\n")
    print(f"{len(cases) - len(wrong)} passed, {len(wrong)} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
