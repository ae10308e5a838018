"""A program with a sampler, an objective and a data source of its own (this folder) against its command line: they show
up in help and lists, train, resume, sample and are refused where they have no meaning, with no other code.

    extension_test.py MDSM_EXTENDED
"""
import json
import os
import subprocess
import sys
import tempfile

PROGRAM = sys.argv[1]


def run(*words, code=0):
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=120)
    assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
    return done.stdout if code == 0 else done.stderr


with tempfile.TemporaryDirectory() as root:
    os.chdir(root)

    # The data source: listed, described, with its classes.
    assert "stripes" in run("data", "--list")
    found = json.loads(run("data", "stripes", "--json"))
    assert found["count"] == 200 and found["shape"] == [1, 8, 8], found
    assert [c["name"] for c in found["classes"]] == ["across", "down"], found

    # The objective: its option in help, in the run's record, refused for others; its state is saved and resumed.
    assert "robust: " in run("train", "--help") and "mdsm|single|ml|robust" in run("train", "--help")
    training = ["train", "--data", "stripes", "--net", "res6", "--width", 4, "--batch", 8, "--steps", 20,
                "--stats-every", 5, "--preview-every", 0, "--threads", 1, "--quiet", "--out", "runs"]
    robust = training + ["--objective", "robust", "--robust-cap", 30]
    run(*robust, "--desc", "whole")
    run(*robust, "--desc", "halves", "--stop-after", 10)
    whole, halves = sorted(os.listdir("runs"))
    run("train", "--resume", f"runs/{halves}", "--quiet")
    with open(f"runs/{whole}/ema.safetensors", "rb") as a, open(f"runs/{halves}/ema.safetensors", "rb") as b:
        assert a.read() == b.read(), "a resumed run differs"
    with open(f"runs/{whole}/options.json", encoding="utf-8") as file:
        assert json.load(file)["robust-cap"] == 30
    with open(f"runs/{whole}/stats.jsonl", encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    assert len(lines) == 4 and all("robust_capped" in line for line in lines), lines
    assert "no meaning for --objective mdsm" in run(*training, "--robust-cap", 3, code=2)
    assert "no meaning for --objective robust" in run(*robust, "--ml-steps", 3, code=2)

    # The sampler: its option in help and in samples.json, refused for others; a seed gives the same image in any batch.
    assert "descent: share of the denoising residual" in run("sample", "--help")
    sampling = ["sample", "--model", f"runs/{whole}", "--threads", 1, "--sampler", "descent", "--steps", 7]
    run(*sampling, "-n", 4, "--descent-rate", 0.3, "--out", "a")
    run(*sampling, "-n", 4, "--descent-rate", 0.3, "--out", "b", "--batch", 1)
    with open("a/samples.npy", "rb") as a, open("b/samples.npy", "rb") as b:
        assert a.read() == b.read(), "samples depend on the batch"
    with open("a/samples.json", encoding="utf-8") as file:
        parameters = json.load(file)["parameters"]
    assert parameters["sampler"] == "descent" and parameters["descent-rate"] == 0.3, parameters
    assert "no meaning for --sampler fast" in run("sample", "--model", f"runs/{whole}", "--sampler", "fast",
                                                  "--descent-rate", 0.3, "--out", "c", code=2)
    assert "no meaning for --sampler descent" in run(*sampling, "--h0", 0.1, "--out", "c", code=2)
    assert not os.path.exists("c")
print("extension: all is as it should be")
