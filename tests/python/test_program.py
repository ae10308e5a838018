"""What the module gives, against the command line: the same bits."""
import json
import subprocess
import sys

import numpy
import pytest

import mdsm
from conftest import PROGRAM


@pytest.fixture(scope="module")
def model():
    return mdsm.load("fashion-mnist")


def test_energies(program, model, clothes):
    numpy.save(program.folder / "some.npy", clothes[:20])
    program("energy", "--model", "fashion-mnist", "--data", "some.npy", "--out", "energies.npy", "--threads", 2)
    assert numpy.array_equal(model.energy(clothes[:20]), numpy.load(program.folder / "energies.npy"))
    energies, gradients = model.energy_and_gradient(clothes[:20])
    assert numpy.allclose(energies, model.energy(clothes[:20]), rtol=1e-6) and gradients.shape == (20, 1, 32, 32)


@pytest.mark.parametrize("sampler, options", [("multistep", {"churn": 8}), ("fast", {"h0": 0.1})])
def test_samples(program, model, sampler, options):
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    program("sample", "--model", "fashion-mnist", "--seeds", "5-8", "--sampler", sampler, *words, "--out", sampler, "--threads", 2)
    images = model.sample(4, sampler=sampler, seeds=range(5, 9), **options)
    assert numpy.array_equal(images, numpy.load(program.folder / sampler / "samples.npy"))


def test_samples_of_another_size(program, unet):
    program("sample", "--model", unet, "-n", 2, "--size", "40x24", "--out", "wide", "--threads", 2)
    model = mdsm.load(unet)
    assert model.any_size
    images = model.sample(2, size=(24, 40))
    assert images.shape == (2, 1, 24, 40) and numpy.array_equal(images, numpy.load(program.folder / "wide/samples.npy"))


def test_denoised_pictures(program, model, clothes):
    noisy = numpy.clip(clothes[0] + 0.3 * numpy.random.default_rng(0).standard_normal((1, 32, 32)), 0, 1)
    mdsm.write_png(program.folder / "noisy.png", noisy)
    given = mdsm.read_picture(program.folder / "noisy.png")
    clean, noise = model.denoise(given)
    told = json.loads(program("denoise", "noisy.png", "--model", "fashion-mnist", "--out", "clean", "--json", "--threads", 2))
    mdsm.write_png(program.folder / "ours.png", clean)
    assert numpy.array_equal(mdsm.read_picture(program.folder / "ours.png"), mdsm.read_picture(program.folder / "clean/noisy.png"))
    assert noise == told["pictures"][0]["noise_level"]


def test_completions(program, model, clothes):
    mdsm.write_png(program.folder / "whole.png", clothes[1])
    program("inpaint", "whole.png", "--model", "fashion-mnist", "--box", "8,8,16,16", "-n", 2, "--sampler", "fast", "--out", "filled",
            "--threads", 2)
    known = numpy.ones((32, 32), bool)
    known[8:24, 8:24] = False
    filled = model.inpaint(mdsm.read_picture(program.folder / "whole.png"), known, n=2, sampler="fast")
    assert filled.shape == (2, 1, 32, 32)
    for number, image in enumerate(filled, 1):
        mdsm.write_png(program.folder / "ours.png", image)
        theirs = mdsm.read_picture(program.folder / f"filled/whole-{number}.png")
        assert numpy.array_equal(mdsm.read_picture(program.folder / "ours.png"), theirs)


def test_training(program, unet, tmp_path):
    """From the file, from the array, stopped and gone on with: the weights of the program's run."""
    told = []
    options = dict(net="unet", width=8, levels=2, batch=16, steps=6, preview_every=0, outdir=str(tmp_path))
    by_name = mdsm.train(str(program.folder / "clothes.npy"), callback=lambda *report: told.append(report), **options)
    assert by_name.finished and [report[:2] for report in told] == [(step, 6) for step in range(1, 7)]
    images = numpy.load(program.folder / "clothes.npy")
    stopped = mdsm.train(images, callback=lambda step, steps, loss: step < 3, **options)
    assert stopped.step == 3 and not stopped.finished
    by_array = mdsm.train(iter(images), resume=stopped.folder)
    for run in (by_name, by_array):
        ours, theirs = (mdsm.run("describe", model=path) for path in (run.model_file, unet))
        assert ours["parameters"] == theirs["parameters"]
        x = images[:4]
        assert numpy.array_equal(run.load().energy(x), mdsm.load(unet).energy(x))


def test_detector(program, unet, clothes, tmp_path):
    numpy.save(program.folder / "good.npy", clothes[:200])
    numpy.save(program.folder / "new.npy", 1 - clothes[200:220])
    program("score", "--fit", "--model", unet, "--data", "good.npy", "--rate", 0.05, "--noise-levels", "0.1,0.3", "--out", "d.safetensors",
            "--threads", 2)
    told = json.loads(_anyway(program, "score", "--data", "new.npy", "--detector", "d.safetensors", "--format", "json", "--threads", 2))
    detector = mdsm.Detector.fit(mdsm.load(unet), clothes[:200], rate=0.05, levels=[0.1, 0.3])
    detector.save(tmp_path / "d.safetensors")
    for one in (detector, mdsm.Detector.load(tmp_path / "d.safetensors")):
        scores = one.score(1 - clothes[200:220])
        assert [score.score for score in scores] == [image["score"] for image in told["images"]]
    assert any(score.outlier for score in scores)


def _anyway(program, *words):
    """Outliers are exit code 3."""
    return subprocess.run([PROGRAM, *map(str, words)], cwd=program.folder, stdout=subprocess.PIPE, text=True).stdout


def test_measures(program, unet, clothes):
    numpy.save(program.folder / "a.npy", clothes[:150])
    numpy.save(program.folder / "good.npy", clothes[:200])
    told = json.loads(program("evaluate", "--samples", "a.npy", "--data", "good.npy", "--classifier", "fashion-mnist", "--json"))
    found = mdsm.evaluate(clothes[:150], clothes[:200], classifier="fashion-mnist")
    assert found["fid"] == told["fid"] and found["precision_recall"] == told["precision_recall"]
    told = json.loads(program("likelihood", "--model", unet, "--data", "a.npy", "--method", "denoising", "--nodes", 4, "--json", "--out", "l"))
    found = mdsm.likelihood(mdsm.load(unet), clothes[:150], nodes=4)
    for one in (found, told):
        for name in ("parameters", "images", "out", "wiener"):  # which name files
            one.pop(name)
    assert found == told


def test_program_of_the_package(program):
    said = subprocess.run([sys.executable, "-m", "mdsm", "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    assert said == program("--version")
    assert subprocess.run([sys.executable, "-m", "mdsm", "sing"], stderr=subprocess.DEVNULL).returncode == 2
