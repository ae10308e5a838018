"""Twenty SIGKILLs at random (seeded) moments, each followed by a resume, end in exactly the model files and the
loss curve of one uninterrupted run."""
import os
import random
import subprocess
import sys
import tempfile
import time

from run_tools import content, curve, mdsm, the_run, tiny_options, write_images

KILLS, STEPS = 20, 300


def uninterrupted(program, data, folder):
    begin = time.time()
    result = mdsm(program, "train", *tiny_options(data, folder, STEPS))
    assert result.returncode == 0, result.stderr
    return the_run(folder), time.time() - begin


def start(program, data, folder):
    run = the_run(folder)
    arguments = ["--resume", run] if run else tiny_options(data, folder, STEPS)
    return subprocess.Popen([program, "train", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def interrupted(program, data, folder, seconds):
    """Each life lasts a random part of what an uninterrupted run takes, so that kills fall everywhere: starting,
    training, writing. Together they last about 0.7 of it, so that the run does not end before the last kill."""
    draw = random.Random(1)
    kills = 0
    while kills < KILLS:
        process = start(program, data, folder)
        try:
            process.wait(timeout=draw.uniform(0, 1.4 * seconds / KILLS))
            message = process.stderr.read().decode()
            assert process.returncode == 0, message
            break  # finished too early: reported by the caller
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            kills += 1
    result = start(program, data, folder)
    message = result.communicate(timeout=300)[1].decode()
    assert result.returncode == 0, message
    return the_run(folder), kills


def main(program):
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "images.npy")
        write_images(data)
        whole, seconds = uninterrupted(program, data, os.path.join(folder, "whole"))
        killed, kills = interrupted(program, data, os.path.join(folder, "killed"), seconds)
        for name in ("weights.safetensors", "ema.safetensors"):
            assert content(whole, name) == content(killed, name), f"{name} differs after {kills} kills"
        assert curve(whole) == curve(killed), "the curves of stats.jsonl differ"
        left = [name for name in os.listdir(killed) if ".tmp" in name]
        assert not left, f"temporary files stay: {left}"
        assert kills == KILLS, f"only {kills} kills before the end"
        print(f"{kills} kills, {STEPS} steps ({seconds:.1f} s uninterrupted): weights, average and curve identical")


main(sys.argv[1])
