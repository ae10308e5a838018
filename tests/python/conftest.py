"""What the tests of the Python module share: the program beside it, a small U-Net, images."""
import os
import subprocess

import numpy
import pytest

import mdsm

PROGRAM = os.environ["MDSM_PROGRAM"]


@pytest.fixture(scope="session", autouse=True)
def two_threads():
    mdsm.set_threads(2)


@pytest.fixture(scope="session")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("program")

    def run(*words):
        return subprocess.run([PROGRAM, *map(str, words)], cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout

    run.folder = folder
    return run


@pytest.fixture(scope="session")
def clothes():
    return mdsm.data("fashion-mnist", split="test", limit=300)


@pytest.fixture(scope="session")
def unet(program, clothes):
    """The folder of a short run of the program."""
    numpy.save(program.folder / "clothes.npy", clothes[:128])
    program("train", "--data", "clothes.npy", "--net", "unet", "--width", 8, "--levels", 2, "--batch", 16, "--steps", 6, "--threads", 2,
            "--preview-every", 0, "--out", "runs")
    return str(next((program.folder / "runs").iterdir()))
