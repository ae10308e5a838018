"""Training by several processes has the bits of one: 1, 2, 3 and 4 processes; begun by some and gone on with by others;
under torchrun, with workers killed and restarted.

    training_test.py MDSM [KILLS]     so many runs in which a random rank is killed; 1 without
"""
import os
import random
import signal
import subprocess
import sys
import tempfile

from ranks import (ENVIRONMENT, MDSM, free_port, lines_of_statistics, run_alone, run_ranks, skip_without_module, torchrun,
                   wait_for, workers_of)
from run_tools import content, curve, the_run, tiny_options, write_images

STEPS = 50
FILES = ("weights.safetensors", "ema.safetensors")


def options(folder, name, steps=STEPS):
    return ["train", *tiny_options(os.path.join(folder, "images.npy"), os.path.join(folder, name), steps), "--shards", "4"]


def check_same(folder, one, other, what):
    a, b = the_run(os.path.join(folder, one)), the_run(os.path.join(folder, other))
    for name in FILES:
        assert content(a, name) == content(b, name), f"{what}: {name} differs"
    assert curve(a) == curve(b), f"{what}: stats.jsonl differs"


def check_numbers(folder):
    run_alone(options(folder, "one"))
    for size in (2, 3, 4):
        run_ranks(size, options(folder, f"ranks{size}"))
        check_same(folder, "one", f"ranks{size}", f"{size} processes")
    with open(os.path.join(the_run(os.path.join(folder, "ranks2")), "log.txt")) as log:
        assert "2 processes of 1 threads" in log.read()


def check_resume(folder):
    run_ranks(4, options(folder, "resumed") + ["--stop-after", "7"])
    run = the_run(os.path.join(folder, "resumed"))
    run_alone(["train", "--resume", run, "--stop-after", "8"])
    run_ranks(2, ["train", "--resume", run])
    check_same(folder, "one", "resumed", "4, then 1, then 2 processes")


def check_reorder(folder):
    """c10d's own sum ends close by, and need not end at the same bits."""
    run_ranks(2, options(folder, "reordered") + ["--allow-reorder"])
    lines = [curve(the_run(os.path.join(folder, name)))[-1]["loss"] for name in ("one", "reordered")]
    assert abs(lines[0] / lines[1] - 1) < 1e-3, lines


def under_torchrun(folder, name, seed, kill):
    """Kills a random rank somewhere in the middle; torchrun starts all of them again."""
    draw = random.Random(seed)
    out = os.path.join(folder, name)
    agent = subprocess.Popen([*torchrun(), "--nproc_per_node=2", "--max_restarts=3", "--monitor_interval=0.1",
                              f"--master_port={free_port()}", MDSM, *options(folder, name, STEPS)],
                             env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    killed = None
    if kill:
        after = draw.randrange(1, STEPS // 3 - 3)
        wait_for(lambda: lines_of_statistics(out) >= after or agent.poll() is not None, 120, f"line {after} of the statistics")
        rank = draw.randrange(2)
        process = workers_of(agent.pid).get(rank)
        if process:
            os.kill(process, signal.SIGKILL)
            killed = rank
    said = agent.communicate(timeout=300)[1]
    assert agent.returncode == 0, said
    if killed is not None:
        with open(os.path.join(the_run(out), "log.txt")) as log:
            assert "going on after step" in log.read(), said
        other = "rank {}".format(killed)
        assert killed == 0 or other in said, f"nobody says that {other} is gone:\n{said}"
    return killed


def main():
    skip_without_module()
    kills = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    with tempfile.TemporaryDirectory() as folder:
        write_images(os.path.join(folder, "images.npy"))
        check_numbers(folder)
        if kills == 1:
            check_resume(folder)
            check_reorder(folder)
        if not torchrun():
            print("no torchrun here: processes were started by hand alone")
            return
        done = 0
        for seed in range(3 * kills):
            killed = under_torchrun(folder, f"killed{seed}", seed, True)
            check_same(folder, "one", f"killed{seed}", f"torchrun, rank {killed} killed")
            done += killed is not None
            if done == kills:
                break
        assert done == kills, f"only {done} of {kills} kills hit a running process"
        print(f"1, 2, 3 and 4 processes and {done} kills under torchrun: the same bits after {STEPS} steps")


main()
