"""The classifier's outputs and gradient against the same network in PyTorch, on weights that mdsm wrote."""
import json
import os
import struct
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import torch
    import torch.nn.functional as F
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)


def read_safetensors(path):
    with open(path, "rb") as file:
        content = file.read()
    size = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8:8 + size])
    metadata = header.pop("__metadata__")
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        values = np.frombuffer(content[8 + size + begin:8 + size + end], "<f4").reshape(entry["shape"])
        tensors[name] = torch.tensor(values.astype(np.float64), requires_grad=True)
    return metadata, tensors


def largest_difference(a, b):
    return float(np.abs(a - b).max() / np.abs(b).max())


with tempfile.TemporaryDirectory() as folder:
    loss = float(subprocess.run([sys.argv[1], folder], check=True, capture_output=True).stdout)
    metadata, weights = read_safetensors(os.path.join(folder, "classifier.safetensors"))
    spec = json.loads(metadata["spec"])

    def load(name):
        return np.load(os.path.join(folder, name + ".npy")).astype(np.float64)

    x = (torch.tensor(load("x")) - spec["mean"]) / spec["deviation"]
    for i in (1, 2, 3):
        x = F.max_pool2d(F.relu(F.conv2d(x, weights[f"conv{i}.weight"], weights[f"conv{i}.bias"], padding=1)), 2)
    features = F.relu(F.linear(x.flatten(1), weights["features.weight"], weights["features.bias"]))
    logits = F.linear(features, weights["classes.weight"], weights["classes.bias"])
    labels = torch.tensor([0, 1, 2, 3, 4, 0, 1])
    total = F.cross_entropy(logits, labels, reduction="sum")
    total.backward()
    order = [f"conv{i}.{kind}" for i in (1, 2, 3) for kind in ("weight", "bias")]
    order += ["features.weight", "features.bias", "classes.weight", "classes.bias"]
    gradient = np.concatenate([weights[name].grad.numpy().ravel() for name in order])

    found = {"features": largest_difference(load("features"), features.detach().numpy()),
             "probabilities": largest_difference(load("probabilities"), logits.softmax(1).detach().numpy()),
             "gradient": largest_difference(load("gradient"), gradient),
             "loss": abs(loss - total.item()) / total.item()}
    print(found)
    assert features.detach().numpy().max() > 0 and np.abs(gradient).max() > 0
    assert all(value < 2e-5 for value in found.values()), found
