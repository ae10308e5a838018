"""Every call of the three resumable commands that touches a file of theirs fails once, in turn, from the beginning and when they
go on with what is half done. Either nothing is lost by it and the command succeeds, or it ends with one line that names a file
and the cause; going on afterwards gives the same bits as a run without faults."""
import errno
import os
import shutil
import sys

from jobs import call, calls_in, for_each_job, with_faults


def places(job, log):
    """Numbers of calls, one for each different place in the program's life: call, file name, and how often before."""
    seen, chosen = {}, []
    for number, (name, path, other) in enumerate(calls_in(log), 1):
        key = (name, os.path.basename(path).split(".tmp")[0], os.path.basename(other))
        seen[key] = seen.get(key, 0) + 1
        if seen[key] <= 3:  # the first checkpoints differ, later ones do not
            chosen.append(number)
    return chosen


def half_done(job, log):
    """Lets the command fail where that leaves something to go on with; a copy of its folder."""
    job.clear()
    numbers = range(1, len(calls_in(log)) + 1)
    os.remove(log)
    for number in numbers[len(numbers) // 2:]:
        job.clear()
        if with_faults(job, job.first(), log, number).returncode != 0 and "--resume" in job.again():
            os.remove(log)
            copy = job.folder + "-half"
            shutil.copytree(job.folder, copy)
            return copy
        os.remove(log)
    raise AssertionError(f"{job.name}: no call leaves it half done")


def fail_each(job, log, wanted, prepare, arguments):
    prepare()
    done = with_faults(job, arguments(), log)
    assert done.returncode == 0, done.stderr
    assert job.result() == wanted
    numbers = places(job, log)
    assert len(numbers) > 20, numbers
    failures = reported = 0
    for count, number in enumerate(numbers):
        error = errno.ENOSPC if count % 2 else errno.EIO
        prepare()
        os.remove(log)
        result = with_faults(job, arguments(), log, number, error)
        what = calls_in(log)[number - 1:number]  # nothing where this run made fewer calls
        again = None
        message = result.stderr.splitlines()[-1] if result.stderr else ""
        told = message.startswith("mdsm: error: ") and os.strerror(error) in message and job.folder in message
        if result.returncode not in (0, 1) or (result.returncode == 1 and not told):
            failures += 1
            print(f"{job.name}: call {number} {what}: {result.returncode} {result.stderr[-300:]}", file=sys.stderr)
            continue
        reported += result.returncode == 1
        if result.returncode == 1:
            again = call(job.again())
        if (again and again.returncode != 0) or job.result() != wanted:
            failures += 1
            print(f"{job.name}: call {number} {what}: not the same afterwards: {again.stderr[-300:] if again else ''}", file=sys.stderr)
    return len(numbers), reported, failures


def check(job, root):
    log = os.path.join(root, job.name + ".log")
    job.clear()
    done = with_faults(job, job.first(), log)
    assert done.returncode == 0, done.stderr
    wanted, failures = job.result(), 0
    half = half_done(job, log)

    def put_back():
        job.clear()
        shutil.copytree(half, job.folder)

    for how, prepare, arguments in (("from the beginning", job.clear, job.first), ("going on", put_back, job.again)):
        calls, reported, failed = fail_each(job, log, wanted, prepare, arguments)
        os.remove(log)
        failures += failed
        print(f"{job.name}, {how}: {calls} calls failed once, {reported} of them ended the command, {failed} failures", flush=True)
    return failures


if __name__ == "__main__":
    for_each_job(check)
