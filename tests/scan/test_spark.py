"""Checks in Spark, on one machine."""
import json
import os
import pathlib
import shutil
import sys

import pytest

import compatcheck

OWN = pathlib.Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def spark():
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    made = (SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1").config("spark.driver.memory", "1g").getOrCreate())
    yield made
    made.stop()


def test_models_become_rows(spark, tmp_path):
    files = []
    for place, source in enumerate([OWN / "python" / "net.pt2", OWN / "cli" / "models" / "align.ir", OWN / "python" / "net.pt"] * 3):
        files.append(str(tmp_path / f"{place}{source.suffix}"))
        shutil.copy(source, files[-1])
    files.append(str(tmp_path / "absent.pt"))
    models = spark.createDataFrame([(file, "x") for file in files], ["uri", "team"]).repartition(3)
    udf = compatcheck.check_udf("uri", opset=[17, 19], targets=["tensorrt"])
    rows = models.mapInPandas(udf, udf.schema).collect()
    assert len(rows) == 2 * 9 + 1
    for row in rows:
        report = json.loads(row.report)
        if row.path.endswith("absent.pt"):
            assert row.verdict == "not_checked" and "no such file" in row.error and row.nodes is None and row.exit_code == 3
            continue
        local = json.loads(compatcheck.check(row.path, opset=row.opset, targets=["tensorrt"]).render("jsonl"))
        local.pop("graph", None)
        assert report == local and row.verdict == local["verdict"] and row.nodes == local["summary"]["nodes"] and row.error is None
    missing = {row.path: row.missing_operators for row in rows if row.path.endswith(".ir") and row.opset == 17}
    assert all("aten::linalg_pinv" in operators for operators in missing.values()) and len(missing) == 3


def test_the_example_of_the_page(spark, tmp_path, capfd):
    import re

    page = (OWN.parent / "docs" / "scan.md").read_text()
    block, = [block for block in re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S) if "spark" in block]
    shutil.copy(OWN / "cli" / "models" / "align.ir", tmp_path / "net.pt")
    exec(block.replace("s3://models", str(tmp_path)), {"spark": spark, "compatcheck": compatcheck})
    assert "acme::fused_bias" in capfd.readouterr().out   # the first of them; `show` cuts the list


def test_wrong_options_are_refused_at_once():
    with pytest.raises(compatcheck.UsageError, match="opset 99"):
        compatcheck.check_udf(opset=99)
    with pytest.raises(compatcheck.UsageError, match="check_udf has no hash"):
        compatcheck.check_udf(hash=True)
