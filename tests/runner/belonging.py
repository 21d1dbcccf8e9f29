"""Which tests belong to a file of src/, mappings/ or tests/: `make check` and tools/mutants.py run them first.

A file of a family (mappings/operators/pooling.yaml, mappings/libraries/torch_scatter.yaml, src/symbolic/pooling.cpp, src/handlers/pooling_adaptive.cpp) has the test
operators_pooling. TABLE says the rest: the first pattern that matches a path gives regular expressions of tests' names.
"""
import pathlib, re, subprocess

ROOT = pathlib.Path(__file__).parents[2]
FAMILY = re.compile(r"(?:mappings/(?:operators|libraries)|tests/operators|src/(?:symbolic|handlers))/(\w+)\.(?:yaml|txt|cpp|h)")
SCRIPTED = "layers_scripted_.*"
CONTAINERS = "passes_test layers_scripted_.* check_containers"
TABLE = [
    (r"tests/convert/(layers_\w+)\.py", r"\1"),
    (r"tests/convert/(script_programs\.py|script_outcomes\.tsv)", SCRIPTED),
    (r"src/passes/(alias|memory|write|views|functional|effects|rebind|overwritten)", "passes_test layers_scripted_(views|written|aliases|set|memo) layers_lists"),
    (r"src/passes/(state|attributes|forward_attributes|container_attributes)", "passes_test layers_scripted_(more_state|attributes|objects|memo) check_verify_state.*"),
    (r"src/passes/(pad_sequences|same_calls|subexpressions|foreach|settle|evaluate|constants|fold|dead_code|branches|loops|part_inputs)",
     "passes_test layers_(control|lists|edges|numbers) layers_scripted_(choices|recurrences|sizes|natural)"),
    (r"src/passes/(number_references|references)", "passes_test layers_scripted_numbered.* layers_scripted_(sorted|objects|ragged)"),
    (r"src/passes/container_(ragged|columns|column_operators|tables|keys)", "passes_test layers_scripted_(ragged|records|dictionaries|.*keys|nested_tables|growing)"),
    (r"src/passes/", CONTAINERS),
    (r"src/ir/", "ir_test passes_test"),
    (r"src/process/", "process_test cli_log"),
    (r"src/schema/", "schema_test schemas_of_libtorch passes_test"),
    (r"src/files/block_cache", "ranges_test"),
    (r"src/files/", "frontend_test check_broken"),
    (r"src/frontend/native/", "frontend_test native_fuzz check_reading_notes layers_(control|lists|recurrent) layers_scripted_natural check_frontends"),
    (r"src/frontend/pt2/", "frontend_test exported_convert exported_edits_test check_verify_exported"),
    (r"src/frontend/", "frontend_test snapshot_fuzz zip_fuzz"),
    (r"src/examples/", "check_examples examples_fuzz check_verify_examples"),
    (r"(mappings/libraries|src/(handlers|symbolic))/torchao", "layers_torchao check_libraries"),
    (r"src/handlers/segments", "operators_torch_(scatter|sparse)"),
    (r"tests/models/library_references", "operators_(torch_.*|torchaudio|flash_attn) check_libraries"),
    (r"src/mapping/|mappings/", "mapping_test lint_.*test check_rows operators_aliases"),
    (r"src/onnx/", "onnx_test operators_(arithmetic|view) check_rows"),
    (r"src/onnx_file/", "onnx_file_test check_onnx_files"),
    (r"src/retarget/", "retarget_.*"),
    (r"src/engines/", "engines_.*"),
    (r"src/symbolic/", "symbolic_test facts_test layers_(edges|counts)"),
    (r"src/handlers/", "layers_(edges|rare) operators_(arithmetic|view|reduction)"),
    (r"src/conversion/(settle|written)_memory", "facts_test layouts layers_scripted_(views|written|aliases|reordered)"),
    (r"src/conversion/", "facts_test defect_test symbolic_test layers_(control|edges|counts) layers_scripted_(ranks|optionals)"),
    (r"src/inference/", "inference_test check_assumed layers_inferred"),
    (r"src/plugins/", "plugin_test check_fatal_plugin"),
    (r"src/lint/", "lint_.*test check_rows"),
    (r"src/analysis/", "analysis_test targets_test check_(assumed|members|causes|advice|value_advice|containers)"),
    (r"src/policy/", "policy_test cli_baseline"),
    (r"src/verification/", "verify_test check_verify.* check_bisect.*"),
    (r"src/model_tools/", "model_tools_test check_(extract|onnx_files|diff)"),
    (r"src/report/", "report_test report_formats saved_reports"),
    (r"src/reference/", "scaffold_test"),
    (r"src/cli/", "cli_.*"),
    (r"python/", "python_.*"),
    (r"tests/verify/check_(\w+)\.py", r"check_(verify_)?\1"),
    (r"tests/(?:check|cli|html|ci|docs)/check_(\w+)\.py", r"(check|cli|cli_json|html|ci|docs)_\1"),
]


def changed_files(root):
    """Since the last commit, those that git doesn't track included."""
    git = lambda *words: subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=True).stdout.splitlines()
    return [*git("diff", "--name-only", "HEAD"), *git("ls-files", "--others", "--exclude-standard")]


def families(path, tests):
    """The tests of a family that has such a file, or of which it is a part."""
    if not (found := FAMILY.fullmatch(path)):
        return set()
    name = f"operators_{found[1]}"
    while name not in tests and "_" in name:
        name = name.rpartition("_")[0]
    return {name} & set(tests)


def patterns(path):
    for place, words in TABLE:
        if found := re.match(place, path):
            return [found.expand(word) for word in words.split()]
    return []


def tests_of(paths, tests):
    """Of names of tests, those that belong to the files."""
    chosen = set()
    for path in paths:
        named = families(path, tests)
        # A family's own file needs no tests of its room.
        chosen |= named or {name for name in tests for pattern in patterns(path) if re.fullmatch(pattern, name)}
    return chosen
