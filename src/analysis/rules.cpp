#include "analysis/rules.h"

#include <algorithm>
#include <array>

namespace compatcheck::analysis {
namespace {

constexpr std::array table{
    Rule{"CC001", "missing-operator", Severity::error, "The operator has no ONNX mapping at any opset",
         "libtorch knows the operator; the mapping table has no row for it, or a row that says why ONNX can't express it.\n"
         "\n"
         "What to do: follow the finding's advice if it names a rewrite. Where ONNX does have what the operator computes, a\n"
         "row in a YAML file given with --mappings adds it:\n"
         "\n"
         "    aten::foo:\n"
         "      9: {to: Foo, inputs: [self]}\n"
         "\n"
         "`compatcheck explain aten::foo --scaffold yaml` prints rows with the operator's own arguments to start from, "
         "`compatcheck\n"
         "ops` lists the rows in force, docs/mappings.md describes the language.\n"},
    Rule{"CC002", "available-from-higher-opset", Severity::error, "The operator converts only from a higher opset",
         "ONNX gained what the operator needs after the opset that was asked for. `available_from` is the lowest opset at\n"
         "which these calls convert; the report's last line of the header names the one at which the whole model does.\n"
         "\n"
         "What to do: convert with --opset N if your runtime takes that opset.\n"},
    Rule{"CC003", "unknown-operator", Severity::error, "A custom operator that nobody ships",
         "Neither libtorch nor a library whose schemas compatcheck carries registers this operator. The model could be read\n"
         "all the same: a schema was assumed from the calls.\n"
         "\n"
         "What to do: give the library that registers it (--op-library libfoo.so), or state its schema in a mapping row,\n"
         "and say there what it becomes:\n"
         "\n"
         "    acme::fused_bias:\n"
         "      schema: acme::fused_bias(Tensor x, Tensor bias) -> Tensor\n"
         "      9: {to: acme.ops::FusedBias, inputs: [x, bias]}\n"},
    Rule{"CC004", "composite", Severity::note, "The operator becomes several ONNX nodes",
         "The conversion is exact, and costs more than one node that carries meaning. Nothing needs to be done; a runtime may\n"
         "be slower on the parts than on one fused operator. `--fail-on composite` turns it into a failure.\n"},
    Rule{"CC005", "broken-condition", Severity::error, "This call breaks a condition of its mapping",
         "The operator has a mapping at this opset, but not for these arguments, ranks or dtypes. The message names the\n"
         "argument, what was needed and what was found.\n"
         "\n"
         "What to do: change the call as the advice says, or use the opset in `available_from` where the condition falls.\n"},
    Rule{"CC006", "needs-input", Severity::error, "The verdict needs the shape or dtype of an input",
         "Whether some nodes convert hangs on a dtype, rank or size that neither the file nor the command line tells. There\n"
         "is one finding for each model input, naming how many nodes it settles.\n"
         "\n"
         "What to do: --input NAME=DTYPE:DIM,DIM,… where a DIM is a number, or a name for a size that varies:\n"
         "--input x=f32:batch,3,224,224\n"
         "\n"
         "or --inputs-from FILE with example inputs: .pt (torch.save), .npz, or a folder of input_0.pb, input_1.pb …\n"},
    Rule{"CC007", "unresolved-write", Severity::error, "An in-place write that can't be expressed yet",
         "ONNX has values, no memory: a write through a view, in a branch or loop, or to a list becomes a new value that all\n"
         "later readers get. Where compatcheck can't prove that the result is the same, it refuses, and says why: a write\n"
         "that is silently lost is worse. So for what a module keeps from one call to the next, for x.reshape(...), which is\n"
         "a view of x or a copy as x's strides have it, and for tensors that a list holds when they are written.\n"
         "\n"
         "Attributes that the model writes and later calls read are refused by default, or become inputs and outputs\n"
         "(--state inputs-outputs). Attributes that are caches (written before they are read in each call, or written once from\n"
         "constants) are no state.\n"
         "\n"
         "What to do: write to a copy (y = x.reshape(...).clone()), or out of place (y = y + 1); --state inputs-outputs for\n"
         "attributes, or take state as an input, and return it as an output.\n"},
    Rule{"CC008", "random-or-training", Severity::warning, "A random or training-mode operator",
         "The operator draws random numbers, or behaves as in training (dropout that was traced with training on, batch\n"
         "normalisation that updates its statistics). A scripted model that was saved in training mode gets a warning: it is "
         "converted\n"
         "as in evaluation mode. A random result can't be compared between runtimes: for verify\n"
         "it is an error.\n"
         "\n"
         "What to do: call model.eval() before tracing or scripting, and save the model again. Random numbers that inference "
         "needs,\n"
         "too, are drawn outside of the model and passed to it as an input.\n"},
    Rule{"CC009", "deprecated-operator", Severity::warning, "The mapping uses an ONNX operator deprecated at this opset",
         "The emitted operator is deprecated at the opset asked for; newer runtimes may drop it.\n"},
    Rule{"CC010", "approximate-mapping", Severity::warning, "The mapping is approximate",
         "The ONNX form differs from PyTorch's result within the tolerance that the message names, over the whole domain.\n"},
    Rule{"CC011", "missing-mapping", Severity::error, "No row maps the operator, though ONNX has one of its name",
         "libtorch knows the operator, and ONNX has an operator of the same name at this opset. Only the row between the two is\n"
         "missing: one that a --mappings file takes away, or one that nobody wrote.\n"
         "\n"
         "What to do: compare the two (`compatcheck explain aten::foo`, ONNX's documentation), put the row that the finding\n"
         "prints into a YAML file, and give it with --mappings. Arguments that ONNX has no word for stand under `when`: the row\n"
         "holds for calls that leave them at their default. `compatcheck verify` shows whether the two compute the same.\n"},
    Rule{
        "CC012", "baked-in", Severity::note, "Something that tracing may have fixed",
        "A trace records what one run did. What Python decided from values (branches, int(x.shape[0]), loops over a size) is a "
        "constant\n"
        "in it, and nothing in the file says so. Where --input names sizes, compatcheck notes inputs that nothing reads, named\n"
        "sizes of which only parts are read (x[0] + x[1]), and numbers equal to the size that the trace saw where a name stands\n"
        "now: in a reshape, as a pooling window, the k of a topk, a sum's divisor or the size of an interpolation, which may be "
        "a\n"
        "multiple. A size that an operator reads whole (a mean over it, interpolate(scale_factor=...)) isn't noted. Each may be "
        "what "
        "you\n"
        "want; the verdict doesn't change.\n"
        "\n"
        "verify shows the same as warnings. It is an error there (CC205) if the number stands exactly where the named size "
        "stood\n"
        "in the trace.\n"
        "\n"
        "What to do: `compatcheck verify` runs the model at other sizes; script the model, or trace it without turning sizes "
        "into\n"
        "Python numbers.\n"},
    Rule{
        "CC013", "dropped-assertion", Severity::note, "An assertion that the ONNX model doesn't make",
        "The model's code raises an exception (`raise`, `assert`, torch._assert) under a condition that the inputs' dtypes and\n"
        "sizes don't settle. ONNX has no exceptions: the check is left out, and for inputs at which TorchScript raises the ONNX\n"
        "model gives some result, or fails with a message of the runtime's. For all other inputs the two agree. An exported "
        "program\n"
        "(.pt2) also has conditions that torch.export found for its sizes, such as `n % 2 == 0`.\n"
        "\n"
        "What to do: nothing, where such inputs never come. Else check them before the model runs, or state sizes with --input:\n"
        "assertions that they settle are no longer noted.\n"},
    Rule{"CC014", "lost-write", Severity::note, "A write to an input that the caller doesn't get",
         "The model writes to a tensor that its caller passes in (x += 1, x[0] = 0, x.copy_(y)). In PyTorch the caller's tensor\n"
         "has changed after the call. ONNX has no side effects: inside of the model the written value is used, but the caller's\n"
         "tensor stays as it is. The results are the same.\n"
         "\n"
         "What to do: nothing, where the caller doesn't read that tensor afterwards. Else return it from the model as one more\n"
         "output, and let the caller keep it.\n"},
    Rule{
        "CC015", "cached-attribute", Severity::note, "An attribute keeps what the first call computes",
        "The model computes something in its first call, keeps it in an attribute, and reads it in later calls\n"
        "(`if self.scales is None: self.scales = ...`). The value is constant, or it depends on dtypes, or on sizes only "
        "through\n"
        "a rounded logarithm. An ONNX model keeps nothing between calls: it computes the value in each call. The results agree\n"
        "with those of a model that is called for the first time. They can differ from a later PyTorch call with other sizes or\n"
        "dtypes than the first call.\n"
        "\n"
        "What to do: nothing, if the value is the same for all inputs that the model sees. Else compute it in each call in\n"
        "PyTorch, too. An attribute whose value depends on the contents of inputs is state (CC007).\n"},
    Rule{"CC101", "engine-lacks-operator", Severity::warning, "An engine lacks the operator",
         "The engine asked for by --target doesn't take this ONNX operator at any version, as far as its profile says; "
         "`compatcheck\n"
         "explain ENGINE` shows the profile, its source and date. The model converts all the same: the exit code counts this "
         "with\n"
         "--fail-on warning alone.\n"
         "\n"
         "What to do: another opset or a mapping row of your own may write other operators (--mappings); where the engine takes\n"
         "the body of the ONNX function, expand it; an engine with a fallback runs the node elsewhere.\n"},
    Rule{"CC102", "engine-version-gap", Severity::warning, "An engine takes other versions of the operator, or other opsets",
         "An opset brings each operator in a version. ONNX Runtime takes a version only if a kernel is registered for it: one "
         "for\n"
         "version 16 doesn't serve version 22. Of engines with translators, one for an older version is used for newer ones, "
         "too: here the\n"
         "node says something that is new, or the two versions differ in meaning. Without an operator: the engine takes no model "
         "of\n"
         "this opset.\n"
         "\n"
         "What to do: --opset N as the finding says.\n"},
    Rule{"CC103", "engine-dtype", Severity::warning, "An engine doesn't take the operator for this dtype",
         "Kernels are there for some dtypes: ONNX Runtime's CPU provider convolves f32 alone (it casts f16 by itself, not f64 or "
         "bf16).\n"
         "\n"
         "What to do: convert a model of another precision (model.float()), or let a mapping row cast.\n"},
    Rule{"CC104", "engine-restriction", Severity::warning, "An engine documents a limit that this node may break",
         "The engine takes the operator within limits: ranks, values of attributes, inputs that must be constants, outputs that "
         "must not\n"
         "be used. Where its documentation is words that no program can check, or a size isn't known, support is unknown. As a "
         "note:\n"
         "the node is taken, and there is something to know about it.\n"
         "\n"
         "What to do: --input with the sizes that decide; else as the message says.\n"},
    Rule{"CC105", "engine-unknown", Severity::warning, "An engine's list doesn't tell",
         "The profile doesn't speak of this operator or dtype. Nobody says that it isn't taken: try it.\n"
         "\n"
         "What to do: a profile of your own (--target FILE.yaml, docs/engines.md) can say what you found.\n"},
    Rule{"CC201", "out-of-tolerance", Severity::error, "verify: an output is out of tolerance",
         "ONNX Runtime's output differs from TorchScript's by more than atol + rtol · |expected| (f32 1e-5 + 1e-3, f16 1e-3 + "
         "1e-2,\n"
         "bf16 1e-2 + 5e-2, f64 1e-8 + 1e-6; integers and bool are equal), or ONNX Runtime doesn't take the model or fails "
         "running it.\n"
         "\n"
         "What to do: where the message says that the model is right without ONNX Runtime's optimisations, report it there or "
         "turn\n"
         "them off. A deep model in half precision may need --rtol and --atol of its own.\n"},
    Rule{"CC202", "non-finite", Severity::error, "verify: NaN or infinity on one side only",
         "An element is NaN or infinite in TorchScript's output and not in ONNX Runtime's, or the other way round.\n"},
    Rule{"CC203", "shape", Severity::error, "verify: an output of another shape, or another number of outputs",
         "What the ONNX model gives can't be laid beside what TorchScript gives.\n"},
    Rule{"CC204", "dtype", Severity::error, "verify: an output of another dtype", "TorchScript's dtype is the specification.\n"},
    Rule{
        "CC205", "dynamic-shape", Severity::error, "verify: another size of a named dimension breaks the model",
        "verify runs the model at other sizes of its named dimensions: all of them together, and each by itself. An error means "
        "that the\n"
        "ONNX model fails or differs there, or that a named dimension can't change: PyTorch itself fails at every other size, "
        "or\n"
        "at the one that --dim states; a number in the file ties the dimension to others; or other sizes run, and a constant of\n"
        "the trace stands where the named size stood. A warning means that a dimension changes only together with others, as "
        "the\n"
        "model's own equations demand, or that nobody named it in --input.\n"
        "\n"
        "What to do: the help names what keeps the size, a constant of the trace with its line, a tensor of the file or an "
        "input that is\n"
        "static. Use x.shape[0] without int(…), script the part that computes with sizes, or name the static input's size, too. "
        "--dim NAME=N\n"
        "verifies one size alone; --fail-on mismatch reports a dimension that can't change and doesn't fail.\n"},
    Rule{"CC901", "unused-allow-entry", Severity::warning, "An entry of the allow-list that matches no finding",
         "The configuration allows something that the run didn't find: it is mended, or the entry never meant it. Entries that "
         "speak of a\n"
         "model, an opset or an engine that the run didn't have aren't judged. With several models the finding stands in the "
         "last report.\n"
         "\n"
         "What to do: take the entry out of compatcheck.yaml.\n"},
    Rule{"CC902", "expired-allow-entry", Severity::warning, "An entry of the allow-list whose day is over",
         "`expires` is the last day on which an entry holds. What it allowed counts again.\n"
         "\n"
         "What to do: mend what it allowed, or give the entry another day, with a reason that still holds.\n"},
    Rule{
        "CC903", "table-defect", Severity::error, "A defect of a mapping table",
        "What `compatcheck lint` finds: a row that contradicts ONNX's or PyTorch's schemas, or isn't in the tables' language.\n"},
    Rule{"CC904", "baseline-too-high", Severity::note, "A baseline that allows more than there is",
         "The run found fewer nodes than the baseline has for a rule, operator and module. Nothing fails, but the same could "
         "come back unseen.\n"
         "\n"
         "What to do: --prune-baseline brings the file down to what the run found.\n"},
};

}  // namespace

std::span<const Rule> rules() { return table; }

const Rule* find_rule(std::string_view id) {
  const auto found = std::find_if(table.begin(), table.end(), [&](const Rule& rule) { return rule.id == id; });
  return found == table.end() ? nullptr : &*found;
}

bool is_missing(std::string_view id) { return id == "CC001" || id == "CC002" || id == "CC003" || id == "CC011"; }

}  // namespace compatcheck::analysis
