"""Feature networks in TorchScript files, made here by PyTorch, through the whole of mdsm evaluate: Inception-v3 as
torchvision lays it out, with random weights and the calling convention of the field's file; and plain networks. What
mdsm computes is compared with PyTorch's features of the same images and with NumPy on them."""
import json
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import torch
    import torch.nn.functional as F
    from torch import nn
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
try:
    import torchvision
except ImportError:
    torchvision = None

MDSM = os.path.abspath(sys.argv[1])
ENVIRONMENT = {**os.environ, "OMP_WAIT_POLICY": "passive"}
torch.manual_seed(0)


class Body(nn.Module):
    """Inception-v3 up to its 2048 features, or a small stand-in where torchvision is not installed."""
    def __init__(self):
        super().__init__()
        if torchvision is None:
            self.layers = nn.Sequential(nn.Conv2d(3, 32, 9, 9), nn.ReLU(), nn.Conv2d(32, 2048, 5, 5), nn.ReLU())
        else:
            net = torchvision.models.inception_v3(weights=None, init_weights=False, aux_logits=False,
                                                  transform_input=False)
            names = ("Conv2d_1a_3x3 Conv2d_2a_3x3 Conv2d_2b_3x3 maxpool1 Conv2d_3b_1x1 Conv2d_4a_3x3 maxpool2 Mixed_5b "
                     "Mixed_5c Mixed_5d Mixed_6a Mixed_6b Mixed_6c Mixed_6d Mixed_6e Mixed_7a Mixed_7b Mixed_7c")
            self.layers = nn.Sequential(*(getattr(net, name) for name in names.split()))

    def forward(self, x):
        return self.layers(x).mean((2, 3))


