"""How tests call the program whose path is their first argument."""
import os
import subprocess
import sys

MDSM = os.path.abspath(sys.argv[1])
ENVIRONMENT = {**os.environ, "OMP_WAIT_POLICY": "passive"}


def call(*arguments, **more):
    """The finished process, whatever its exit code."""
    return subprocess.run([MDSM, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          stdin=subprocess.DEVNULL, env=ENVIRONMENT, timeout=1800, **more)


def run(*arguments, **more):
    """What it prints; it has to succeed."""
    result = call(*arguments, **more)
    if result.returncode != 0:
        raise AssertionError(f"mdsm {' '.join(map(str, arguments))}: {result.returncode}\n{result.stderr}")
    return result.stdout
