"""What the command-line tests of training share: tiny images, a tiny run, and calling the program."""
import os
import random
import struct
import subprocess


def write_images(path, count=64, size=32, seed=0):
    """count x size x size bytes of soft random rectangles as an .npy file, without numpy."""
    draw = random.Random(seed)
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({count}, 1, {size}, {size}), }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        for _ in range(count):
            left, top = draw.randrange(size // 2), draw.randrange(size // 2)
            for y in range(size):
                f.write(bytes(200 if left <= x < left + size // 2 and top <= y < top + size // 2 else 10
                              for x in range(size)))


def tiny_options(data, outdir, steps):
    return ["--data", data, "--net", "res6", "--width", "4", "--batch", "8", "--steps", str(steps), "--lr", "1e-3",
            "--noise", "geometric", "--seed", "3", "--out", outdir, "--save-every", "2", "--stats-every", "3",
            "--preview-every", "0", "--threads", "1"]


def mdsm(program, *arguments, **more):
    return subprocess.run([program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=300, **more)


def the_run(outdir):
    """The one run folder that can be resumed; None when a kill came before its options were written."""
    if not os.path.isdir(outdir):
        return None
    runs = [os.path.join(outdir, name) for name in sorted(os.listdir(outdir))]
    runs = [run for run in runs if os.path.exists(os.path.join(run, "options.json"))]
    assert len(runs) <= 1, runs
    return runs[0] if runs else None


def curve(run):
    """stats.jsonl without what the clock wrote."""
    import json
    with open(os.path.join(run, "stats.jsonl")) as f:
        lines = [json.loads(line) for line in f]
    for line in lines:
        for clock in ("images_per_s", "seconds", "time"):
            del line[clock]
    return lines


def content(run, name):
    with open(os.path.join(run, name), "rb") as f:
        return f.read()
