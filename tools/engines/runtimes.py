"""Runtimes that are asked whether they load a model of ONNX, run it, and are right.

`Trials(name)` runs models in a child process, which may crash: a crash is an outcome of that one model.
"""
import ctypes
import io
import multiprocessing
import os
import re

import ml_dtypes  # NumPy learns bfloat16 and its like
import numpy as np
import onnx
from onnx import helper, numpy_helper

REFUSED, FAILS, WRONG, RIGHT = "refused", "fails", "wrong", "right"  # crashes: FAILS
SECONDS, CRASHES = 60, "crashes"
# Of the largest element, where a runtime rounds in between; ONNX's own tests allow 1e-3 and 1e-7.
ROUNDING = {"float16": 4e-3, "bfloat16": 3e-2, "float8_e4m3fn": 0.13, "float8_e5m2": 0.25}


class OrtCpu:
    engine, title, package = "ort-cpu", "ONNX Runtime, CPU", "onnxruntime"

    def __init__(self, optimized=False):
        import onnxruntime
        self.runtime = onnxruntime
        onnxruntime.set_default_logger_severity(4)
        self.options = onnxruntime.SessionOptions()
        if not optimized:   # optimizations may take the node away
            self.options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        self.options.log_severity_level = 4
        self.options.intra_op_num_threads = 1

    def load(self, model):
        return self.runtime.InferenceSession(model, self.options, providers=["CPUExecutionProvider"])

    def run(self, session, feed):
        if not any(map(is_new, feed.values())) and not any(NEW_TYPE.search(o.type) for o in session.get_outputs()):
            return session.run(None, feed)
        made = {name: self.value(array) for name, array in feed.items()}
        return [self.array(value) for value in session.run_with_ort_values(None, made)]

    def value(self, array):
        if not is_new(array):
            return self.runtime.OrtValue.ortvalue_from_numpy(np.array(array))
        made = self.runtime.OrtValue.ortvalue_from_shape_and_type(array.shape, helper.np_dtype_to_tensor_dtype(array.dtype))
        raw = numpy_helper.from_array(array).raw_data
        ctypes.memmove(made.data_ptr(), raw, len(raw))
        return made

    def array(self, value):
        number = value.element_type()
        dtype = helper.tensor_dtype_to_np_dtype(number)
        if dtype not in NEW:
            return value.numpy()
        return numpy_helper.to_array(onnx.TensorProto(data_type=number, dims=value.shape(), raw_data=raw_bytes(value)))


def raw_bytes(value):
    bits = {"int4": 4, "uint4": 4, "float4_e2m1fn": 4, "int2": 2, "uint2": 2}.get(str(helper.tensor_dtype_to_np_dtype(value.element_type())))
    count = int(np.prod(value.shape(), dtype=np.int64))
    size = -(-count * bits // 8) if bits else count * helper.tensor_dtype_to_np_dtype(value.element_type()).itemsize
    return ctypes.string_at(value.data_ptr(), size)


class OrtWebGpu(OrtCpu):
    """the provider's plugin, on the software that draws for Chromium without a GPU; nodes that it leaves to the CPU are refused"""
    engine, title, package = "ort-webgpu", "ONNX Runtime, WebGPU (its plugin)", "onnxruntime-ep-webgpu"
    CHROMIUM = "/usr/lib/chromium"

    def __init__(self, optimized=False):
        os.environ |= {"VK_ICD_FILENAMES": f"{self.CHROMIUM}/vk_swiftshader_icd.json", "ORT_WEBGPU_EP_ALLOW_SOFTWARE_ADAPTER": "1"}
        ctypes.CDLL(f"{self.CHROMIUM}/libvulkan.so.1", ctypes.RTLD_GLOBAL)
        import onnxruntime_ep_webgpu
        super().__init__(optimized)
        self.runtime.register_execution_provider_library("webgpu", onnxruntime_ep_webgpu.get_library_path())
        devices = [one for one in self.runtime.get_ep_devices() if one.ep_name == onnxruntime_ep_webgpu.get_ep_name()]
        self.options.add_provider_for_devices(devices[:1], {})
        self.options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")

    def load(self, model):
        return self.runtime.InferenceSession(model, self.options)


class OpenVino:
    engine, title, package = "openvino", "OpenVINO, CPU", "openvino"

    def __init__(self, optimized=False):
        import openvino
        self.runtime = openvino
        self.core = openvino.Core()
        # As exact as it can be: some processors have it compute in bf16.
        self.settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1, "EXECUTION_MODE_HINT": "ACCURACY"}

    def load(self, model):
        return self.core.compile_model(self.core.read_model(io.BytesIO(model)), "CPU", self.settings)

    def run(self, compiled, feed):
        request = compiled.create_infer_request()
        left = list(feed)
        named = {}
        for port in compiled.inputs:   # it leaves out those that nothing reads
            name = next((one for one in (port.get_node().get_friendly_name(), *port.get_names()) if one in left), None)
            named[port] = name
            if name:
                left.remove(name)
        for port, name in named.items():   # one that is an output as well has the output's name
            request.set_tensor(port, self.tensor(feed[name or left.pop(0)], port))
        request.infer()
        return [self.array(tensor) for tensor in request.output_tensors]

    def tensor(self, array, port):
        if array.dtype.kind == "O":
            array = array.astype(str)
        if not is_new(array):
            return self.runtime.Tensor(np.array(array, order="C"))
        raw = numpy_helper.from_array(array).raw_data
        tensor = self.runtime.Tensor(port.element_type, array.shape)
        ctypes.memmove(tensor.data.ctypes.data, raw, len(raw))
        return tensor

    def array(self, tensor):
        name = {"f8e4m3": "float8_e4m3fn", "f8e8m0": "float8_e8m0fnu", "f8e5m2": "float8_e5m2", "bf16": "bfloat16", "i4": "int4", "u4": "uint4",
                "u2": "uint2", "f4e2m1": "float4_e2m1fn"}.get(tensor.element_type.to_string())
        if not name:
            return np.array(tensor.str_data if tensor.element_type.to_string() == "string" else tensor.data)
        number = helper.np_dtype_to_tensor_dtype(np.dtype(getattr(ml_dtypes, name)))
        raw = ctypes.string_at(tensor.data.ctypes.data, tensor.byte_size)
        return numpy_helper.to_array(onnx.TensorProto(data_type=number, dims=list(tensor.shape), raw_data=raw))


