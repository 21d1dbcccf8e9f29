"""The fields of reports as attributes. Written by tools/write_python_fields.py from the JSON schemas in reports/."""
from __future__ import annotations

from typing import Any, Literal

from .record import Record


class Tool(Record):
    name: str
    version: str
    libtorch: str
    onnx: str


class Parameters(Record):
    count: int
    bytes: int


class Quantization(Record):
    # one, or one for each position along `axis`
    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    # absent: one scale for the whole tensor
    axis: int | None = None
    # of the ONNX model's input or output: f32, or u8 or i8 (--quantized-io int)
    onnx_dtype: str


class TensorInfo(Record):
    name: str
    # f32, i64 …; for what is no tensor its TorchScript type; '?' if unknown
    dtype: str
    # sizes, dimension names or expressions, null where unknown; null as a whole: unknown rank, or no tensor
    shape: tuple[int | str | None, ...] | None
    # an input that neither the file nor the caller states, in whole or in part: `assumed` of the model says why
    assumed: bool = False
    # what the integers of a quantized tensor stand for: (integer - zero point) * scale; absent if it isn't quantized,
    # or if the numbers aren't known
    quantization: Quantization | None = None
    _parts = {"quantization": Quantization}


class StateInfo(Record):
    # as in the state_dict; what the file holds of it is the value for the first call
    attribute: str
    input: str
    # its value after the call, for the next call's input
    output: str
    dtype: str
    # a number has none: []
    shape: tuple[int | str | None, ...] | None


class Reason(Record):
    # what follows: 'f32', 'rank 4', '3 in dimension 1'
    what: tuple[str, ...]
    # the operator from which it follows; empty: nothing decides, and every reader takes it
    op: str
    module: str
    file: str
    line: int


class AssumedInput(Record):
    name: str
    dtype: str
    # sizes, dimension names or expressions, null where unknown; null as a whole: unknown rank, or no tensor
    shape: tuple[int | str | None, ...] | None
    # what says the same to --input, to be changed
    option: str | None = None
    because: tuple[Reason, ...]
    _parts = {"because": Reason}


class ModelInfo(Record):
    path: str
    # hash of the archive's directory: names, sizes, CRCs
    identity: str
    sha256: str | None = None
    format: str
    # for people: "TorchScript (traced)"
    description: str | None = None
    bytes: int
    parameters: Parameters
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    # attributes that keep their values between calls (--state inputs-outputs): the last inputs and outputs of the ONNX
    # model; absent if there are none
    state: tuple[StateInfo, ...] = ()
    # inputs, and members of tuples and lists, of which readers told what neither the file nor the caller states; the
    # verdict is about the model with these; absent if there are none
    assumed: tuple[AssumedInput, ...] = ()
    # normalizations that changed something
    steps: tuple[str, ...]
    # what was given that contradicts the file; absent if nothing does
    warnings: tuple[str, ...] = ()
    _parts = {"parameters": Parameters, "inputs": TensorInfo, "outputs": TensorInfo, "state": StateInfo, "assumed": AssumedInput}


class Summary(Record):
    nodes: int
    operators: int
    one_to_one: int
    one_to_many: int
    missing: int
    refused: int
    needs_input: int
    unassessed: int
    structural: int
    convertible: bool
    coverage_nodes: float
    coverage_operators: float
    lowest_opset: int | None
    # nodes written as PyTorch's operators; absent where the export type is onnx
    kept: int | None = None


class RowUse(Record):
    # file:line
    place: str
    nodes: int
    # the refusal of PyTorch's exporter that this row doesn't make
    lifted: str | None = None
    # the file is a user's; absent where it is shipped
    users: bool = False


class MappingPlace(Record):
    source: str
    line: int


