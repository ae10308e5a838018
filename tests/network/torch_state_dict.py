"""mdsm import, energy and export against PyTorch.

Builds small networks of the authors' shape in PyTorch, saves their state dicts in every form such files come
in, imports them, and compares energies and gradients with autograd's; then exports them and loads them back. The
models that come with the program go to PyTorch by every way that mdsm_torch.py knows.
Usage: torch_state_dict.py PATH_OF_MDSM. Exit code 77 when torch is missing.
"""
import glob
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
sys.path.append(os.path.join(os.path.dirname(__file__), "../cli"))
import formats
import mdsm_torch
import png_tools
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
        run("energy", "--model", model, "--data", data, "--add-noise", 0.3, "--seed", 5, "--batch", batch, "--out", out)
        found.append(np.load(out))
    clean = np.load(os.path.join(folder, "energy.npy"))
    scale = np.abs(clean).max()
    assert np.abs(found[0] - found[1]).max() <= 1e-5 * scale, "noise depends on the batch"
    assert np.abs(found[0] - clean).max() >= 1e-3 * scale, "no noise was added"
    wrong = os.path.join(folder, "wrong.npy")
    np.save(wrong, np.zeros((2, 2, 24, 24), np.float32))
    assert "do not fit a model for" in run("energy", "--model", model, "--data", wrong, code=1)


def check_bundled(folder):
    """As a model file, as a folder of the hub and as a state dict, which must fit the built network without a rest."""
    torch.manual_seed(2)
    for one in json.loads(run("models", "--json")):
        name = one["name"]
        hub, model, plain = (os.path.join(folder, name + end) for end in ("-hub", ".safetensors", ".pt"))
        run("export", name, hub, "--hub")
        run("export", name, model)
        run("export", name, plain)
        with open(os.path.join(hub, "config.json"), encoding="utf-8") as file:
            spec = json.load(file)
        built = mdsm_torch.build(spec)
        built.load_state_dict(torch.load(plain))
        if spec["head"].endswith("denoiser"):
            continue  # no energy to compare; check_denoiser() has such networks
        images = torch.rand(3, spec["channels"], spec["size"], spec["size"])
        for net in (built, mdsm_torch.load(hub), mdsm_torch.load(model)):
            errors = compare(net, name, images, folder)
        again = os.path.join(folder, name + "-again.safetensors")
        run("import", plain, again, *(("--head", spec["head"]) if spec["network"] == "unet" else ()))
        compare(mdsm_torch.load(again), name, images, folder)
        print(f"{name} in PyTorch: energy {errors[0]:.1e}, gradient {errors[1]:.1e}")
    # any size, which is filled up on the way
    images = torch.rand(2, 3, 21, 34)
    print("cifar10, 34x21 pixels:", compare(mdsm_torch.load(os.path.join(folder, "cifar10-hub")), "cifar10", images, folder))


def check_denoiser(folder, head):
    """A network without an energy, on a picture of 16 bits: its result has 16 bits, too."""
    torch.manual_seed(3)
    net = UnetEnergy(8, 1, head, 0.1, 3, 1, "silu")
    path, model, picture = (os.path.join(folder, name) for name in (head + ".pt", head + ".safetensors", "deep.png"))
    torch.save(net.state_dict(), path)
    run("import", path, model, "--head", head, "--size", 16)
    values = (torch.rand(18, 23) * 65535).numpy().astype(np.uint16)
    with open(picture, "wb") as file:
        file.write(formats.deep_png(values.tolist()))
    run("denoise", picture, "--model", model, "--out", os.path.join(folder, head))
    found = read_deep_png(os.path.join(folder, head, "deep.png"))
    x = torch.from_numpy(values.astype(np.float32) / 65535)[None, None]
    for loaded in (net, mdsm_torch.load(model)):
        wanted = loaded.denoise(x).detach().clamp(0, 1)[0, 0].numpy()
        assert np.abs(found / 65535 - wanted).max() <= TOLERANCE
    try:
        net(x)
        raise AssertionError("a denoiser gave an energy")
    except RuntimeError:
        pass
    # Where nothing is to do every value stays: all but a box is known.
    run("inpaint", picture, "--model", model, "--box", "3,4,5,6", "--out", os.path.join(folder, head + "-filled"), "-n", 1)
    found = read_deep_png(glob.glob(os.path.join(folder, head + "-filled/deep*.png"))[0])
    found[4:10, 3:8] = values[4:10, 3:8]
    assert np.array_equal(found, values)


def read_deep_png(path):
    return np.array(png_tools.read_deep_png(path), np.uint16)


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_network(folder, "res6", 8, 1, 16, "quadratic", False)
        check_network(folder, "res12", 4, 3, 32, "linear", True)
        check_network(folder, "res6", 12, 3, 24, "linear", True)
        check_unet(folder, 8, 3, 16, "inner-product", 2, 2, "elu")
        check_unet(folder, 12, 1, 24, "squared-residual", 4, 1, "silu")
        check_unet(folder, 8, 1, 16, "predicted-noise", 2, 1, "silu")
        check_network(folder, "res12", 8, 1, 32, "quadratic", True)
        check_noise(folder)
        check_bundled(folder)
        for head in ("denoiser", "residual-denoiser"):
            check_denoiser(folder, head)
        check_refusals(folder)


if __name__ == "__main__":
    main()
