#include "analysis/rules.h"

#include <algorithm>
#include <array>

namespace compatcheck::analysis {
namespace {

constexpr std::array table{
    Rule{"CC001", "missing-operator", Severity::error, "The operator has no ONNX mapping at any opset",
         "libtorch knows the operator, but its mapping row is missing or says why ONNX can't express it.\n"
         "\n"
         "What to do: follow the finding's advice if it names a rewrite. If your runtime has such an operator, or ONNX can\n"
         "express it after all, add a row in a YAML file given with --mappings:\n"
         "\n"
         "    aten::linalg_pinv:\n"
         "      9: {to: my.domain::Pinv, inputs: [self],\n"
         "          attributes: {rcond: {float: rcond}, hermitian: {bool: hermitian}}}\n"
         "\n"
         "`compatcheck explain aten::linalg_pinv --scaffold yaml --opset 9` prints a row with all arguments to start from,\n"
         "`compatcheck ops` lists the rows in force, and docs/mappings.md describes the language.\n"},
    Rule{"CC002", "available-from-higher-opset", Severity::error, "The operator converts only from a higher opset",
         "ONNX gained what the operator needs after the opset you asked for. `from opset N` is the lowest opset at which\n"
         "these calls convert. If one opset converts the whole model, the verdict line names it.\n"
         "\n"
         "What to do: convert with --opset N, if your runtime supports that opset.\n"},
    Rule{"CC003", "unknown-operator", Severity::error, "A custom operator that neither PyTorch nor torchvision defines",
         "Neither libtorch nor a library whose schemas compatcheck contains (torchvision) registers this operator.\n"
         "\n"
         "What to do: add a mapping row with the operator's schema, how dtype and shape of the result follow from the\n"
         "arguments (`facts`, docs/mappings.md#facts), and the ONNX operator that it becomes:\n"
         "\n"
         "    acme::fused_bias:\n"
         "      schema: acme::fused_bias(Tensor x, Tensor bias) -> Tensor\n"
         "      facts: same\n"
         "      9: {to: acme.ops::FusedBias, inputs: [x, bias]}\n"
         "\n"
         "--op-library libfoo.so loads the library that registers the operator: then the row needs no schema, and verify\n"
         "can run the operator.\n"},
    Rule{"CC004", "composite", Severity::note, "The operator becomes several ONNX nodes",
         "The conversion is exact, but the nodes may cost more than one fused operator. Nothing needs to be done.\n"
         "`-v` lists these notes; `--fail-on composite` lists them and fails.\n"},
    Rule{"CC005", "broken-condition", Severity::error, "This call breaks a condition of its mapping",
         "The operator has a mapping at this opset, but not for these arguments, ranks or dtypes. The message names the\n"
         "argument, what was needed and what was found.\n"
         "\n"
         "What to do: change the call as the advice says, or use the opset of `from opset N`, at which the condition no\n"
         "longer applies.\n"},
    Rule{"CC006", "needs-input", Severity::error, "The verdict needs facts of an input",
         "Some nodes convert only for some dtypes, ranks, sizes or numbers, which neither the file nor the command line\n"
         "states, or need the scale and the zero point of a quantized input. There is one finding for each such model\n"
         "input; it counts the nodes that the input decides.\n"
         "\n"
         "What to do: --input NAME=DTYPE:DIM,DIM,… where a DIM is a number, or a name for a size that varies:\n"
         "\n"
         "    --input x=f32:batch,3,224,224\n"
         "    --input 'x=qu8(0.5,128):batch,3,224,224'      quantized: scale and zero point\n"
         "\n"
         "or --inputs-from FILE with example inputs: .pt (torch.save), .npz, or a folder of input_0.pb, input_1.pb …\n"},
    Rule{"CC007", "unresolved-write", Severity::error, "ONNX can't express this in-place write",
         "ONNX has values, but no memory. A write through a view, in a branch or loop, or to a list therefore becomes a\n"
         "new value, which all later readers get. If compatcheck can't prove that the result is the same, it refuses the\n"
         "model and gives the reason, because a write that is lost silently is worse. This applies to attributes (members\n"
         "of the Python object, such as buffers) that keep their values between calls, to x.reshape(...), which is a view or a "
         "copy depending on x's strides, and to\n"
         "tensors that a list contains when they are written.\n"
         "\n"
         "Attributes that the model writes and later calls read are refused by default, or become inputs and outputs\n"
         "(--state inputs-outputs, docs/convert.md#state). Caches aren't state: each call writes them before it reads them,\n"
         "or they are written once from constants.\n"
         "\n"
         "What to do: write to a copy (y = x.reshape(...).clone()), or compute a new value (y = y + 1). For attributes:\n"
         "use --state inputs-outputs, or take the state as an input and return it as an output.\n"},
    Rule{"CC008", "random-or-training", Severity::warning, "A random or training-mode operator",
         "The operator draws random numbers, or behaves as in training (dropout that was traced with training on, batch or\n"
         "instance normalization by the statistics of the batch although there are running ones). A scripted model that\n"
         "was saved in training mode gets a warning: it is converted as in evaluation mode. A random result can't be\n"
         "compared between runtimes, so it is an error for verify.\n"
         "\n"
         "What to do: call model.eval() before tracing or scripting, and save the model again. If inference needs random\n"
         "numbers too, draw them outside of the model and pass them to it as an input.\n"},
    Rule{"CC009", "deprecated-operator", Severity::warning, "The mapping uses an ONNX operator deprecated at this opset",
         "The emitted operator is deprecated at the opset asked for; newer runtimes may drop it.\n"},
    Rule{"CC010", "approximate-mapping", Severity::warning, "The mapping is approximate",
         "The ONNX nodes may differ from PyTorch's result by a tolerance, or for some inputs. The message says which.\n"
         "\n"
         "What to do: nothing, if your accuracy allows it; `compatcheck verify` measures it. --prefer exact, the default,\n"
         "avoids the differences that --prefer compact allows.\n"},
    Rule{"CC011", "missing-mapping", Severity::error, "No row maps the operator, though ONNX has one of its name",
         "libtorch knows the operator, and ONNX has an operator of the same name at this opset. Only the row that maps one\n"
         "to the other is missing: a --mappings file removed it, or no one has written it.\n"
         "\n"
         "What to do: compare the two (`compatcheck explain aten::foo`, ONNX's documentation), put the row that the\n"
         "finding prints into a YAML file, and give it with --mappings. Put arguments for which ONNX has nothing under\n"
         "`when`: the row then holds for calls that leave them at their default. `compatcheck verify` shows whether the\n"
         "two compute the same.\n"},
    Rule{"CC012", "baked-in", Severity::note, "A value that tracing may have made constant",
         "A trace records what one run did. Whatever Python decided from values (branches, int(x.shape[0]), loops over a\n"
         "size) is a constant in the trace, and nothing in the file says so. If --input names sizes, compatcheck notes\n"
         "inputs that nothing reads, named sizes of which only parts are read (x[0] + x[1]), and numbers equal to a size\n"
         "of the trace that now has a name: in a reshape, as a pooling window, the k of a topk, the divisor of a sum, or\n"
         "the size of an interpolation, which may be a multiple. A size that an operator reads whole (a mean over it,\n"
         "interpolate(scale_factor=...)) isn't noted. Each of these may be intended; the verdict doesn't change.\n"
         "\n"
         "verify shows the same findings as warnings. A number that certainly replaces a named size is an error there\n"
         "(CC205).\n"
         "\n"
         "What to do: run `compatcheck verify`, which runs the model at other sizes. If it fails, script the model, or\n"
         "trace it without turning sizes into Python numbers.\n"},
    Rule{"CC013", "dropped-assertion", Severity::note, "An assertion missing from the ONNX model",
         "The model's code raises an exception (`raise`, `assert`, torch._assert) under a condition that the dtypes and\n"
         "sizes of the inputs don't decide. ONNX has no exceptions, so the check is omitted. For inputs at which\n"
         "PyTorch raises the exception, the ONNX model gives some result, or fails with a message of the runtime. For\n"
         "all other inputs the two agree. An exported program (.pt2) also has conditions that torch.export found for its\n"
         "sizes, such as `n % 2 == 0`. Where such a condition holds for one size only, the size is that number.\n"
         "\n"
         "What to do: nothing, if such inputs never occur. Otherwise check them before the model runs, or state sizes with\n"
         "--input: then the note disappears if the sizes settle it.\n"},
    Rule{"CC014", "lost-write", Severity::note, "A write to an input that the caller doesn't get",
         "The model writes to a tensor that its caller passes in (x += 1, x[0] = 0, x.copy_(y)). In PyTorch the caller's\n"
         "tensor has changed after the call. ONNX has no side effects: the results are the same, but the caller's tensor\n"
         "keeps its old value.\n"
         "\n"
         "What to do: nothing, if the caller doesn't read that tensor afterwards. Otherwise return it from the model as\n"
         "one more output, and let the caller keep it.\n"},
    Rule{"CC015", "cached-attribute", Severity::note, "An attribute keeps what the first call computes",
         "The model computes a value in its first call, keeps it in an attribute, and reads it in later calls (`if\n"
         "self.scales is None: self.scales = ...`). The value is constant, or it depends on dtypes, or on sizes only\n"
         "through a rounded logarithm. An ONNX model keeps nothing between calls: it computes the value in each call. The\n"
         "results agree with those of a model that is called for the first time. They can differ from a later PyTorch call\n"
         "with other sizes or dtypes than the first call.\n"
         "\n"
         "What to do: nothing, if the value is the same for all inputs that the model sees. Otherwise compute it in each\n"
         "call in PyTorch, too. An attribute whose value depends on the contents of inputs is state (CC007).\n"},
    Rule{"CC016", "reading-note", Severity::note, "The file wasn't read in the usual way",
         "compatcheck reads TorchScript files with its own reader. It notes when libtorch read the file instead, because\n"
         "its own reader doesn't support the file, and when it didn't run a `__setstate__` method that does more than\n"
         "assign. The attributes that such a method sets are unknown; calls that read them don't convert. It also notes\n"
         "when the `schema` of your row names the arguments of a custom operator otherwise than an exported program does:\n"
         "they are then matched by position.\n"
         "\n"
         "What to do: nothing, if the model converts. Otherwise set the attributes in `__init__` and save the model again.\n"
         "`--frontend native` makes the first case an error.\n"},
    Rule{"CC017", "open-rank", Severity::warning, "An output without a shape",
         "Only the running model knows how many dimensions an output of the model has: the branches of an `if` give\n"
         "several numbers of dimensions, or x.squeeze(0) meets a size that is computed. The output has a dtype in the\n"
         "ONNX file, but no shape. ONNX Runtime runs such a file. onnx.checker refuses it (\"Field 'shape' of 'type' is\n"
         "required but missing\"), and so may engines.\n"
         "\n"
         "What to do: nothing, if your runtime accepts the file. Otherwise give the output as many dimensions in every\n"
         "run: reshape it, or leave out the squeeze.\n"},
    Rule{"CC101", "engine-lacks-operator", Severity::warning, "An engine doesn't support the operator",
         "The engine of --target doesn't support this ONNX operator at any version, according to its profile; `compatcheck\n"
         "explain ENGINE` shows the profile, its source and date. The model still converts: the exit code is 1 only with\n"
         "--fail-on warning.\n"
         "\n"
         "What to do: use another opset or a mapping row that writes other operators (--mappings). If the engine supports\n"
         "the body of the ONNX function, expand it. An engine with a fallback runs the node elsewhere.\n"},
    Rule{"CC102", "engine-version-gap", Severity::warning, "An engine supports other versions of the operator, or other opsets",
         "Each opset has one version of each operator. ONNX Runtime runs a version only if a kernel is registered for it:\n"
         "a kernel for version 16 doesn't run version 22. Engines with translators also use an older translator for newer\n"
         "versions. This finding then means that the node uses something new, or that the meaning changed between the\n"
         "versions. A finding without an operator means that the engine supports no model of this opset or IR version.\n"
         "\n"
         "What to do: use the opset that the finding names.\n"},
    Rule{"CC103", "engine-dtype", Severity::warning, "An engine doesn't support the operator for this dtype",
         "Engines implement operators for some dtypes only. ONNX Runtime's CPU provider, for example, has a convolution\n"
         "for f32. It casts f16 itself, but not f64 or bf16.\n"
         "\n"
         "What to do: convert a model of another precision (model.float()), or let a mapping row cast.\n"},
    Rule{"CC104", "engine-restriction", Severity::warning, "An engine documents a limit that this node may break",
         "The engine supports the operator within limits: ranks, values of attributes, inputs that must be constants,\n"
         "outputs that must not be used. Support is unknown if the limit is stated in words that no program can check, or\n"
         "if a size isn't known. A note (instead of a warning) means that the engine supports the node, with a remark.\n"
         "\n"
         "What to do: state the sizes with --input if the message says that one isn't known. Otherwise follow the message.\n"},
    Rule{"CC105", "engine-unknown", Severity::warning, "An engine's profile doesn't mention the operator",
         "The profile doesn't mention this operator or dtype, so support is unknown: try it.\n"
         "\n"
         "What to do: a profile of your own (--target FILE.yaml, docs/engines.md) can say what you found.\n"},
    Rule{
        "CC106", "engine-older-form", Severity::note, "A call is written in an older form, which the engine takes",
        "With --target, a call whose nodes the engine doesn't support has the newest older form that the engine supports: the\n"
        "nodes that the call becomes at a lower opset, if the requested opset still has them with the same meaning. The message\n"
        "names both forms, and why the engine doesn't take the newer one. A node of an ONNX file may also become the nodes of\n"
        "ONNX's own definition of its operator. Without --target, nothing changes.\n"},
    Rule{"CC107", "engines-disagree", Severity::warning, "No form of a call suits two engines",
         "Each of two --target engines supports some form of this call, but no form is supported by both. The file has the form\n"
         "with the fewest unsupported nodes.\n"
         "\n"
         "What to do: convert a file for each engine.\n"},
    Rule{"CC108", "engine-profile-old", Severity::note, "An engine's profile is more than a year old",
         "The profile was written from a release or documents that are more than a year old. A newer release may support\n"
         "more. SOURCE_DATE_EPOCH sets the day that this note compares with.\n"
         "\n"
         "What to do: update compatcheck, or write a profile of the release that you use (docs/engines.md).\n"},
    Rule{"CC201", "out-of-tolerance", Severity::error, "verify: an output is out of tolerance",
         "ONNX Runtime's output differs from TorchScript's by more than atol + rtol · |expected| (f32 1e-5 + 1e-3, f16\n"
         "1e-3 + 1e-2, bf16 1e-2 + 5e-2, f64 1e-8 + 1e-6; integers and bool are equal), or ONNX Runtime can't load the\n"
         "model or fails when it runs it. An output that is random in TorchScript and the same in 20 runs of ONNX Runtime\n"
         "belongs here, too.\n"
         "\n"
         "What to do: if the message says that the result is correct without ONNX Runtime's optimizations, report that to\n"
         "ONNX Runtime, or turn the optimizations off. A deep model in half precision may need --rtol and --atol of its\n"
         "own.\n"},
    Rule{"CC202", "non-finite", Severity::error, "verify: NaN or infinity on one side only",
         "An element is NaN or infinite in TorchScript's output and not in ONNX Runtime's, or the other way round.\n"},
    Rule{"CC203", "shape", Severity::error, "verify: an output of another shape, or another number of outputs",
         "The ONNX model's output can't be compared with TorchScript's element by element. An output that is None on one\n"
         "side only is of this kind, too.\n"},
    Rule{"CC204", "dtype", Severity::error, "verify: an output of another dtype", "TorchScript's dtype is the specification.\n"},
    Rule{"CC205", "dynamic-shape", Severity::error, "verify: another size of a named dimension breaks the model",
         "verify runs the model at other sizes of its named dimensions: all of them together, and each by itself. An error\n"
         "means that the ONNX model fails or differs there, or that a named dimension can't change. There are three causes\n"
         "for the latter: PyTorch itself fails at every other size, or at the size that --dim states; a number in the file\n"
         "ties the dimension to others; or other sizes run, but a constant of the trace replaces the named size. A warning\n"
         "means that a dimension changes only together with others (an equation of the model ties them, or the dimension\n"
         "has no name in --input), that dimensions can change one by one, but not together, or that PyTorch refuses the\n"
         "values that verify makes at other sizes, and some at the first sizes, too: --inputs-from gives real values. A\n"
         "note means that the length of a list can't change.\n"
         "\n"
         "What to do: the help names what keeps the size: a constant of the trace with its line, a tensor of the file, or\n"
         "an input with a fixed size. Use x.shape[0] without int(…), script the part that computes with sizes, or name the\n"
         "size of that input, too. --dim NAME=N verifies one size alone. With --fail-on mismatch, a dimension that can't\n"
         "change is reported, but the exit code stays 0.\n"},
    Rule{"CC901", "unused-allow-entry", Severity::warning, "An entry of the allow-list that matches no finding",
         "The configuration allows something that the run didn't find: it was fixed, or the entry never matched. Entries\n"
         "for a model, an opset or an engine that the run didn't have are not judged. With several models, the finding is\n"
         "in the last report.\n"
         "\n"
         "What to do: remove the entry from compatcheck.yaml.\n"},
    Rule{"CC902", "expired-allow-entry", Severity::warning, "An entry of the allow-list that has expired",
         "`expires` is the last day on which an entry holds. After that day its findings count again.\n"
         "\n"
         "What to do: fix the finding, or set a later day in `expires`, with a reason that still holds.\n"},
    Rule{
        "CC903", "table-defect", Severity::error, "A defect of a mapping table",
        "What `compatcheck lint` finds: a row that contradicts ONNX's or PyTorch's schemas, or isn't in the tables' language.\n"},
    Rule{"CC904", "baseline-too-high", Severity::note, "A baseline that allows more than the run found",
         "The run found fewer nodes than the baseline lists for a rule, operator and module. Nothing fails, but the same\n"
         "findings could return unnoticed.\n"
         "\n"
         "What to do: --prune-baseline lowers the file to what the run found.\n"},
};

}  // namespace

std::span<const Rule> rules() { return table; }

const Rule* find_rule(std::string_view id) {
  const auto found = std::find_if(table.begin(), table.end(), [&](const Rule& rule) { return rule.id == id; });
  return found == table.end() ? nullptr : &*found;
}

bool is_missing(std::string_view id) { return id == "CC001" || id == "CC002" || id == "CC003" || id == "CC011"; }

}  // namespace compatcheck::analysis