class OperatorSummary(Record):
    op: str
    overload: str
    operator_class: Literal["one_to_one", "one_to_many", "missing", "structural"]
    # the row's handler exists and ran in a test
    verified: bool
    onnx: tuple[str, ...]
    since: int | None
    available_from: int | None
    nodes: int
    blocked: int
    # calls written as PyTorch's operators; absent where the export type is onnx
    kept: int | None = None
    # the rows of the mapping tables that decided its calls
    rows: tuple[RowUse, ...] = ()
    emitted: dict[str, int]
    # the row of a user's file that won over the shipped ones; absent where none did
    mapping: MappingPlace | None = None
    _parts = {"rows": RowUse, "mapping": MappingPlace}
    _names = {"class": "operator_class"}


class Site(Record):
    # of the node, in graph order
    index: int
    module: str
    file: str
    line: int
    function: str
    args: str


class Suppression(Record):
    reason: str
    expires: str | None
    source: str


class Finding(Record):
    id: str
    severity: Literal["error", "warning", "note"]
    op: str
    overload: str
    message: str
    help: str
    # the model's input that the finding is about (CC006, CC014); absent: none
    input: str | None = None
    row: str | None = None
    available_from: int | None
    nodes: int
    sites: tuple[Site, ...]
    target: str | None = None
    suppressed: Suppression | None = None
    # against the baseline: as there, not there, or there for fewer nodes; absent where none was given
    baseline: Literal["unchanged", "added", "grown"] | None = None
    _parts = {"sites": Site, "suppressed": Suppression}


class TargetOperator(Record):
    onnx: str
    support: Literal["yes", "no", "unknown"]
    nodes: int


class OlderForm(Record):
    op: str
    overload: str
    # of the form
    opset: int
    calls: int
    # of the ONNX model, for all of these calls
    more_nodes: int
    # ONNX operators of the newer form
    newer: tuple[str, ...]
    older: tuple[str, ...]
    # why the engine doesn't take the newer form
    limit: str


class TargetSummary(Record):
    target: str
    engine: str
    version: str
    # where the profile's facts come from
    source: str
    # when they were true
    date: str
    # unknown: the profile doesn't say
    support: Literal["yes", "no", "unknown"]
    # of the ONNX model
    nodes: int
    supported: int
    unsupported: int
    unknown: int
    # groups of supported nodes that can run in one go
    partitions: int
    # at which it takes the whole model
    lowest_opset: int | None
    operators: tuple[TargetOperator, ...]
    # calls in the form of an older opset, because the engine doesn't take the newer one; absent where there are none
    older_forms: tuple[OlderForm, ...] = ()
    # at which it takes most of the model; absent where it takes none of its opsets
    best_opset: int | None = None
    _parts = {"operators": TargetOperator, "older_forms": OlderForm}


class GraphSummary(Record):
    operators: tuple[str, ...]
    modules: tuple[str, ...]
    # of a node's results
    types: tuple[str, ...]
    calls: tuple[str, ...]
    # ONNX nodes that a call becomes
    onnx: tuple[str, ...]
    nodes: tuple[tuple[Any, ...], ...]


class SignatureValue(Record):
    name: str
    # f32[batch,3], seq(f32[n]), optional(f32); f32 alone: of unknown rank
    type: str


class Signature(Record):
    inputs: tuple[SignatureValue, ...]
    outputs: tuple[SignatureValue, ...]
    # options that name a first size which is 1 only because the example of the trace had it
    traced_batches: tuple[str, ...] = ()
    _parts = {"inputs": SignatureValue, "outputs": SignatureValue}


class Gate(Record):
    passed: bool
    fail_on: Literal["unconvertible", "missing", "conditional", "composite", "warning", "never"]
    violations: int
    # only where it was asked for
    max_missing: int | None = None
    # a range of opsets was asked for: the model passes if one of its reports does
    one_opset_is_enough: bool = False


