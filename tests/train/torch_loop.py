"""The same 20 steps in plain PyTorch: double backpropagation and Adam written here from the paper's formulas, with the
network of python/mdsm_torch.py, fed with the batches that dump_run used. The losses must agree to 1e-3. Exit code 77 = no torch."""
import json
import math
import os
import struct
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import torch
except ImportError:
    print("skipped: PyTorch is not installed")
    sys.exit(77)

sys.path.append(os.path.join(os.path.dirname(__file__), "../../python"))
from mdsm_torch import Energy
if not os.path.isdir("/usr/share/datasets/fashion-mnist"):
    print("skipped: Debian's dataset-fashion-mnist is not installed")
    sys.exit(77)

torch.set_num_threads(1)  # small layers: threads cost more than they give, most of all on a busy machine
SIGMA0, STEPS, LR, LR_FINAL, TOLERANCE = 0.1, 20, 1e-3, 1e-6, 1e-3


def read_safetensors(path):
    with open(path, "rb") as f:
        raw = f.read()
    length = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:8 + length])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + length + o for o in entry["data_offsets"])
        tensors[name] = torch.from_numpy(np.frombuffer(raw[begin:end], "<f4").reshape(entry["shape"]).copy())
    return tensors


def train(folder, network):
    weights = read_safetensors(folder + "/initial.safetensors")
    clean = np.load(f"{folder}/clean0.npy")
    net = Energy(network, weights["conv1.conv.bias"].numel(), clean.shape[1], clean.shape[2])
    net.load_state_dict(weights)
    adam = torch.optim.Adam(net.parameters(), lr=LR, betas=(0.9, 0.95))
    sigma = torch.from_numpy(np.load(folder + "/sigma.npy"))
    assert np.allclose(sigma.numpy(), np.geomspace(0.1, 3, len(sigma)), rtol=1e-6)
    losses = []
    for step in range(STEPS):
        clean = torch.from_numpy(np.load(f"{folder}/clean{step}.npy"))
        noisy = torch.from_numpy(np.load(f"{folder}/noisy{step}.npy")).requires_grad_()
        (grad_x,) = torch.autograd.grad(net(noisy).sum(), noisy, create_graph=True)
        residual = (clean - noisy + SIGMA0**2 * grad_x).flatten(1).pow(2).sum(1)
        loss = (residual / sigma**2).mean()
        for group in adam.param_groups:
            group["lr"] = LR_FINAL + (LR - LR_FINAL) * (1 + math.cos(math.pi * step / STEPS)) / 2
        adam.zero_grad()
        (loss / SIGMA0**4).backward()  # the authors' scale, which Adam's epsilon of 1e-8 belongs to
        norm = SIGMA0**4 * math.sqrt(sum(t.grad.pow(2).sum().item() for t in net.parameters() if t.grad is not None))
        adam.step()
        losses.append((loss.item(), norm))
    return losses


def main(dump_run):
    worst = 0.0
    for network in ("res6", "res12"):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([dump_run, folder, network, "8"], check=True)
            ours = [tuple(map(float, line.split())) for line in open(folder + "/losses.txt")]
            theirs = train(folder, network)
        assert len(ours) == STEPS, f"{len(ours)} steps instead of {STEPS}"
        assert theirs[-1][0] < theirs[0][0], "20 steps did not lower the loss: this compares nothing"
        error = max(abs(a / b - 1) for o, t in zip(ours, theirs) for a, b in zip(o, t))
        print(f"{network}: loss {ours[0][0]:.2f} -> {ours[-1][0]:.2f}, "
              f"largest relative difference of loss or gradient norm {error:.2e}")
        worst = max(worst, error)
    return 0 if worst <= TOLERANCE else 1


sys.exit(main(sys.argv[1]))
