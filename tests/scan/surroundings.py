"""What the tests of scans run in: an S3 server, a Ray cluster of several nodes, models, the program."""
import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_DEFAULT_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true"}
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_DISABLE_IMPORT_WARNING": "1", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
OBJECT_STORE = 80 << 20


class S3:
    """moto's server, in a process of its own."""

    def __init__(self):
        self._process = subprocess.Popen(
            [sys.executable, "-c", "from moto.server import main; main(['-H', '127.0.0.1', '-p', '0'])"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.port = 0
        for line in self._process.stderr:
            if "Running on http://" in line:
                self.port = int(line.strip().rsplit(":", 1)[1])
                break
        assert self.port, "moto doesn't start"
        threading.Thread(target=lambda: [None for _ in self._process.stderr], daemon=True).start()
        self.endpoint = f"http://127.0.0.1:{self.port}"

    def environment(self, endpoint=None):
        return {**KEYS, "AWS_ENDPOINT_URL": endpoint or self.endpoint}

    def client(self):
        import boto3

        return boto3.client("s3", endpoint_url=self.endpoint, aws_access_key_id="key", aws_secret_access_key="secret", region_name="us-east-1")

    def close(self):
        self._process.kill()
        self._process.wait()


@contextlib.contextmanager
def s3_server():
    server = S3()
    try:
        yield server
    finally:
        server.close()


class CountingProxy:
    """Passes connections on, and counts the bytes that come back: what the network carries, whatever a client says of itself."""

    def __init__(self, port):
        self._to = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.endpoint = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self.bytes = 0
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                far = socket.create_connection(("127.0.0.1", self._to))
                threading.Thread(target=self._pass, args=(near, far, False), daemon=True).start()
                threading.Thread(target=self._pass, args=(far, near, True), daemon=True).start()

    def _pass(self, source, target, counted):
        with contextlib.suppress(OSError):
            while piece := source.recv(1 << 16):
                if counted:
                    with self._lock:
                        self.bytes += len(piece)
                target.sendall(piece)
        for each in (source, target):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def close(self):
        self._listening.close()


@contextlib.contextmanager
def cluster(nodes, cores=1):
    """A Ray cluster on this machine: its nodes are processes, and one can be killed."""
    os.environ.update(QUIET)
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={
        "num_cpus": cores, "object_store_memory": OBJECT_STORE, "include_dashboard": False})
    try:
        workers = [made.add_node(num_cpus=cores, object_store_memory=OBJECT_STORE) for _ in range(nodes - 1)]
        made.wait_for_nodes()
        yield made, workers
    finally:
        made.shutdown()


def sample_models(models, broken, own, largest=200_000):
    """Small models of all kinds, and junk."""
    found = sorted(each for folder, endings in ((models, (".pt", ".pt2")), (broken, (".pt", ".pt2", ".pth")), (own, (".ir", ".pt", ".pt2")))
                   for each in pathlib.Path(folder).iterdir() if each.suffix in endings and 0 < each.stat().st_size < largest)
    # Each kind has its turn.
    found.sort(key=lambda each: hashlib.sha256(each.name.encode()).hexdigest())
    return found


def fill_folder(folder, samples, count):
    """`count` models under names of their own."""
    for place in range(count):
        source = samples[place % len(samples)]
        target = folder / f"team{place % 7}" / f"{place:04}-{source.stem[:20]}{source.suffix}"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    (folder / "notes.txt").write_text("no model\n")
    (folder / "empty.pt").write_bytes(b"")
    return count + 1


def upload(s3, folder, bucket):
    client = s3.client()
    client.create_bucket(Bucket=bucket)
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            client.upload_file(str(file), bucket, str(file.relative_to(folder)))


def run_program(program, arguments, environment, check=True, **options):
    done = subprocess.run([program, *map(str, arguments)], env={**os.environ, **QUIET, "COMPATCHECK_PYTHON": sys.executable, **environment},
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    assert not check or done.returncode in (0, 1, 3), done.stderr
    return done


class Driver:
    """A scan as processes that can be stopped and killed."""

    def __init__(self, program, arguments, environment):
        self._process = subprocess.Popen([program, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                         start_new_session=True, env={**os.environ, **QUIET, "COMPATCHECK_PYTHON": sys.executable, **environment})

    def signal(self, number):
        os.killpg(self._process.pid, number)

    def running(self):
        return self._process.poll() is None

    def kill(self):
        assert self.running(), f"the run ended before it was killed: {self._process.communicate()}"
        self._process.send_signal(signal.SIGKILL)
        self._process.communicate()

    def wait(self):
        output, errors = self._process.communicate()
        return self._process.returncode, output, errors


def until(condition, seconds=100):
    """Polls without an opinion on how long it takes; `seconds` only ends a test that hangs."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("waited in vain")


def batch_lines(program, folder, *options):
    """One machine's run: its JSON lines, with paths from the folder on."""
    done = run_program(program, ["check", ".", "--format", "jsonl", "--frontend", "native", "--no-config", "--progress", "never", *options], {}, cwd=folder)
    return sorted(line.replace('"./', '"') for line in done.stdout.splitlines())


def scan_lines(reports, prefix):
    """The same of a scan, whose paths begin with the bucket."""
    return sorted(line.replace(prefix, "") for text in reports for line in text.splitlines())


def objects(s3, bucket, prefix):
    client, found = s3.client(), []
    for page in client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
        found += [each["Key"] for each in page.get("Contents", [])]
    return found


def texts(s3, bucket, keys):
    client = s3.client()
    return [client.get_object(Bucket=bucket, Key=key)["Body"].read().decode() for key in keys]


def path_of(line):
    return json.loads(line)["model"]["path"]
