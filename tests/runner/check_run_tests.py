#!/usr/bin/env python3
"""What run_tests.py starts ends with it, also when it is killed. Tests that passed run again only with other sources."""
import os, pathlib, select, signal, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
import run_tests

# Starts a server that makes its socket and waits, then says the number of its process.
STARTS = """
import sys
sys.path.insert(0, sys.argv[1])
import run_tests
with run_tests.Server(sys.argv[2], ["sh", "-c", "touch $0; exec sleep 1000", sys.argv[2]]) as socket:
    print(open("/proc/self/task/%d/children" % run_tests.os.getpid()).read().split()[0], flush=True)
    sys.stdin.read()
"""


def resumes(folder):
    file = os.path.join(folder, "passed")
    known = []
    for sources, test in (("a", "first"), ("a", "second"), ("b", "third"), ("b", "fourth")):
        os.environ["COMPATCHECK_SOURCES"] = sources
        passed = run_tests.Passed(file)
        known.append(sorted(passed.names))
        passed.add(test)
    assert known == [[], ["first"], [], ["third"]], known
    assert run_tests.Passed(None).names == set()


def main():
    with tempfile.TemporaryDirectory() as folder:
        resumes(folder)
        command = [sys.executable, "-c", STARTS, str(HERE), f"{folder}/socket"]
        runner = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        server = os.pidfd_open(int(runner.stdout.readline()))
        os.kill(runner.pid, signal.SIGKILL)
        runner.wait()
        ended, _, _ = select.select([server], [], [], 60)
        if not ended:
            signal.pidfd_send_signal(server, signal.SIGKILL)
            sys.exit("the server goes on after run_tests.py was killed")


if __name__ == "__main__":
    main()
