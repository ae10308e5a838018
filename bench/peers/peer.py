"""The benchmark's peer: training and Langevin steps of the same network as a good PyTorch user writes them.

Reads one JSON request a line from standard input, answers with one JSON line each (docs/benchmarks.md says what is
measured; src/bench/worker.h lists the requests). Errors are answers too: {"error": "..."}."""
import json
import os
import sys
import time

MISSING = None
try:
    import numpy as np
    import torch

    sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../python"))
    from mdsm_torch import build
except ImportError as error:
    MISSING = f"{sys.executable} cannot import {error.name or 'PyTorch'}: {error}"


def peak_memory():
    """The most physical memory this process ever had, in bytes."""
    with open("/proc/self/status", encoding="ascii") as file:
        for line in file:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0


class Peer:
    def __init__(self, request):
        torch.set_num_threads(request["threads"])
        torch.manual_seed(request["seed"])
        self.sigma0, self.lr = request["sigma0"], request["lr"]
        self.ema_decay, self.eps = request["ema"], request["eps"]
        self.half = request["precision"] == "bfloat16"
        self.net = build(request)
        self.clean, self.noisy, self.weight = (
            torch.from_numpy(np.load(os.path.join(request["folder"], name + ".npy")))
            for name in ("clean", "noisy", "weight"))
        self.sigma = torch.from_numpy(np.load(os.path.join(request["folder"], "sigma.npy"))).view(-1, 1, 1, 1)
        self.load(torch.from_numpy(np.load(os.path.join(request["folder"], "weights.npy"))))
        self.params = list(self.net.parameters())
        self.ema = [p.detach().clone() for p in self.params]
        # Adam's epsilon belongs to a loss 1/sigma0^4 as large as the one below.
        self.adam = torch.optim.Adam(self.params, lr=self.lr, betas=(0.9, 0.95), eps=1e-8 * self.sigma0**4)
        self.x = 0.5 + torch.randn_like(self.clean)

    def load(self, flat):
        count = sum(p.numel() for p in self.net.parameters())
        if flat.numel() != count:
            raise ValueError(f"{flat.numel()} weights for a network of {count}")
        torch.nn.utils.vector_to_parameters(flat, self.net.parameters())

    def energy(self, x):
        """E(x) (N); with bfloat16 by autocast, which rounds what convolutions and linear layers take and give."""
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.half):
            return self.net(x).float()

    def objective(self, noisy):
        """Loss, residuals, energies and grad_x; everything differentiable once more."""
        energy = self.energy(noisy)
        (grad_x,) = torch.autograd.grad(energy.sum(), noisy, create_graph=True)
        residual = (self.clean - noisy + self.sigma0**2 * grad_x).flatten(1).pow(2).sum(1)
        return (self.weight * residual).sum(), residual, energy, grad_x

    def train(self):
        noisy = (self.clean + self.sigma * torch.randn_like(self.clean)).requires_grad_()
        loss = self.objective(noisy)[0]
        self.adam.zero_grad(set_to_none=True)
        loss.backward(inputs=self.params)  # not by noisy, which nobody needs
        self.adam.step()
        with torch.no_grad():
            torch._foreach_mul_(self.ema, self.ema_decay)
            torch._foreach_add_(self.ema, self.params, alpha=1 - self.ema_decay)
        return loss.item()

    def langevin(self):
        """As the authors write it: backward() of the energy, with gradients by the weights along the way."""
        x = self.x.requires_grad_()
        x.grad = None
        energy = self.energy(x).sum()
        energy.backward()
        self.move(x.detach(), x.grad)
        return energy.item()

    def langevin_input(self):
        """As one writes it who knows that only the gradient by x is needed."""
        for p in self.params:
            p.requires_grad_(False)
        x = self.x.requires_grad_()
        energy = self.energy(x).sum()
        (grad_x,) = torch.autograd.grad(energy, x)
        self.move(x.detach(), grad_x)
        for p in self.params:
            p.requires_grad_(True)
        return energy.item()

    def move(self, x, grad_x):
        x.add_(grad_x, alpha=-0.5 * self.eps**2).add_(torch.randn_like(x), alpha=self.eps)
        self.x = x

    def verify(self, folder):
        loss, residual, energy, grad_x = self.objective(self.noisy.clone().requires_grad_())
        gradient = torch.autograd.grad(loss, self.params, allow_unused=True)  # the head's last bias shifts E only
        gradient = [torch.zeros_like(p) if g is None else g for p, g in zip(self.params, gradient)]
        results = {"energy": energy, "grad_x": grad_x, "residual": residual,
                   "gradient": torch.cat([g.reshape(-1) for g in gradient])}
        for name, tensor in results.items():
            np.save(os.path.join(folder, name + ".npy"), tensor.detach().numpy())


def answer(peer, request):
    do = request["do"]
    if do == "verify":
        peer.verify(request["folder"])
        return {}
    step = {"train": peer.train, "langevin": peer.langevin, "langevin-input": peer.langevin_input}[do]
    start = time.perf_counter()
    for _ in range(request["repeat"]):
        value = step()
    seconds = (time.perf_counter() - start) / request["repeat"]
    if value != value or value in (float("inf"), float("-inf")):
        raise ValueError(f"{do} gave {value}")
    return {"seconds": seconds}


def main():
    peer = None
    for line in sys.stdin:
        try:
            request = json.loads(line)
            if request["do"] == "quit":
                return
            if MISSING:
                reply = {"error": MISSING}
            elif request["do"] == "setup":
                peer = Peer(request)
                reply = {"name": f"PyTorch {torch.__version__}"}
            else:
                reply = answer(peer, request)
        except Exception as error:  # the benchmark reports it and stops
            reply = {"error": f"{type(error).__name__}: {error}"}
        reply["peak_rss"] = peak_memory()
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
