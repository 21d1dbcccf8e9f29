"""The marker onnx_convertible."""
import samples

pytest_plugins = "pytester"


def test_marker(pytester):
    pytester.makepyfile(f"""
        import pytest

        @pytest.mark.onnx_convertible({str(samples.EXPORTED)!r}, opset=18)
        def test_passes(onnx_report):
            assert onnx_report.opset == 18

        @pytest.mark.onnx_convertible({str(samples.MISSING)!r})
        def test_fails():
            raise SystemExit("the body doesn't run")

        @pytest.mark.onnx_convertible("here.ir")
        def test_beside_the_test(): pass

        @pytest.mark.onnx_convertible("nowhere.pt")
        def test_no_file(): pass

        @pytest.mark.onnx_convertible({str(samples.MISSING)!r}, fail_on="never")
        def test_gate(onnx_report):
            assert not onnx_report.convertible

        @pytest.mark.onnx_convertible({str(samples.EXPORTED)!r}, opest=18)
        def test_wrong_keyword(): pass

        @pytest.mark.onnx_convertible({str(samples.EXPORTED)!r}, opest=18)
        def test_wrong_keyword_and_a_report(onnx_report): pass

        def test_without(): pass
    """)
    pytester.path.joinpath("here.ir").write_bytes((samples.GRAPHS / "relu.ir").read_bytes())
    result = pytester.runpytest_subprocess("-p", "compatcheck.pytest_plugin", "--strict-markers", "-rf")
    result.assert_outcomes(passed=4, failed=3, errors=1)
    result.stdout.fnmatch_lines(["*NOT CONVERTIBLE*3 of 4 operators missing*", "*ModelError: *nowhere.pt: no such file*",
                                 "onnx_convertible: TypeError: check() got an unexpected keyword argument 'opest'"])
    result.stdout.no_fnmatch_line("*api.py*")   # no traceback
