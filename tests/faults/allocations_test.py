"""Each call stack of the three resumable commands that asks for memory is refused it once. Either the command succeeds
nevertheless, or it ends with one line that says so; going on afterwards gives the same bits as a run without faults.

    allocations_test.py MDSM LIBRARY [STACKS [COMMAND]]

takes so many of each command, spread over its life; all of them without the number, or with 0. 1742-1800 instead of the
number takes those, counted from 0, and 1742- all from there on: so that a long run can be done in parts."""
import os
import re
import sys

from jobs import LIBRARY, call, for_each_job

CHOICE = sys.argv[3] if len(sys.argv) > 3 else "0"


def refused(job, log, number):
    return call(job.first(), LD_PRELOAD=LIBRARY, FAULT_AT=str(number), FAULT_LOG=log)


def stacks_in(log):
    """[(number of the request, stack)]"""
    with open(log, encoding="utf-8") as file:
        return [(int(number), stack) for number, stack in (line.split() for line in file)]


def refusal_in(log):
    """The stack that went without, and its innermost frames; None where the run asked for less."""
    with open(log, encoding="utf-8", errors="replace") as file:
        lines = file.readlines()
    return (lines[0].split()[1], " ".join(line.split("/")[-1].split("[")[0] for line in lines[3:15])) if lines else (None, "")


def told(result):
    """One line that says that memory ran out; OpenMP and the C library have lines of their own."""
    lines = [line for line in result.stderr.splitlines() if line.startswith(("mdsm: error: ", "libgomp: ", "Fatal glibc error: "))]
    return len(lines) == 1 and re.search("out of memory|(allocate|fit in|insufficient) memory", lines[0], re.IGNORECASE)


def chosen_of(stacks):
    if "-" in CHOICE:
        first, end = CHOICE.split("-")
        return stacks[int(first):int(end) + 1 if end else None]
    count = int(CHOICE)
    return [stacks[i * len(stacks) // count] for i in range(count)] if count else stacks


def check(job, root):
    log = os.path.join(root, job.name + ".log")
    job.clear()
    done = refused(job, log, 0)
    assert done.returncode == 0, done.stderr
    wanted, stacks = job.result(), stacks_in(log)
    assert len(stacks) > 1000, len(stacks)
    chosen = chosen_of(stacks)
    assert chosen, f"{CHOICE}: there are {len(stacks)} stacks"
    failures = ended = 0
    seen = set()  # a run that prints its progress at another moment asks for a few more or less
    for number, _ in chosen:
        job.clear()
        result = refused(job, log, number)
        stack, frames = refusal_in(log)
        seen.add(stack)
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
            print(f"{job.name}: request {number}: {problem}\n  {frames}", file=sys.stderr, flush=True)
    print(f"{job.name}: {len(seen - {None})} of {len(stacks)} call stacks went without memory once, {ended} of them ended the "
          f"command, {failures} failures", flush=True)
    return failures


if __name__ == "__main__":
    for_each_job(check, sys.argv[4:])
