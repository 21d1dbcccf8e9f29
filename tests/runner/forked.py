#!/usr/bin/env python3
"""Runs a Python script of the tests in a process that has imported what most scripts import.

    forked.py SCRIPT [argument...]     as `python SCRIPT [argument...]`
    forked.py --serve SOCKET           the server: imports, then forks once for each client

Importing torch, onnx and ONNX Runtime takes a script more than a second. run_tests.py starts a server and names its socket in
COMPATCHECK_TEST_SERVER; without that variable the script runs in this process's place. The child gets the client's arguments,
environment, folder and open files. It dies with its client.
"""
import os, socket, struct, sys

SERVER = "COMPATCHECK_TEST_SERVER"


def run_here(script, arguments):
    os.execv(sys.executable, [sys.executable, script, *arguments])


def client(script, arguments):
    path = os.environ.get(SERVER)
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(path)
    except (OSError, TypeError):
        run_here(script, arguments)
    environment = [f"{name}={value}" for name, value in os.environ.items() if name != SERVER]
    parts = [os.getcwd(), script, *arguments, "", *environment]
    sent = "\0".join(parts).encode(errors="surrogateescape")
    socket.send_fds(connection, [struct.pack("=I", len(sent))], [0, 1, 2])
    connection.sendall(sent)
    answer = connection.recv(4)
    if len(answer) != 4:
        sys.exit("forked.py: the server ended before the script")
    code = struct.unpack("=i", answer)[0]
    if code < 0:   # a signal
        import resource
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.kill(os.getpid(), -code)
    sys.exit(code)


def received(connection):
    """What a client sent: its files, its folder, the script's words, its environment."""
    head, files, _, _ = socket.recv_fds(connection, 4, 3)
    size, = struct.unpack("=I", head)
    data = b""
    while len(data) < size:
        data += connection.recv(size - len(data)) or sys.exit(1)
    folder, *rest = data.decode(errors="surrogateescape").split("\0")
    end = rest.index("")
    return files, folder, rest[:end], dict(text.split("=", 1) for text in rest[end + 1:])


def run_script(words):
    """As `python words...` does; the exit code."""
    import runpy, traceback
    sys.argv = words
    sys.path[0] = os.path.dirname(os.path.abspath(words[0]))
    try:
        runpy.run_path(words[0], run_name="__main__")
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def serve_one(connection):
    """In a child of the server. The script runs in a group of processes of its own, which ends when the client does."""
    import select, signal
    files, folder, words, environment = received(connection)
    script = os.fork()
    if script == 0:
        connection.close()
        os.setpgid(0, 0)
        signal.signal(signal.SIGINT, signal.default_int_handler)   # whatever the server was started with
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, signal.SIG_DFL)
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        code = run_script(words)
        # Without the interpreter's end, which would also destroy what the server has imported.
        import atexit, threading
        threading._shutdown()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code & 255)
    ended = os.pidfd_open(script)
    ready, _, _ = select.select([ended, connection], [], [])
    if ended not in ready:   # the client is gone
        os.killpg(script, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(script, 0)[1])
    try:
        connection.sendall(struct.pack("=i", code))
    except OSError:
        pass
    os._exit(0)


def serve(path):
    import gc, signal
    import numpy, onnx, onnx.checker, onnx.helper, onnx.numpy_helper, onnxruntime, torch, torch._dynamo, torch.export   # noqa: F401
    import argparse, collections, concurrent.futures, dataclasses, json, pathlib, re, shutil, subprocess, tempfile   # noqa: F401
    gc.collect()
    gc.freeze()   # a collection in a child would copy all pages with objects
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path + ".new")
    listener.listen(64)
    os.rename(path + ".new", path)   # whoever sees it can connect
    while True:
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            serve_one(connection)
        connection.close()


def forget_reached():
    """What an earlier run of the test noted of the rows that it reached."""
    path = os.environ.get("COMPATCHECK_CHECK_ROWS", "")
    if "/" in path:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        open(path, "w").close()


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        serve(sys.argv[2])
    else:
        forget_reached()
        client(sys.argv[1], sys.argv[2:])
