#!/usr/bin/env python3
"""A registry on S3 and a Ray cluster of three nodes, one of which is killed half-way, as is the driver: every model is reported
exactly once, with the bytes of one machine's run.

    check_scan.py --program build/compatcheck --models FOLDER --broken FOLDER [--count 60]
"""
import argparse
import collections
import io
import json
import pathlib
import signal
import tempfile

import surroundings as around

from compatcheck.registry import checks

OWN = pathlib.Path(__file__).resolve().parent.parent / "cli" / "models"


def kill_a_node(cluster, node):
    cluster.remove_node(node, allow_graceful=False)


def check_run(program, s3, count, address, ray_cluster, node):
    scan = ["scan", "s3://models", "-o", "s3://results/run", "--ray", address, "--target", "tensorrt", "--opset", "17", "--progress", "never"]
    done = lambda: len([key for key in around.objects(s3, "results", "run/run/") if key.endswith(".jsonl")])
    driver = around.Driver(program, scan, s3.environment())
    size = max(1, min(checks.MOST_IN_CHUNK, count // 64))
    chunks = -(-count // size)
    around.until(lambda: done() >= chunks // 4 or not driver.running())
    driver.signal(signal.SIGSTOP)
    kill_a_node(ray_cluster, node)
    driver.signal(signal.SIGCONT)
    around.until(lambda: done() >= chunks // 2 or not driver.running(), 1200)
    driver.kill()
    killed_at = done()
    assert killed_at < chunks, "the run was over before it was killed"
    assert not around.objects(s3, "results", "run/totals.json"), "a run that was killed has no totals"

    again = around.run_program(program, scan, s3.environment(), check=False)
    assert again.returncode == 2 and "--resume" in again.stderr, again
    resumed = around.run_program(program, [*scan, "--resume", "--format", "json"], s3.environment())
    assert resumed.returncode == 3 and resumed.stdout, resumed   # there is junk among the models
    try:
        return killed_at, json.loads(resumed.stdout)
    except ValueError:
        raise AssertionError(resumed) from None


def check_tables(s3, lines, totals):
    import pyarrow.parquet as parquet

    verdicts = collections.Counter()
    rows = {"models": [], "findings": []}
    for table, into in rows.items():
        for key in around.objects(s3, "results", f"run/{table}/"):
            verdict = key.split("/")[2].removeprefix("verdict=")
            data = s3.client().get_object(Bucket="results", Key=key)["Body"].read()
            into += [{**row, "verdict": verdict} for row in parquet.read_table(io.BytesIO(data)).to_pylist()]
    reports = [json.loads(line) for line in lines]
    assert sorted(row["path"] for row in rows["models"]) == sorted("s3://models/" + report["model"]["path"] for report in reports)
    verdicts.update(row["verdict"] for row in rows["models"])
    assert {key: totals[key] for key in ("yes", "no", "needs_input", "not_checked")} == {key: verdicts[key] for key in ("yes", "no", "needs_input", "not_checked")}
    findings = sum(len(report.get("findings", ())) for report in reports)
    assert len(rows["findings"]) == findings > 0
    by_path = {row["path"]: row for row in rows["models"]}
    for report in reports:
        row = by_path["s3://models/" + report["model"]["path"]]
        if "error" in report:
            assert row["verdict"] == "not_checked" and row["error"] and row["nodes"] is None
        else:
            assert row["verdict"] == report["verdict"] and row["nodes"] == report["summary"]["nodes"]
            assert row["targets"][0]["support"] == report["targets"][0]["support"]


def check_totals(lines, totals):
    missing = collections.Counter()
    for report in map(json.loads, lines):
        missing.update({each["op"] for each in report.get("operators", ()) if each["class"] == "missing"})
    assert {each["op"]: each["models"] for each in totals["missing"]} == dict(missing)
    assert totals["missing"][0]["models"] == max(missing.values())


def check_files(s3, batch, count):
    keys = around.objects(s3, "results", "run/reports/")
    lines = around.scan_lines(around.texts(s3, "results", keys), "s3://models/")
    paths = [around.path_of(line) for line in lines]
    assert len(paths) == len(set(paths)) == count, (len(paths), len(set(paths)), count)
    for ours, theirs in zip(lines, batch):
        assert ours == theirs, f"\n{ours}\n{theirs}"
    assert len(lines) == len(batch)
    page, = around.texts(s3, "results", ["run/page.html"])
    assert all(path in page for path in paths[:20])
    return lines


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--models", required=True)
    parser.add_argument("--broken", required=True)
    parser.add_argument("--count", type=int, default=60)
    options = parser.parse_args()
    program = str(pathlib.Path(options.program).resolve())
    samples = around.sample_models(options.models, options.broken, OWN)
    with tempfile.TemporaryDirectory() as temporary, around.s3_server() as s3:
        folder = pathlib.Path(temporary) / "models"
        count = around.fill_folder(folder, samples, options.count)
        around.upload(s3, folder, "models")
        s3.client().create_bucket(Bucket="results")
        import os
        os.environ.update(s3.environment())   # which the cluster's nodes inherit
        with around.cluster(3) as (ray_cluster, workers):
            killed_at, totals = check_run(program, s3, count, ray_cluster.address, ray_cluster, workers[0])
        batch = around.batch_lines(program, folder, "--exclude", "*.txt", "--target", "tensorrt", "--opset", "17")
        lines = check_files(s3, batch, count)
        assert totals["models"] == count
        check_tables(s3, lines, totals)
        check_totals(lines, totals)
        print(f"{count} models; the driver was killed after {killed_at} files; {totals['yes']} convert, {totals['not_checked']} not checked")


if __name__ == "__main__":
    main()
