"""Figures of docs/distributed.md, all with one command; throughput needs an idle machine, bytes do not:

    measure.py MDSM [--only throughput,bytes,overlap] [--steps N] [--width W] [--batch B] [--repeat R]

throughput: 2 processes of 1 thread against 1 process of 2 threads, in turns, the best of each. bytes: what a step sends, as
the program counts it and as the interfaces of simulated hosts count it, against the lower bound of a ring. overlap: what
sending while computing hides on links shaped to a rate by tc; what is waited for on a link that is not shaped is the other process,
not the network. The last two need root and iproute2.
"""
import argparse
import json
import os
import re
import struct
import tempfile

from hosts import Hosts
from ranks import ENVIRONMENT, finish, start, start_ranks
from run_tools import the_run, write_images


PATIENT = {"MDSM_PEER_TIMEOUT": 900, "MDSM_JOIN_TIMEOUT": 900}  # a busy machine is no fault


class Measure:
    def __init__(self, arguments, folder):
        self.arguments, self.folder, self.runs = arguments, folder, 0
        write_images(os.path.join(folder, "images.npy"), 256)

    def call(self, *more, steps=None, batch=None):
        """The words of a training, and the folder it will fill."""
        self.runs += 1
        out = os.path.join(self.folder, str(self.runs))
        steps = steps or self.arguments.steps
        words = ["train", "--data", os.path.join(self.folder, "images.npy"), "--net", "res12", "--width", self.arguments.width,
                 "--batch", batch or self.arguments.batch, "--steps", steps, "--noise", "geometric", "--out", out, "--save-every", "0",
                 "--preview-every", "0", "--stats-every", max(1, steps // 2), "--shards", "4", *more]
        return words, out

    def wait(self, processes):
        for code, _, err in finish(processes, 3600):
            assert code == 0, err

    @staticmethod
    def step_seconds(out):
        """Of a step in the second half of the run."""
        with open(os.path.join(the_run(out), "stats.jsonl")) as file:
            lines = [json.loads(line) for line in file]
        return (lines[-1]["seconds"] - lines[-2]["seconds"]) / (lines[-1]["step"] - lines[-2]["step"])

    @staticmethod
    def said(out):
        """Seconds of a step, seconds of it spent waiting, bytes sent, from the log of rank 0."""
        with open(os.path.join(the_run(out), "log.txt")) as file:
            return tuple(map(float, re.search(r"a step took (\S+) s, (\S+) of it waiting.*; (\d+) bytes sent", file.read()).groups()))

    @staticmethod
    def parameters(out):
        with open(os.path.join(the_run(out), "weights.safetensors"), "rb") as file:
            head = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        return sum(entry["data_offsets"][1] - entry["data_offsets"][0] for name, entry in head.items() if name != "__metadata__") // 4

    def throughput(self):
        environment = {key: value for key, value in ENVIRONMENT.items() if key != "OMP_NUM_THREADS"}
        threads, processes = [], []
        for _ in range(self.arguments.repeat):
            words, out = self.call("--threads", "2")
            self.wait([start(words, environment)])
            threads.append(self.step_seconds(out))
            words, out = self.call("--threads", "1")
            self.wait(start_ranks(2, words, **PATIENT))
            processes.append(self.step_seconds(out))
            print(f"  1 x 2 threads {threads[-1]:.3f} s a step, 2 x 1 thread {processes[-1]:.3f} s", flush=True)
        print(f"throughput: 2 processes of 1 thread {min(processes):.3f} s a step, 1 process of 2 threads {min(threads):.3f} s: "
              f"{100 * min(threads) / min(processes):.1f} % (at least 95 wanted)", flush=True)

    def bytes(self):
        """Runs of two lengths; their difference leaves the start and the end out."""
        for size in (2, 4):
            sent, counted = {}, {}
            for steps in (2, 6):
                with Hosts(size) as hosts:
                    words, out = self.call("--threads", "1", steps=steps, batch=4)
                    self.wait(hosts.start(words, **PATIENT))
                    sent[steps] = [hosts.sent(k) for k in range(size)]
                    counted[steps] = self.said(out)[2] * steps
            ring = 8 * (size - 1) / size * self.parameters(out)
            wire = max(b - a for a, b in zip(sent[2], sent[6])) / 4
            own = (counted[6] - counted[2]) / 4
            print(f"bytes: {size} processes, {self.parameters(out)} parameters: {own:.0f} bytes a step from rank 0, {own / ring:.4f} of a ring's "
                  f"{ring:.0f}; on the wire with all headers {wire:.0f}, {wire / ring:.4f} (at most 1.1 wanted)", flush=True)

    def overlap(self):
        for rate in ("as fast as it goes", "1gbit", "100mbit"):
            with Hosts(2) as hosts:
                if rate.endswith("bit"):
                    hosts.shape(rate)
                found = {}
                for choice in ("--no-overlap", "--overlap"):
                    words, out = self.call("--threads", "1", choice, steps=max(4, self.arguments.steps // 2))
                    self.wait(hosts.start(words, **PATIENT))
                    found[choice] = (self.step_seconds(out), self.said(out)[1])
                    print(f"  {rate}, {choice}: {found[choice][0]:.3f} s a step, {found[choice][1]:.4f} s of it waiting", flush=True)
                (slow, all_waiting), (fast, waiting) = found["--no-overlap"], found["--overlap"]
                print(f"overlap: {rate}: {100 * (1 - waiting / all_waiting):.0f} % of the waiting is hidden, a step is {slow - fast:.3f} s shorter",
                      flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mdsm")
    parser.add_argument("--only", default="bytes,throughput,overlap")
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--repeat", type=int, default=2)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure = Measure(arguments, folder)
        for name in arguments.only.split(","):
            getattr(measure, name)()


main()
