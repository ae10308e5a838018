"""mdsm import, energy and export against PyTorch.

Builds small networks of the authors' shape in PyTorch, saves their state dicts in every form such files come
in, imports them, and compares energies and gradients with autograd's; then exports them and loads them back.
Usage: torch_state_dict.py PATH_OF_MDSM. Exit code 77 when torch is missing.
"""
import json
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import torch
    from torch import nn
except ImportError as error:
    print("skipped:", error)
    sys.exit(77)

sys.path.append(os.path.join(os.path.dirname(__file__), "../../python"))
from mdsm_torch import Energy, UnetEnergy

MDSM = sys.argv[1]
TOLERANCE = 1e-4


def run(*arguments, code=0):
    result = subprocess.run([MDSM, *map(str, arguments)], capture_output=True, text=True)
    assert result.returncode == code, f"{arguments}: exit {result.returncode}\n{result.stdout}{result.stderr}"
    return result.stdout + result.stderr


def save_forms(net, folder):
    """The same weights in every form; yields the file and whether unused entries are inside."""
    state = net.state_dict()
    parallel = nn.DataParallel(net).state_dict()
    forms = {
        "zip": (state, True),
        "legacy": (state, False),
        "parallel_zip": (parallel, True),
        "parallel_legacy": (parallel, False),
        "double": ({k: v.double() for k, v in state.items()}, True),
        "strided": ({k: v.transpose(0, -1).contiguous().transpose(0, -1) for k, v in state.items()}, True),
        "parameters": (dict(net.named_parameters()), True),
        "checkpoint": ({"netE": state, "step": 3, "lr": 1e-3, "losses": [1.0, 2.0]}, False),
    }
    for name, (content, as_zip) in forms.items():
        path = os.path.join(folder, name + ".pt")
        torch.save(content, path, _use_new_zipfile_serialization=as_zip)
        yield path
    for protocol in (3, 4, 5):
        path = os.path.join(folder, f"protocol{protocol}.pt")
        torch.save(state, path, pickle_protocol=protocol)
        yield path


def compare(net, model, images, folder):
    data, out, gradient = (os.path.join(folder, name + ".npy") for name in ("data", "energy", "gradient"))
    np.save(data, images.numpy())
    printed = run("energy", "--model", model, "--data", data, "--batch", 3, "--out", out, "--gradient", gradient,
                  "--json")
    x = images.clone().requires_grad_()
    energy = net(x)
    energy.sum().backward()
    energy, wanted = energy.detach().numpy(), x.grad.numpy()
    found, grad_x = np.load(out), np.load(gradient)
    energy_error = np.abs(found - energy).max() / np.abs(energy).max()
    gradient_error = np.linalg.norm(grad_x - wanted) / np.linalg.norm(wanted)
    assert grad_x.shape == wanted.shape and found.shape == energy.shape
    assert energy_error <= TOLERANCE and gradient_error <= TOLERANCE, (energy_error, gradient_error)
    summary = json.loads(printed)
    wide = found.astype(np.float64)
    wanted = {"n": len(wide), "mean": wide.mean(), "std": wide.std(ddof=1), "min": wide.min(), "max": wide.max()}
    for key, value in wanted.items():
        assert abs(summary[key] - value) <= 1e-6 * np.abs(wide).max(), (key, summary[key], value)
    return energy_error, gradient_error


def same_weights(path, net):
    wanted = {k: v for k, v in net.state_dict().items() if ".bn" not in k}
    for loaded in (torch.load(path), torch.load(path, weights_only=True)):
        assert set(loaded) == set(wanted), set(loaded) ^ set(wanted)
        for name, tensor in wanted.items():
            assert loaded[name].dtype == torch.float32 and torch.equal(loaded[name], tensor), name
    missing = net.load_state_dict(loaded, strict=False)
    assert not missing.unexpected_keys and all(".bn" in name for name in missing.missing_keys)


def check_network(folder, network, width, channels, size, head, norms):
    torch.manual_seed(1)
    check(folder, Energy(network, width, channels, size, head, norms), network, width, channels, size, head)


def check_unet(folder, width, channels, size, head, levels, blocks, activation):
    torch.manual_seed(1)
    net = UnetEnergy(width, channels, head, 0.1, levels, blocks, activation)
    check(folder, net, "unet", width, channels, size, head, "--head", head, "--activation", activation, "--size", size)


def check(folder, net, network, width, channels, size, head, *options):
    images = torch.rand(7, channels, size, size)
    worst = (0, 0)
    for path in save_forms(net, folder):
        model, back = path + ".safetensors", path + ".back.pt"
        printed = run("import", path, model, "--force", *options)
        for word in (network, width, channels, size, head):
            assert str(word) in printed, (word, printed)
        run("export", model, back, "--force")
        same_weights(back, net)
        if path.endswith(("zip.pt", "legacy.pt")):
            worst = max(worst, compare(net, model, images, folder))
    print(f"{network} {head} {channels}x{size}x{size}: energy {worst[0]:.1e}, gradient {worst[1]:.1e}")


def check_refusals(folder):
    path, model = os.path.join(folder, "bad.pt"), os.path.join(folder, "bad.safetensors")
    torch.save(nn.Linear(2, 2), path)
    assert "torch.nn.modules.linear.Linear" in run("import", path, model, code=1)
    torch.save(nn.Linear(2, 2).state_dict(), path)
    assert "no known network" in run("import", path, model, code=1)
    torch.save([1, 2], path, _use_new_zipfile_serialization=False)
    assert "no dict of tensors" in run("import", path, model, code=1)
    assert not os.path.exists(model)
    good, exists = os.path.join(folder, "zip.pt"), os.path.join(folder, "zip.pt.safetensors")
    assert "--force" in run("import", good, exists, code=1)
    assert "--force" in run("export", exists, good, code=1)
    assert "mdsm import" in run("energy", "--model", good, "--data", "x.npy", code=1)


def check_noise(folder):
    model, data = os.path.join(folder, "zip.pt.safetensors"), os.path.join(folder, "data.npy")
    found = []
    for batch in (2, 7):
        out = os.path.join(folder, f"noise{batch}.npy")
        run("energy", "--model", model, "--data", data, "--noise", 0.3, "--seed", 5, "--batch", batch, "--out", out)
        found.append(np.load(out))
    clean = np.load(os.path.join(folder, "energy.npy"))
    scale = np.abs(clean).max()
    assert np.abs(found[0] - found[1]).max() <= 1e-5 * scale, "noise depends on the batch"
    assert np.abs(found[0] - clean).max() >= 1e-3 * scale, "no noise was added"
    wrong = os.path.join(folder, "wrong.npy")
    np.save(wrong, np.zeros((2, 2, 24, 24), np.float32))
    assert "do not fit a model for" in run("energy", "--model", model, "--data", wrong, code=1)


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_network(folder, "res6", 8, 1, 16, "quadratic", False)
        check_network(folder, "res12", 4, 3, 32, "linear", True)
        check_network(folder, "res6", 12, 3, 24, "linear", True)
        check_unet(folder, 8, 3, 16, "inner-product", 2, 2, "elu")
        check_unet(folder, 12, 1, 24, "squared-residual", 4, 1, "silu")
        check_network(folder, "res12", 8, 1, 32, "quadratic", True)
        check_noise(folder)
        check_refusals(folder)


if __name__ == "__main__":
    main()
