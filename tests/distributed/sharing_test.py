"""Samples, measures and denoised pictures of several processes are those of one, bit for bit."""
import json
import os
import tempfile

from folders import check_same
from ranks import finish, run_alone, run_ranks, skip_without_module, start_ranks


def sample(out, *more):
    return ["sample", "--model", "fashion-mnist", "--out", out, "--threads", "1", *more]


def check_samples(folder):
    more = ["--seeds", "0-8,20,15", "--sampler", "multistep", "--each"]
    one, two, rest = (os.path.join(folder, name) for name in ("one", "two", "rest"))
    run_alone(sample(one, *more))
    run_ranks(2, sample(two, *more))
    files = check_same(one, two, "samples of 2 processes")
    assert files > 11
    run_ranks(3, sample(rest, *more, "--batch", "1", "--trajectory"))
    run_alone(sample(os.path.join(folder, "shown"), *more, "--trajectory"))
    check_same(os.path.join(folder, "shown"), rest, "samples of 3 processes with their ways")
    # The rest of the seeds, drawn later by another number of processes.
    later = os.path.join(folder, "later")
    run_ranks(2, sample(later, "--seeds", "0-5", "--sampler", "multistep", "--each"))
    run_ranks(3, sample(later, "--seeds", "0-8,15,20", "--sampler", "multistep", "--each", "--resume"))
    whole = os.path.join(folder, "whole")
    run_alone(sample(whole, "--seeds", "0-8,15,20", "--sampler", "multistep", "--each"))
    check_same(whole, later, "samples gone on with by 3 processes")
    # A rank that was asked for something else.
    found = finish(start_ranks(2, sample(os.path.join(folder, "no"), *more), own={1: sample("x", "--seeds", "0-3")}))
    assert all(code == 2 and "rank 1 has another list of seeds" in err for code, _, err in found), found
    assert not os.path.exists(os.path.join(folder, "no"))
    return one


def check_evaluation(folder, samples):
    call = ["evaluate", "--samples", os.path.join(samples, "images"), "--data", "fashion-mnist", "--split", "test", "--subset",
            "100", "--json", "--threads", "1"]
    one, three = json.loads(run_alone(call)), json.loads(run_ranks(3, call))
    assert one == three, (one, three)
    assert one["fid"]["value"] > 0
    return one["fid"]["value"]


def check_denoising(folder, samples):
    def call(out, *more):
        return ["denoise", os.path.join(samples, "images"), "--model", "fashion-mnist", "--out", os.path.join(folder, out),
                "--threads", "1", "--batch", "2", *more]

    for more in ([], ["--add-noise", "0.2"]):
        name = "clean" + "".join(more)
        run_alone(call(name, *more))
        run_ranks(2, call(name + "2", *more))
        check_same(os.path.join(folder, name), os.path.join(folder, name + "2"), "pictures of 2 processes")


def main():
    skip_without_module()
    with tempfile.TemporaryDirectory() as folder:
        samples = check_samples(folder)
        fid = check_evaluation(folder, samples)
        check_denoising(folder, samples)
        print(f"samples of 1, 2 and 3 processes, FID {fid!r} of 1 and 3, pictures of 1 and 2: the same bits")


main()
