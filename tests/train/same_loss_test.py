"""2,000 steps on Fashion-MNIST by the native engine's two ways and by LibTorch, from the same seed, end at the same loss.

Rounding makes the weights of such runs drift apart until they have nothing in common but how good they are, so this
compares what training is for: the loss, averaged over the last 200 steps. The torch leg is left out where the build
has none. Exit code 77 = no data set. Takes minutes: label long."""
import os
import subprocess
import sys
import tempfile
import time

from run_tools import curve, the_run

PROGRAM, STEPS, LAST, TOLERANCE = sys.argv[1], 2000, 200, 0.01
LEGS = {"native": [], "native, exact": ["--exact"], "torch": ["--engine", "torch"]}

if not os.path.isdir("/usr/share/datasets/fashion-mnist"):
    print("skipped: Debian's dataset-fashion-mnist is not installed")
    sys.exit(77)


def final_loss(folder, arguments):
    """None where the engine is not there."""
    result = subprocess.run(
        [PROGRAM, "train", "--data", "fashion-mnist", "--net", "res12", "--width", "16", "--batch", "32", "--steps",
         str(STEPS), "--lr", "1e-3", "--seed", "0", "--stats-every", str(LAST), "--save-every", "0", "--preview-every",
         "0", "--out", folder, *arguments], stderr=subprocess.PIPE, text=True)
    if "MDSM_TORCH=ON" in result.stderr:
        return None
    assert result.returncode == 0, result.stderr
    lines = curve(the_run(folder))
    assert lines[-1]["step"] == STEPS and lines[-2]["step"] == STEPS - LAST, lines[-2:]
    print("  " + " ".join(f"{line['loss']:.2f}" for line in lines))
    return lines[-1]["loss"]  # the mean since the line before


losses = {}
with tempfile.TemporaryDirectory() as temporary:
    for name, arguments in LEGS.items():
        begin = time.time()
        loss = final_loss(os.path.join(temporary, name), arguments)
        print(f"{name}: {'not in this build' if loss is None else f'{loss:.3f}'}, {time.time() - begin:.0f} s", flush=True)
        if loss is not None:
            losses[name] = loss
spread = max(losses.values()) / min(losses.values()) - 1
print(f"largest over smallest: {1 + spread:.5f}")
assert min(losses.values()) < 200, "the networks have not learned anything that could be compared"
assert spread < TOLERANCE, losses
