#!/usr/bin/env python3
"""What the check of a large model costs of the network: its weights stay in the bucket.

    check_traffic.py --program build/compatcheck [--megabytes 96]
"""
import argparse
import json
import os
import pathlib
import tempfile

import surroundings as around

MOST = 5_000_000  # bytes, with HTTP's own words, however large the model is


def large_model(file, megabytes):
    """An exported network of large and of small weights, between which nobody reads."""
    import torch

    width, layers = 2048, max(1, megabytes // 16)
    net = torch.nn.Sequential(*(
        layer for _ in range(layers) for layer in (torch.nn.Linear(width, width), torch.nn.LayerNorm(width), torch.nn.ReLU()))).eval()
    torch.jit.save(torch.jit.trace(net, torch.ones(2, width)), file)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--megabytes", type=int, default=96)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary, around.s3_server() as s3:
        folder = pathlib.Path(temporary) / "models"
        folder.mkdir()
        file = folder / "large.pt"
        large_model(file, options.megabytes)
        size = file.stat().st_size
        assert size > options.megabytes * 1_000_000
        around.upload(s3, folder, "models")
        expected = around.batch_lines(options.program, folder, "--target", "tensorrt")
        os.environ.update(s3.environment())
        proxy = around.CountingProxy(s3.port)

        import compatcheck

        os.environ["AWS_ENDPOINT_URL"] = proxy.endpoint
        read = compatcheck.ranged_file("s3://models/large.pt")
        report = compatcheck.check(read, targets=["tensorrt"])
        assert 0 < read.bytes_read <= proxy.bytes < MOST, (read.bytes_read, proxy.bytes)
        ours, theirs = report.to_dict(), json.loads(expected[0])
        ours["model"]["path"] = theirs["model"]["path"]
        assert ours == theirs
        print(f"{size:,} bytes; read: {read.bytes_read:,} in {read.requests} requests; over the network: {proxy.bytes:,}")
        proxy.close()


if __name__ == "__main__":
    main()