class Inception(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = Body()
        self.output = nn.Linear(2048, 1008)
        self.register_buffer("centre", torch.zeros(2048))  # so that the classes of images differ
        self.register_buffer("scale", torch.ones(1))

    def forward(self, img, return_features: bool = False, use_fp16: bool = False, no_output_bias: bool = False):
        assert img.dtype == torch.uint8 and img.shape[1] == 3
        x = F.interpolate(img.to(torch.float32), size=[299, 299], mode="bilinear", align_corners=False)
        features = self.body((x - 128) / 128)
        if return_features:
            return features
        logits = F.linear((features - self.centre) * self.scale, self.output.weight)
        if not no_output_bias:
            logits = logits + 1000 * self.output.bias  # far off, so that a wrong call shows
        return F.softmax(logits, dim=1)


class Plain(nn.Module):
    def __init__(self, probabilities: bool):
        super().__init__()
        self.layer = nn.Linear(3, 5)
        self.both = probabilities

    def forward(self, x):
        return self.layer(x.mean((2, 3)) / 255)


class Pair(Plain):
    def forward(self, x):
        features = self.layer(x.mean((2, 3)) / 255)
        return features, F.softmax(features, dim=1)


def run(*arguments, code=0):
    result = subprocess.run([MDSM, *map(str, arguments)], capture_output=True, env=ENVIRONMENT, timeout=500)
    assert result.returncode == code, (arguments, result.stderr.decode())
    return json.loads(result.stdout) if code == 0 else result.stderr.decode()


def frechet(a, b):
    """The trace of the root as a nuclear norm, which holds up where there are fewer images than features."""
    apart, x, y = a.mean(0) - b.mean(0), a - a.mean(0), b - b.mean(0)
    scale = np.sqrt((len(a) - 1) * (len(b) - 1))
    return (apart @ apart + (x ** 2).sum() / (len(a) - 1) + (y ** 2).sum() / (len(b) - 1) -
            2 * np.linalg.svd(x @ y.T / scale, compute_uv=False).sum())


def kernel_distance(a, b):
    def kernel(x, y):
        return (x @ y.T / x.shape[1] + 1) ** 3
    m = len(a)
    aa, bb, ab = kernel(a, a), kernel(b, b), kernel(a, b)
    return (aa.sum() - np.trace(aa) + bb.sum() - np.trace(bb)) / (m * (m - 1)) - 2 * ab.mean()


def close(found, wanted, relative):
    assert abs(found - wanted) <= relative * abs(wanted), (found, wanted)


with tempfile.TemporaryDirectory() as root:
    def path(name):
        return os.path.join(root, name)

    rng = np.random.default_rng(1)
    reference = rng.integers(0, 256, (14, 32, 32), dtype=np.uint8)  # grey
    samples = np.clip(reference[:10] + rng.normal(0, 40, (10, 32, 32)), 0, 255) / 255
    np.save(path("reference.npy"), reference)
    np.save(path("samples.npy"), samples.astype(np.float32))
    net = Inception()
    for layer in net.modules():
        if isinstance(layer, nn.BatchNorm2d):
            layer.momentum = 1.0
    with torch.no_grad():  # normalisation that fits the images, so that features differ
        net.body(torch.rand(8, 3, 299, 299) * 2 - 1)
    net.eval()
    with torch.no_grad():
        features = net(torch.tensor(reference)[:, None].repeat(1, 3, 1, 1), return_features=True)
        net.centre.copy_(features.mean(0))
        net.scale.copy_(2 / F.linear(features - net.centre, net.output.weight).std())
    torch.jit.script(net).save(path("inception.pt"))

    found = run("evaluate", "--samples", path("samples.npy"), "--data", path("reference.npy"), "--features",
                path("inception.pt"), "--batch", 6, "--splits", 2, "--kid-subsets", 2, "--kid-size", 10, "--subset", 10,
                "--save-features", path("features"), "--json")
    a, b, p = (np.load(path("features/" + name + ".npy")).astype(np.float64)
               for name in ("samples-features", "reference-features", "samples-probabilities"))
    assert a.shape == b.shape == (10, 2048) and p.shape == (10, 1008), (a.shape, p.shape)
    with torch.no_grad():
        bytes_of = torch.tensor(np.rint(samples.astype(np.float32) * 255).astype(np.uint8))[:, None].repeat(1, 3, 1, 1)
        wanted = net(bytes_of, return_features=True).numpy()
        # Of the program's own features: this network's softmax makes more of their rounding than a tolerance should.
        layer = net.output.weight.double().T
        wanted_p = F.softmax(((torch.tensor(a) - net.centre) * net.scale) @ layer, dim=1).numpy()
    assert wanted.std(0).max() > 1e-3, "the features do not differ"
    assert np.abs(a - wanted).max() < 1e-4 * np.abs(wanted).max(), np.abs(a - wanted).max()
    assert np.abs(p - wanted_p).max() < 1e-5, np.abs(p - wanted_p).max()
    close(found["fid"]["value"], frechet(a, b), 1e-6)
    close(found["kid"]["value"], kernel_distance(a, b), 1e-6)
    scores = [np.exp((q * (np.log(q) - np.log(q.mean(0)))).sum(1).mean()) for q in (p[:5], p[5:])]
    close(found["inception_score"]["value"], np.mean(scores), 1e-6)
    assert found["features"]["dimensions"] == 2048 and "no_output_bias" in found["features"]["convention"]
    print("torchvision" if torchvision else "small network", found["fid"]["value"], found["kid"]["value"],
          found["inception_score"]["value"])

    common = ("evaluate", "--samples", path("samples.npy"), "--data", path("reference.npy"), "--json", "--kid-subsets", 1)
    torch.jit.script(Plain(False)).save(path("plain.pt"))
    plain = run(*common, "--features", path("plain.pt"), "--feature-resize", 16)
    assert plain["features"]["dimensions"] == 5 and "inception_score" in plain["left_out"], plain
    assert "16x16" in plain["features"]["resize"]
    torch.jit.script(Pair(True)).save(path("pair.pt"))
    assert run(*common, "--features", path("pair.pt"))["inception_score"]["n"] == 10
    torch.jit.script(nn.Flatten(0)).save(path("flat.pt"))
    assert "gives a tensor of 1 dimensions" in run(*common, "--features", path("flat.pt"), code=1)
    with open(path("text.pt"), "w", encoding="utf8") as file:
        file.write("not a network")
    assert run(*common, "--features", path("text.pt"), code=1).endswith("a state dict of torch.save has weights, but no network\n")
