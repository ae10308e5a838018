"""Several processes of the program, started by hand as a launcher would or by torchrun. The first argument of a test is
the path of the program."""
import atexit
import glob
import importlib.util
import os
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "train"))

MDSM = os.path.abspath(sys.argv[1])
MODULE = os.path.join(os.path.dirname(MDSM), "..", "lib", "libmdsm_torch.so")
LAUNCHERS = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_", "OMPI_", "SLURM_")
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(LAUNCHERS)}
ENVIRONMENT.update(OMP_WAIT_POLICY="passive", OMP_NUM_THREADS="1", MDSM_JOIN_TIMEOUT="120")
SKIPPED = 77


def skip_without_module():
    if not os.path.exists(MODULE):
        print("this build has no LibTorch module: nothing to test")
        sys.exit(SKIPPED)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def variables(rank, size, port, **more):
    return {**ENVIRONMENT, "RANK": str(rank), "WORLD_SIZE": str(size), "LOCAL_RANK": str(rank), "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port), **{name: str(value) for name, value in more.items()}}


def start(arguments, environment, before=(), program=None):
    """Does not outlive the test, however that ends."""
    process = subprocess.Popen([*before, program or MDSM, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=environment)
    atexit.register(process.kill)
    return process


def start_ranks(size, arguments, port=None, own=None, **more):
    """own: {rank: arguments of its own}."""
    port = port or free_port()
    return [start((own or {}).get(rank, arguments), variables(rank, size, port, **more)) for rank in range(size)]


def finish(processes, seconds=300):
    """[(exit code, standard output, standard error)]; kills what is left after so long."""
    found = []
    end = time.time() + seconds
    for process in processes:
        try:
            out, err = process.communicate(timeout=max(1, end - time.time()))
        except subprocess.TimeoutExpired:
            for other in processes:
                other.kill()
            out, err = process.communicate()
            err += f"\n(killed after {seconds} s)"
        found.append((process.returncode, out, err))
    return found


def run_ranks(size, arguments, **more):
    """Standard output of rank 0; all must succeed, and the others say nothing."""
    found = finish(start_ranks(size, arguments, **more))
    for rank, (code, out, err) in enumerate(found):
        assert code == 0, f"rank {rank} of {size}: {code}\n{err}"
        assert rank == 0 or (out, err) == ("", ""), f"rank {rank} says {out!r}, {err!r}"
    return found[0][1]


def run_alone(arguments):
    code, out, err = finish([start(arguments, ENVIRONMENT)])[0]
    assert code == 0, err
    return out


def torchrun():
    """The start of the command, or nothing where there is no PyTorch."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "torchrun")
    return [sys.executable, script, "--no-python"] if importlib.util.find_spec("torch") else None


def workers_of(agent):
    """{rank: process number} of the processes that a torchrun has started."""
    found = {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path) as file:
                parent = int(file.read().rsplit(")", 1)[1].split()[1])
            with open(path.replace("stat", "environ"), "rb") as file:
                environment = dict(item.split(b"=", 1) for item in file.read().split(b"\0") if b"=" in item)
            with open(path.replace("stat", "comm")) as file:
                name = file.read().strip()
        except (OSError, ValueError):
            continue
        if parent == agent and name == "mdsm" and b"RANK" in environment:
            found[int(environment[b"RANK"])] = int(path.split("/")[2])
    return found


def wait_for(condition, seconds=60, what="it"):
    end = time.time() + seconds
    while time.time() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"{what} did not come within {seconds} s")


def lines_of_statistics(outdir):
    """Whole ones, of the only run there."""
    found = glob.glob(os.path.join(outdir, "*", "stats.jsonl"))
    if not found:
        return 0
    with open(found[0]) as file:
        return file.read().count("\n")


def wait_for_lines(outdir, count):
    wait_for(lambda: lines_of_statistics(outdir) >= count, 300, f"line {count} of the statistics")
