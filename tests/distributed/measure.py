"""Figures of docs/distributed.md, on an idle machine: throughput of processes against threads, bytes a step against the lower
bound of a ring, and what overlapping hides on a slow network (a veth pair shaped by tc; needs root).

    measure.py MDSM [--steps N] [--width W] [--batch B] [--network]
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

from hosts import Hosts
from ranks import ENVIRONMENT, finish, start, start_ranks
from run_tools import the_run, write_images


def options(arguments, folder, name, *more):
    return ["train", "--data", os.path.join(folder, "images.npy"), "--net", "res12", "--width", arguments.width, "--batch",
            arguments.batch, "--steps", arguments.steps, "--noise", "geometric", "--outdir", os.path.join(folder, name), "--save-every",
            "0", "--preview-every", "0", "--stats-every", arguments.steps, *more]


def seconds(folder, name, steps):
    """Of a step, of waiting for others, and bytes sent; from the log of rank 0."""
    with open(os.path.join(the_run(os.path.join(folder, name)), "stats.jsonl")) as file:
        per_step = 1 / float(re.search(r'"images_per_s":([\d.e+-]+)', file.read())[1])
    with open(os.path.join(the_run(os.path.join(folder, name)), "log.txt")) as file:
        found = re.search(r"a step took ([\d.e+-]+) s, ([\d.e+-]+) of it waiting.*; (\d+) bytes sent", file.read())
    return per_step, found and tuple(map(float, found.groups()))


def check(found):
    for code, _, err in found:
        assert code == 0, err


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mdsm")
    parser.add_argument("--steps", default="8")
    parser.add_argument("--width", default="64")
    parser.add_argument("--batch", default="128")
    parser.add_argument("--network", action="store_true")
    arguments = parser.parse_args()
    batch = int(arguments.batch)
    with tempfile.TemporaryDirectory() as folder:
        write_images(os.path.join(folder, "images.npy"), 256)
        call = lambda name, *more: options(arguments, folder, name, "--shards", "4", *more)
        if not arguments.network:
            environment = {key: value for key, value in ENVIRONMENT.items() if key != "OMP_NUM_THREADS"}
            check(finish([start(call("threads", "--threads", "2"), environment)], 3600))
            one = batch * seconds(folder, "threads", arguments.steps)[0]
            print(f"1 process of 2 threads: {one:.3f} s a step")
            for size in (2, 4):
                check(finish(start_ranks(size, call(f"ranks{size}", "--threads", "1")), 3600))
                images, (step, waited, sent) = seconds(folder, f"ranks{size}", arguments.steps)
                weights = os.path.getsize(os.path.join(the_run(os.path.join(folder, f"ranks{size}")), "weights.safetensors"))
                ring = 2 * (size - 1) / size * weights
                print(f"{size} processes of 1 thread: {batch * images:.3f} s a step ({100 * one / (batch * images):.1f} % of the throughput), "
                      f"{waited:.3f} s waiting, {sent:.0f} bytes sent, {sent / ring:.3f} of a ring's (and the file's header)")
            return
        for rate in ("1gbit", "100mbit"):
            with Hosts(2) as hosts:
                for host in hosts.names:
                    subprocess.run(["tc", "-n", host, "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", rate, "burst", "256kb",
                                    "latency", "50ms"], check=True)
                waits = {}
                for overlap in ("--no-overlap", "--overlap"):
                    name = f"{rate}{overlap}"
                    check(finish(hosts.start(call(name, "--threads", "1", overlap)), 3600))
                    _, (step, waits[overlap], sent) = seconds(folder, name, arguments.steps)
                    print(f"{rate}, {overlap}: {step:.3f} s a step, {waits[overlap]:.4f} s of it waiting")
                print(f"{rate}: overlap hides {100 * (1 - waits['--overlap'] / waits['--no-overlap']):.0f} % of the waiting")


main()
