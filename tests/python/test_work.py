"""Long calls: other threads run meanwhile, Ctrl-C and a caller's exception end them, progress is shown."""
import signal, threading

import compatcheck, pytest, samples

LONG = samples.long_graph(20000).encode()


class Progress:
    def __init__(self, act=lambda: None):
        self.act, self.seen = act, []

    def __call__(self, stage, done, total):
        self.seen.append((stage, done, total))
        self.act()


def test_keyboard_interrupt():
    progress = Progress(lambda: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        compatcheck.check(LONG, opset=range(7, 27), progress=progress)
    assert compatcheck.check(samples.MISSING).findings   # the next call works


def test_exception_of_progress():
    def refuse():
        raise LookupError("no more")
    with pytest.raises(LookupError, match="no more"):
        compatcheck.check(LONG, progress=Progress(refuse))


def test_two_at_once():
    both = threading.Barrier(2, timeout=120)
    failed = []

    def work():
        try:
            met = []
            progress = Progress(lambda: met or met.append(both.wait()))   # in the middle of both calls
            assert compatcheck.check(LONG, progress=progress).convertible and met
        except BaseException as error:
            failed.append(error)
            raise

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_threads_share_a_model():
    model = compatcheck.load(samples.MISSING)
    found = []
    threads = [threading.Thread(target=lambda opset=opset: found.append((opset, compatcheck.check(model, opset).summary.missing))) for opset in range(11, 27)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [(opset, compatcheck.check(model, opset).summary.missing) for opset in range(11, 27)]


def test_bar(capsys):
    compatcheck.check(LONG, progress=True)
    assert "check" in capsys.readouterr().err


def test_bar_without_tqdm(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "tqdm.auto", None)
    with pytest.warns(UserWarning, match="pip install tqdm"):
        assert compatcheck.check(samples.MISSING, progress=True).findings