class ReportFields(Record):
    schema_version: str
    tool: Tool
    model: ModelInfo
    opset: int
    # absent: onnx
    export_type: Literal["onnx", "onnx-aten", "onnx-aten-fallback", "onnx-fallthrough", "raw"] = "onnx"
    verdict: Literal["yes", "no", "needs_input"]
    summary: Summary
    operators: tuple[OperatorSummary, ...]
    findings: tuple[Finding, ...]
    # what each engine makes of the ONNX model; absent where none was asked for
    targets: tuple[TargetSummary, ...] = ()
    # at which all of them take the whole model; absent where none was asked for
    targets_lowest_opset: int | None = None
    # the nodes that were checked, in order; on request
    graph: GraphSummary | None = None
    # inputs and outputs of the ONNX model; absent if the model doesn't convert
    signature: Signature | None = None
    gate: Gate
    # of a run that may be resumed: what the report hangs on beside the model and the opset
    settings: str | None = None
    exit_code: int
    _parts = {"tool": Tool, "model": ModelInfo, "summary": Summary, "operators": OperatorSummary, "findings": Finding, "targets":
              TargetSummary, "graph": GraphSummary, "signature": Signature, "gate": Gate}


class MissingOperator(Record):
    op: str
    models: int
    nodes: int


class Totals(Record):
    models: int
    yes: int
    no: int
    needs_input: int
    not_checked: int
    # ONNX files, which only engines were asked about; absent: none
    onnx: int | None = None
    # operators without a mapping, those first that most models have
    missing: tuple[MissingOperator, ...]
    _parts = {"missing": MissingOperator}


class ReportsFields(Record):
    schema_version: str
    # a model at several opsets counts once, by its best report
    totals: Totals
    # of the run: the highest of its models; a model of a range of opsets has the lowest of its opsets
    exit_code: int
    _parts = {"totals": Totals}


class RunInputs(Record):
    sizes: dict[str, int]
    inputs: tuple[TensorInfo, ...]
    _parts = {"inputs": TensorInfo}


class NamedDimension(Record):
    name: str
    # together: its size changed only with others; fixed: by --dim; none: TorchScript takes no other size
    variation: Literal["alone", "together", "fixed", "none"]
    # at which both sides ran
    sizes: tuple[int, ...]
    reason: str | None = None


class OutputVerification(Record):
    name: str
    dtype: str
    shape: tuple[int, ...]
    max_abs: float
    max_rel: float
    mean_abs: float
    p99_abs: float
    cosine: float
    snr_db: float | None
    elements: int
    mismatched: int
    nonfinite: int
    ties: int
    # how far TorchScript's own result moves: from call to call, and where the comparison failed when the last bits of
    # its inputs change
    noise_abs: float
    # elements out of tolerance that don't count: no further than rounding takes the model itself
    within_noise: int
    passed: bool
    difference: str | None = None


class FirstBad(Record):
    value: str
    onnx_node: str
    onnx_nodes: tuple[str, ...]
    op: str
    overload: str
    module: str
    file: str
    line: int
    args: str
    execution: int
    difference: str
    repro: str | None = None


class Bisection(Record):
    compared: int
    runs: int
    bytes: int
    note: str


class VerifyGate(Record):
    passed: bool
    fail_on: Literal["unconvertible", "mismatch", "missing", "conditional", "composite", "warning", "never"]
    violations: int


class VerificationFields(Record):
    schema_version: str
    model: str
    onnx: str
    opset: int | None
    runtime: str
    seed: int
    runs: tuple[RunInputs, ...]
    dimensions: tuple[NamedDimension, ...]
    passed: bool
    outputs: tuple[OutputVerification, ...]
    findings: tuple[Finding, ...]
    # inputs, and members of tuples and lists, of which readers told what neither the file nor the caller states; the
    # inputs that were run are made so; absent if there are none
    assumed: tuple[AssumedInput, ...] = ()
    note: str | None = None
    first_bad: FirstBad | None = None
    dumped: int | None = None
    bisection: Bisection | None = None
    gate: VerifyGate
    exit_code: int
    _parts = {"runs": RunInputs, "dimensions": NamedDimension, "outputs": OutputVerification, "findings": Finding, "assumed": AssumedInput,
              "first_bad": FirstBad, "bisection": Bisection, "gate": VerifyGate}
