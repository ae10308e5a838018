"""Each call stack of the three resumable commands that asks for memory is refused it once. Either the command succeeds
nevertheless, or it ends with one line that says so; going on afterwards gives the same bits as a run without faults.

    allocations_test.py MDSM LIBRARY [STACKS]

takes so many of each command, spread over its life; all of them without the number."""
import os
import re
import sys

from jobs import LIBRARY, call, for_each_job

STACKS = int(sys.argv[3]) if len(sys.argv) > 3 else None


def refused(job, log, number):
    return call(job.first(), LD_PRELOAD=LIBRARY, FAULT_STACK=str(number), FAULT_LOG=log)


def stacks_in(log):
    with open(log, encoding="utf-8", errors="replace") as file:
        return int(file.read().split("stacks ")[-1])


def frames_in(log):
    with open(log, encoding="utf-8", errors="replace") as file:
        return " ".join(line.split("/")[-1].split("[")[0] for line in file.readlines()[2:14])


def told(result):
    """One line that says that memory ran out; OpenMP and the C library have lines of their own."""
    lines = [line for line in result.stderr.splitlines() if line.startswith(("mdsm: error: ", "libgomp: ", "Fatal glibc error: "))]
    return len(lines) == 1 and re.search("out of memory|(allocate|fit in|insufficient) memory", lines[0], re.IGNORECASE)


def check(job, root):
    log = os.path.join(root, job.name + ".log")
    job.clear()
    done = refused(job, log, 0)
    assert done.returncode == 0, done.stderr
    wanted, count = job.result(), stacks_in(log)
    assert count > 1000, count
    numbers = range(1, count + 1)
    if STACKS:
        numbers = [1 + i * count // STACKS for i in range(STACKS)]
    failures = ended = 0
    for number in numbers:
        job.clear()
        result = refused(job, log, number)
        ended += result.returncode != 0
        again, problem = None, ""
        if result.returncode != 0 and not told(result):
            problem = f"{result.returncode} {result.stderr[-300:]}"
        if result.returncode != 0:
            again = call(job.again())
        if (again and again.returncode != 0) or job.result() != wanted:
            problem += f" not the same afterwards: {again.stderr[-300:] if again else ''}"
        if problem:
            failures += 1
            print(f"{job.name}: stack {number}: {problem}\n  {frames_in(log)}", file=sys.stderr, flush=True)
    print(f"{job.name}: {len(numbers)} of {count} call stacks went without memory once, {ended} of them ended the command, "
          f"{failures} failures", flush=True)
    return failures


if __name__ == "__main__":
    for_each_job(check)
