"""The same 20 steps in plain PyTorch: network, double backpropagation and Adam written here from the paper's
formulas, fed with the batches that dump_run used. The losses must agree to 1e-3. Exit code 77 = no torch."""
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
    import torch.nn.functional as F
except ImportError:
    print("skipped: PyTorch is not installed")
    sys.exit(77)
if not os.path.isdir("/usr/share/datasets/fashion-mnist"):
    print("skipped: Debian's dataset-fashion-mnist is not installed")
    sys.exit(77)

torch.set_num_threads(1)  # small layers: threads cost more than they give, most of all on a busy machine
BLOCKS = {"res6": "rb1 rb2 rb3", "res12": "rb1 rbc1 rb2 rbc2 rb3 rbc3"}
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


def energy(p, network, x):
    h = F.conv2d(x, p["conv1.conv.weight"], p["conv1.conv.bias"], padding=1)
    for block in BLOCKS[network].split():
        down = not block.startswith("rbc")
        inner = ".conv.conv" if down else ".conv"
        u = F.conv2d(F.elu(h), p[block + ".conv_1.conv.weight"], padding=1)
        y = F.conv2d(F.elu(u), p[block + ".conv_2" + inner + ".weight"], p[block + ".conv_2" + inner + ".bias"],
                     padding=1)
        s = F.avg_pool2d(h, 2) if down else h
        s = F.conv2d(s, p[block + ".conv_shortcut" + inner + ".weight"],
                     p[block + ".conv_shortcut" + inner + ".bias"])
        h = (F.avg_pool2d(y, 2) if down else y) + s
    h = h.flatten(1)
    linear = lambda name, v: F.linear(v, p[name + ".weight"], p[name + ".bias"])
    return (linear("ln1", h) * linear("ln2", h) + linear("lq", h * h)).squeeze(1)


def train(folder, network):
    p = {name: t.requires_grad_() for name, t in read_safetensors(folder + "/initial.safetensors").items()}
    adam = torch.optim.Adam(p.values(), lr=LR, betas=(0.9, 0.95))
    sigma = torch.from_numpy(np.load(folder + "/sigma.npy"))
    assert np.allclose(sigma.numpy(), np.geomspace(0.1, 3, len(sigma)), rtol=1e-6)
    losses = []
    for step in range(STEPS):
        clean = torch.from_numpy(np.load(f"{folder}/clean{step}.npy"))
        noisy = torch.from_numpy(np.load(f"{folder}/noisy{step}.npy")).requires_grad_()
        (grad_x,) = torch.autograd.grad(energy(p, network, noisy).sum(), noisy, create_graph=True)
        residual = (clean - noisy + SIGMA0**2 * grad_x).flatten(1).pow(2).sum(1)
        loss = (residual / sigma**2).mean()
        for group in adam.param_groups:
            group["lr"] = LR_FINAL + (LR - LR_FINAL) * (1 + math.cos(math.pi * step / STEPS)) / 2
        adam.zero_grad()
        (loss / SIGMA0**4).backward()  # the authors' scale, which Adam's epsilon of 1e-8 belongs to
        norm = SIGMA0**4 * math.sqrt(sum(t.grad.pow(2).sum().item() for t in p.values() if t.grad is not None))
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
