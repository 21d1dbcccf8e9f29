"""Each cause has its exception, whose message is in the words of the package."""
import os, pickle, shutil

import compatcheck, pytest, samples, torch

CASES = {
    "no file": (lambda: compatcheck.check("nowhere.pt"), compatcheck.ModelError, "nowhere.pt: no such file"),
    "no model": (lambda: compatcheck.check(b"abc"), compatcheck.ModelError, "<bytes>: is neither"),
    "truncated": (lambda: compatcheck.check(samples.EXPORTED.read_bytes()[:-100]), compatcheck.ModelError, "<bytes>"),
    "no such opset": (lambda: compatcheck.check(samples.MISSING, 99), compatcheck.UsageError, "^opset 99 is out of range"),
    "no such input": (lambda: compatcheck.check(samples.MISSING, inputs="q=f32:2"), compatcheck.UsageError, "^inputs q=f32:2: no input 'q'"),
    "no such word": (lambda: compatcheck.check(samples.MISSING, prefer="small"), compatcheck.UsageError, "^prefer 'small': expected one of exact, compact$"),
    "no such format": (lambda: compatcheck.check(samples.MISSING).render("pdf"), compatcheck.UsageError, "^format 'pdf': expected one of text"),
    "no such table": (lambda: compatcheck.check(samples.MISSING, mappings="nowhere.yaml"), (compatcheck.TableError, compatcheck.UsageError), "nowhere.yaml"),
    "no such engine": (lambda: compatcheck.check(samples.MISSING, targets=["abacus"]), compatcheck.UsageError, "abacus"),
    "no such operator": (lambda: compatcheck.ops("aten::rellu"), compatcheck.UsageError, "unknown operator aten::rellu"),
    "no example inputs": (lambda: compatcheck.check(torch.nn.ReLU()), compatcheck.UsageError, "example_inputs"),
    "a text file": (lambda: compatcheck.check(samples.MISSING.open()), compatcheck.UsageError, "binary mode"),
    "unknown option": (lambda: compatcheck.check(samples.MISSING, opsets=[3]), TypeError, r"check\(\) got an unexpected keyword argument 'opsets'"),
    "option of another call": (lambda: compatcheck.convert(samples.MISSING, max_missing=1), TypeError, "'max_missing'"),
    "option of load": (lambda: compatcheck.check(compatcheck.load(samples.MISSING), mappings="m.yaml"), compatcheck.UsageError, "mappings is an option of load"),
    "example for a file": (lambda: compatcheck.check(samples.EXPORTED, example_inputs=(1,)), compatcheck.UsageError, "example_inputs is for an nn.Module"),
    "wrong type": (lambda: compatcheck.check(samples.MISSING, timeout_seconds="soon"), TypeError, "timeout_seconds can't be 'soon'"),
    "progress that is neither": (lambda: compatcheck.check(samples.MISSING, progress=5), TypeError, "progress can't be 5: it is True, False or a function"),
    "targets that are no list": (lambda: compatcheck.check(samples.MISSING, targets=5), TypeError, "targets can't be 5"),
    "time that runs backwards": (lambda: compatcheck.check(samples.MISSING, timeout_seconds=-1), compatcheck.UsageError, "timeout_seconds -1: must be above 0"),
    "time that is no number": (lambda: compatcheck.check(samples.MISSING, timeout_seconds=float("nan")), compatcheck.UsageError, "timeout_seconds nan: must be above 0"),
    "no memory": (lambda: compatcheck.check(samples.MISSING, memory_mb=0), compatcheck.UsageError, "memory_mb 0: must be at least 1"),
    "fewer than none": (lambda: compatcheck.check(samples.MISSING, max_missing=-1), compatcheck.UsageError, "max_missing -1: must be at least 0"),
    "opset as text": (lambda: compatcheck.check(samples.MISSING, opset="17"), TypeError, "opset can't be '17'"),
    "opsets of which one is text": (lambda: compatcheck.check(samples.MISSING, opset=[11, "x"]), TypeError, "opset can't be"),
    "half an opset": (lambda: compatcheck.check(samples.MISSING, opset=17.5), TypeError, "opset can't be 17.5"),
    "a long number": (lambda: compatcheck.check(samples.MISSING, opset=2**70), compatcheck.UsageError, "there is no opset"),
    "foreign object": (lambda: compatcheck.check(5), TypeError, "not int"),
    "time is up": (lambda: compatcheck.check(samples.long_graph(20000).encode(), timeout_seconds=0.01), compatcheck.ModelError, "time"),
}


@pytest.mark.parametrize("call,kind,message", CASES.values(), ids=CASES)
def test_errors(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_kinds():
    for kind in (compatcheck.UsageError, compatcheck.TableError, compatcheck.ModelError, compatcheck.InternalError, compatcheck.NotConvertible):
        assert issubclass(kind, compatcheck.Error)
    assert issubclass(compatcheck.UsageError, ValueError)


def test_not_convertible(tmp_path):
    with pytest.raises(compatcheck.NotConvertible, match="aten::linalg_pinv") as raised:
        compatcheck.convert(samples.MISSING, tmp_path / "model.onnx")
    assert raised.value.report.summary.missing == 3 and not list(tmp_path.iterdir())
    assert pickle.loads(pickle.dumps(raised.value)).report == raised.value.report


def test_bytes_that_are_no_text(tmp_path):
    absent = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.pt")
    with pytest.raises(compatcheck.ModelError, match="xff.pt"):
        compatcheck.check(absent)
    present = os.fsdecode(os.fsencode(tmp_path) + b"/\xfe.ir")
    shutil.copy(samples.MISSING, present)
    assert compatcheck.load(present).path == present


def test_no_opset():
    with pytest.raises(compatcheck.UsageError, match="empty"):
        compatcheck.check(samples.MISSING, opset=[])


def test_unknown_options_without_a_value():
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        compatcheck.check(samples.MISSING, colour=None)
    assert compatcheck.check(samples.EXPORTED, inputs=None).convertible