def is_new(array):
    return isinstance(array, np.ndarray) and array.dtype in NEW


NEW = [np.dtype(getattr(ml_dtypes, name)) for name in (
    "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu", "int4", "uint4", "int2", "uint2",
    "float4_e2m1fn")]
NEW_TYPE = re.compile(r"bfloat16|float8|float4|[(u]int[24]\)")


RUNTIMES = {"ort-cpu": OrtCpu, "openvino": OpenVino, "ort-webgpu": OrtWebGpu}


def differs(got, want, rtol, atol):
    """what differs first; "" if nothing does"""
    if isinstance(want, (list, tuple)):
        if not isinstance(got, (list, tuple)) or len(got) != len(want):
            return "another sequence"
        return next((text for g, w in zip(got, want) if (text := differs(g, w, rtol, atol))), "")
    if want is None:
        return "" if got is None else "not None"
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape:
        return f"shape {got.shape} for {want.shape}"
    if want.dtype.kind in "OUST":
        return "" if [str(x) for x in got.ravel()] == [str(x) for x in want.ravel()] else "other texts"
    if got.dtype != want.dtype:
        return f"{got.dtype} for {want.dtype}"
    name = str(want.dtype)
    if want.dtype.kind in "biu":
        return "" if np.array_equal(got, want) else "other values"
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    with np.errstate(all="ignore"):
        got, want = got.astype(wide), want.astype(wide)
        finite = np.abs(want[np.isfinite(want)])
        scale = finite.max() if finite.size else 0
        slack = ROUNDING.get(name, 0)
        near = np.isclose(got, want, rtol=max(rtol, slack), atol=max(atol, slack * scale, 1e-6 * scale), equal_nan=True)
    return "" if near.all() else f"{(~near).sum()} of {near.size} values differ"


class Trial:
    """A model, what it gets, and what it gives (None: anything); `random`: its forms count."""
    def __init__(self, model, inputs, wanted, rtol=1e-3, atol=1e-7, random=False):
        self.model, self.wanted = model, wanted and list(map(array_of, wanted))
        self.feed = inputs if isinstance(inputs, dict) else dict(zip(input_names(model), map(array_of, inputs)))
        self.rtol, self.atol, self.random = rtol, atol, random


def input_names(model):
    graph = onnx.ModelProto.FromString(model).graph
    constants = {one.name for one in graph.initializer}
    return [one.name for one in graph.input if one.name not in constants]


def array_of(value):
    """as ONNX's node tests give it: arrays, numbers, messages, lists and None"""
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    if isinstance(value, (list, tuple)):
        return [array_of(item) for item in value]
    return value if value is None else np.asarray(value)


def outcome(runtime, trial):
    try:
        loaded = runtime.load(trial.model)
    except Exception as error:
        return REFUSED, short(error)
    try:
        got = runtime.run(loaded, trial.feed)
    except Exception as error:
        return FAILS, short(error)
    if trial.wanted is None:
        return RIGHT, ""
    if trial.random:
        same = len(got) == len(trial.wanted) and all(np.shape(g) == np.shape(w) and g.dtype == w.dtype for g, w in zip(got, trial.wanted))
        return (RIGHT, "") if same else (WRONG, "other forms")
    if len(got) != len(trial.wanted):
        return WRONG, f"{len(got)} outputs for {len(trial.wanted)}"
    text = next((f"output {i}: {text}" for i, (g, w) in enumerate(zip(got, trial.wanted)) if (text := differs(g, w, trial.rtol, trial.atol))), "")
    return (WRONG, text) if text else (RIGHT, "")


def short(error):
    return " ".join(str(error).split())[:2000]


def serve(name, optimized, pipe):
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    runtime = RUNTIMES[name](optimized)
    while True:
        trial = pipe.recv()
        if trial is None:
            return
        pipe.send(outcome(runtime, trial))


class Trials:
    def __init__(self, name, optimized=False):
        self.name, self.optimized, self.process = name, optimized, None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.join()
            self.process = None

    def __call__(self, trial):
        outcome = self.tried(trial)
        # What crashes may be the debt of an earlier model.
        return self.tried(trial) if outcome == (FAILS, CRASHES) else outcome

    def tried(self, trial):
        if not self.process:
            self.pipe, theirs = multiprocessing.Pipe()
            self.process = multiprocessing.Process(target=serve, args=(self.name, self.optimized, theirs), daemon=True)
            self.process.start()
            theirs.close()
        try:
            self.pipe.send(trial)
            if self.pipe.poll(SECONDS):
                return self.pipe.recv()
            text = f"takes more than {SECONDS} s"
        except (EOFError, ConnectionError):
            text = CRASHES
        self.stop()
        return FAILS, text
