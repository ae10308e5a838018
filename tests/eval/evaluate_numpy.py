"""mdsm classifier and mdsm evaluate as a user meets them; every measure against plain float64 NumPy on the features
that mdsm saved, and .npz files exchanged with NumPy in both directions."""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

MDSM = os.path.abspath(sys.argv[1])
ENVIRONMENT = {**os.environ, "OMP_WAIT_POLICY": "passive"}


def run(*arguments):
    result = subprocess.run([MDSM, *map(str, arguments)], capture_output=True, env=ENVIRONMENT, timeout=200)
    assert result.returncode == 0, (arguments, result.stderr.decode())
    return json.loads(result.stdout)


def close(found, wanted, relative=1e-6):
    assert abs(found - wanted) <= relative * abs(wanted), (found, wanted)


def make_images(rng, n, contrast):
    """Squares at four places on noise; the place is the class."""
    x = rng.uniform(0, 0.3, (n, 16, 16))
    labels = rng.integers(0, 4, n)
    for i, label in enumerate(labels):
        top, left = 2 + 8 * (label // 2) + rng.integers(0, 3), 2 + 8 * (label % 2) + rng.integers(0, 3)
        x[i, top:top + 4, left:left + 4] = contrast
    return (x * 255).astype(np.uint8), labels.astype(np.uint8)


def write_idx(folder, name, x, labels):
    with open(os.path.join(folder, name + "-images-idx3-ubyte"), "wb") as file:
        file.write(np.array([0x803, *x.shape], ">i4").tobytes() + x.tobytes())
    with open(os.path.join(folder, name + "-labels-idx1-ubyte"), "wb") as file:
        file.write(np.array([0x801, len(labels)], ">i4").tobytes() + labels.tobytes())


def frechet(a, b):
    sigma_a, sigma_b = np.cov(a, rowvar=False), np.cov(b, rowvar=False)
    values, vectors = np.linalg.eigh(sigma_a)
    root = vectors @ np.diag(np.sqrt(np.maximum(values, 0))) @ vectors.T
    inner = np.linalg.eigvalsh(root @ sigma_b @ root)
    apart = a.mean(0) - b.mean(0)
    return (apart @ apart + np.trace(sigma_a) + np.trace(sigma_b) -
            2 * np.sqrt(np.maximum(inner, 0)).sum())


def inception_score(p, splits):
    scores = []
    for part in np.array_split(p, splits):
        mean = part.mean(0, keepdims=True)
        terms = np.where(part > 0, part * (np.log(np.maximum(part, 1e-300)) - np.log(np.maximum(mean, 1e-300))), 0)
        scores.append(np.exp(terms.sum(1).mean()))
    return np.mean(scores), np.std(scores, ddof=1) / np.sqrt(splits)


def kernel_distance(a, b):
    def kernel(x, y):
        return (x @ y.T / x.shape[1] + 1) ** 3
    m = len(a)
    aa, bb, ab = kernel(a, a), kernel(b, b), kernel(a, b)
    return (aa.sum() - np.trace(aa) + bb.sum() - np.trace(bb)) / (m * (m - 1)) - 2 * ab.mean()


def precision(real, asked, k=3):
    def distances(x, y):
        return ((x[:, None] - y[None]) ** 2).sum(2)
    radius = np.sort(distances(real, real), axis=1)[:, k]
    return (distances(asked, real) <= radius).any(1).mean()


with tempfile.TemporaryDirectory() as root:
    rng = np.random.default_rng(0)
    data = os.path.join(root, "data")
    os.makedirs(data)
    write_idx(data, "train", *make_images(rng, 600, 1.0))
    held_out = make_images(rng, 200, 1.0)
    write_idx(data, "t10k", *held_out)
    samples = os.path.join(root, "samples.npy")
    np.save(samples, make_images(rng, 300, 0.7)[0].astype(np.float32) / 255)
    classifier, stats, features = (os.path.join(root, name) for name in ("c.safetensors", "s.npz", "features"))

    trained = run("classifier", "--data", data, "--width", 4, "--hidden", 12, "--epochs", 5, "--batch", 32, "--lr",
                  5e-3, "--full", "--out", classifier, "--json")
    assert trained["test"]["rate"] > 0.95, trained
    again = run("classifier", "--data", data, "--measure", classifier, "--json")
    assert again["test"] == trained["test"] and again["info"]["accuracy"] == trained["test"]

    common = ["--samples", samples, "--classifier", classifier, "--json"]
    found = run("evaluate", *common, "--data", data, "--kid-subsets", 3, "--kid-size", 300, "--subset", 300,
                "--save-statistics", stats, "--save-features", features, "--out", os.path.join(root, "out.json"))
    a, b, p = (np.load(os.path.join(features, name)).astype(np.float64) for name in
               ("samples-features.npy", "reference-features.npy", "samples-probabilities.npy"))
    assert a.shape == (300, 12) and b.shape == (300, 12) and p.shape == (300, 10)
    assert found["fid"]["value"] > 0.1, found["fid"]
    close(found["fid"]["value"], frechet(a, b))
    score, error = inception_score(p, 10)
    close(found["inception_score"]["value"], score)
    close(found["inception_score"]["standard_error"], error)
    counts = np.bincount(p.argmax(axis=1), minlength=10)
    assert np.abs(np.array(found["classes"]["shares"]) - counts / 300).max() < 1e-9, (found["classes"], counts)
    assert len(found["classes"]["shares_reference"]) == 10, found["classes"]
    assert 0 < found["classes"]["doubtful"] < 1, found["classes"]
    close(found["classes"]["doubtful"], np.mean(p.max(axis=1) < np.float32(0.8)))
    real = np.load(os.path.join(features, "reference-probabilities.npy"))
    close(found["classes"]["doubtful_reference"], np.mean(real.max(axis=1) < np.float32(0.8)))
    close(found["kid"]["value"], kernel_distance(a, b))  # all images in every subset
    assert found["precision_recall"]["precision"] == precision(b, a), found["precision_recall"]
    assert found["precision_recall"]["recall"] == precision(a, b), found["precision_recall"]
    with open(os.path.join(root, "out.json"), encoding="utf8") as file:
        assert json.load(file) == found
    print({name: found[name] for name in ("fid", "inception_score", "kid", "precision_recall")})

    # Real images beside it: all of the other split, as there are fewer than samples, measured as samples are.
    np.save(os.path.join(root, "real.npy"), held_out[0].astype(np.float32) / 255)
    by_hand = run("evaluate", "--samples", os.path.join(root, "real.npy"), "--classifier", classifier, "--json", "--data", data,
                  "--subset", 300, "--no-real")
    assert "real" not in by_hand and found["real"]["n"] == 200 and found["real"]["split"] == "test", found["real"]
    close(found["real"]["fid"], by_hand["fid"]["value"])

    # Statistics: ours in NumPy, NumPy's (plain, compressed as pytorch-fid saves them, and float32) in mdsm.
    with np.load(stats) as file:
        assert file["mu"].dtype == file["sigma"].dtype == np.float64 and file["n"] == 300
        np.testing.assert_allclose(file["mu"], b.mean(0), rtol=1e-12)
        np.testing.assert_allclose(file["sigma"], np.cov(b, rowvar=False), rtol=1e-9, atol=1e-12)
    for save, kind, tolerance in ((np.savez, np.float64, 1e-9), (np.savez_compressed, np.float64, 1e-9),
                                  (np.savez, np.float32, 1e-4)):
        save(os.path.join(root, "numpy.npz"), mu=b.mean(0).astype(kind), sigma=np.cov(b, rowvar=False).astype(kind))
        by_file = run("evaluate", *common, "--statistics", os.path.join(root, "numpy.npz"))
        close(by_file["fid"]["value"], found["fid"]["value"], tolerance)
        assert "kid" not in by_file and "kid" in by_file["left_out"] and by_file["fid"]["n_reference"] is None
    for n in (300, np.int32(300), np.array([300.0]), np.array(300, np.uint64)):
        np.savez(os.path.join(root, "numpy.npz"), mu=b.mean(0), sigma=np.cov(b, rowvar=False), n=n)
        assert run("evaluate", *common, "--statistics", os.path.join(root, "numpy.npz"))["fid"]["n_reference"] == 300
    np.savez(os.path.join(root, "numpy.npz"), mu=b.mean(0), sigma=-np.cov(b, rowvar=False))
    refused = subprocess.run([MDSM, "evaluate", *common, "--statistics", os.path.join(root, "numpy.npz")],
                             capture_output=True, env=ENVIRONMENT, timeout=200)
    assert refused.returncode == 1 and b"no covariance" in refused.stderr, refused

    # Subsets smaller than the sets: their mean is the value of the whole sets, their deviation that of NumPy's.
    small = run("evaluate", *common, "--data", data, "--subset", 300, "--kid-subsets", 300, "--kid-size", 25)["kid"]
    draws = [kernel_distance(a[rng.permutation(300)[:25]], b[rng.permutation(300)[:25]]) for _ in range(300)]
    assert small["subset_size"] == 25 and small["subsets"] == 300
    assert abs(small["value"] - kernel_distance(a, b)) < 4 * small["standard_error"], (small, kernel_distance(a, b))
    close(small["standard_error"], small["standard_deviation"] / np.sqrt(300))
    close(small["standard_deviation"], np.std(draws, ddof=1), 0.2)

    # Three images as the channels of one, taken apart again, are the same three images.
    stacked = os.path.join(root, "stacked.npy")
    np.save(stacked, np.load(samples).reshape(100, 3, 16, 16))
    by_channel = run("evaluate", "--samples", stacked, "--classifier", classifier, "--data", data, "--subset", 300,
                     "--kid-subsets", 3, "--kid-size", 300, "--colour", "apart", "--json")
    for measure in ("fid", "inception_score", "classes", "kid", "precision_recall"):
        assert by_channel[measure] == found[measure], (measure, by_channel[measure], found[measure])
    near = [run("neighbours", file, "--data", data, "--no-held-out", "--colour", colour, "-k", 2, "--out",
                os.path.join(root, "near-" + colour), "--json") for file, colour in ((samples, "keep"), (stacked, "apart"))]
    assert [one["n_samples"] for one in near] == [300, 300], near
    lists = []
    for colour in ("keep", "apart"):
        with open(os.path.join(root, "near-" + colour, "neighbours.json"), encoding="utf8") as file:
            lists.append(json.load(file)["neighbours"])
    assert lists[0] == lists[1]
    refused = subprocess.run([MDSM, "evaluate", "--checkpoints", root, "--data", data, "--colour", "apart"],
                             capture_output=True, env=ENVIRONMENT, timeout=200)
    assert refused.returncode == 2 and b"--colour apart with --checkpoints" in refused.stderr, refused

    # Checkpoints: the last of a tiny run and its snapshots, with the same seeds; the best has the lowest FID.
    run_folder = os.path.join(root, "runs")
    subprocess.run([MDSM, "train", "--data", data, "--net", "res6", "--width", "4", "--batch", "4", "--steps", "4",
                    "--snapshot-every", "2", "--preview-every", "0", "--out", run_folder], check=True,
                   capture_output=True, env=ENVIRONMENT, timeout=200)
    folder = os.path.join(run_folder, os.listdir(run_folder)[0])
    scored = run("evaluate", "--checkpoints", folder, "-n", 12, "--sampler", "fast", "--steps", 5, "--data", data,
                 "--classifier", classifier, "--kid-subsets", 2, "--json", "--threads", 1)
    rows = scored["checkpoints"]
    assert [row["checkpoint"] for row in rows] == ["ema-000002.safetensors", "ema-000004.safetensors",
                                                   "ema.safetensors"], rows
    best = min(rows, key=lambda row: row["fid"]["value"])
    assert scored["best"] == best["checkpoint"] and [row["checkpoint"] for row in rows if row["best"]] == [scored["best"]]
    close(rows[1]["fid"]["value"], rows[2]["fid"]["value"])  # the same weights
    assert scored["samples"] == {"n": 12, "seeds": "0-11"}
    print([(row["checkpoint"], row["fid"]["value"], row["best"]) for row in rows])

    # One damaged checkpoint costs its own row; the others are kept, in the file as well. Measures that need more
    # images than there are left out, and the text says how samples were drawn.
    with open(os.path.join(folder, "ema-000004.safetensors"), "wb") as file:
        file.write(b"half a thought")
    out = os.path.join(root, "rows.json")
    arguments = [MDSM, "evaluate", "--checkpoints", folder, "-n", "3", "--sampler", "fast", "--steps", "5", "--data", data,
                 "--classifier", classifier, "--kid-size", "5", "--threads", "1", "--out", out]
    result = subprocess.run(arguments, capture_output=True, text=True, env=ENVIRONMENT, timeout=200)
    assert result.returncode == 1 and "not every checkpoint" in result.stderr, result
    for words in ("failed: ", "sampler fast", "steps 5", "left out: needs 5 images", " +- ", "seeds 0-2"):
        assert words in result.stdout, (words, result.stdout)
    with open(out, encoding="utf8") as file:
        kept = json.load(file)
    assert ["failed" in row for row in kept["checkpoints"]] == [False, True, False] and not kept["complete"], kept
    assert kept["best"] in ("ema-000002.safetensors", "ema.safetensors"), kept
    assert set(kept["checkpoints"][0]["left_out"]) == {"kid", "precision_recall"}, kept

    # What does not fit is said before anything is drawn, and no file is replaced without --force.
    os.makedirs(os.path.join(root, "kept"))
    with open(os.path.join(root, "kept", "reference-features.npy"), "wb") as file:
        file.write(b"mine")
    five = os.path.join(root, "five.npz")
    np.savez(five, mu=np.zeros(5), sigma=np.eye(5))
    for more, words in ((["--statistics", five], "12 dimensions, but a reference of 5"),
                        (["--data", data, "--save-features", os.path.join(root, "kept")], "exists already")):
        result = subprocess.run([MDSM, "evaluate", "--checkpoints", folder, "-n", "1000000", "--classifier", classifier,
                                 *more],
                                capture_output=True, text=True, env=ENVIRONMENT, timeout=100)
        assert result.returncode == 1 and words in result.stderr, result
