"""The energies in plain PyTorch, with the parameter names and the parameter order of model files: the paper's networks,
which are those of the authors' state dicts, and energies on a U-Net (docs/design/unet.md).

The one PyTorch definition in the repository: the benchmark's peer and the tests that compare with PyTorch use it."""
import torch
from torch import nn
from torch.nn import functional as F

BLOCKS = {
    "res6": "rb1 rb2 rb3",
    "res12": "rb1 rbc1 rb2 rbc2 rb3 rbc3",
    "res18": "rb1 rbc1 rbc11 rb2 rbc2 rbc22 rb3 rbc3 rbc33",
    "res34": "rb1 rbc1 rbc11 rb2 rbc2 rbc22 rbc222 rb3 rbc3 rbc33 rbc333 rbc3333 rbc33333 rb4 rbc4 rbc44",
}


class Convolution(nn.Module):
    def __init__(self, inputs, outputs, kernel, bias=True):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, bias=bias)

    def forward(self, x):
        return self.conv(x)


class ThenPool(nn.Module):
    def __init__(self, *args):
        super().__init__()
        self.conv = Convolution(*args)

    def forward(self, x):
        return F.avg_pool2d(self.conv(x), 2)


class PoolThen(ThenPool):
    def forward(self, x):
        return self.conv(F.avg_pool2d(x, 2))


class Block(nn.Module):
    def __init__(self, inputs, outputs, size, down, norms):
        super().__init__()
        self.conv_1 = Convolution(inputs, inputs, 3, False)
        self.conv_2 = (ThenPool if down else Convolution)(inputs, outputs, 3)
        self.conv_shortcut = (PoolThen if down else Convolution)(inputs, outputs, 1)
        if norms:  # owned but never called, as in the authors' files
            self.bn1 = nn.LayerNorm([inputs, size, size])
            self.bn2 = nn.LayerNorm([inputs, size, size])

    def forward(self, h):
        return self.conv_shortcut(h) + self.conv_2(F.elu(self.conv_1(F.elu(h))))


class Energy(nn.Module):
    """E(x) for x (N,C,H,W): energies (N)."""

    def __init__(self, network, width, channels, size, head="quadratic", norms=False):
        super().__init__()
        self.names = BLOCKS[network].split()
        self.head = head
        self.conv1 = Convolution(channels, width, 3)
        for name in self.names:
            down = not name.startswith("rbc")
            setattr(self, name, Block(width, width * 2 if down else width, size, down, norms))
            width, size = (width * 2, size // 2) if down else (width, size)
        for name in ("ln1", "ln2", "lq") if head == "quadratic" else ("ln",):
            setattr(self, name, nn.Linear(width * size * size, 1))

    def forward(self, x):
        h = self.conv1(x)
        for name in self.names:
            h = getattr(self, name)(h)
        h = h.flatten(1)
        if self.head == "linear":
            return self.ln(F.elu(h)).squeeze(1)
        return (self.ln1(h) * self.ln2(h) + self.lq(h * h)).squeeze(1)


class UnetBlock(nn.Module):
    def __init__(self, inputs, outputs, activation):
        super().__init__()
        self.activation = activation
        self.conv1 = nn.Conv2d(inputs, outputs, 3, padding=1)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1)
        self.shortcut = nn.Conv2d(inputs, outputs, 1, bias=False) if inputs != outputs else None

    def forward(self, h):
        main = self.conv2(self.activation(self.conv1(self.activation(h))))
        return main + (h if self.shortcut is None else self.shortcut(h))


class UnetEnergy(nn.Module):
    """E(x) for x (N,C,H,W) whose sides are multiples of 2^(levels - 1): energies (N)."""

    def __init__(self, width, channels, head, sigma0, levels=4, blocks=1, activation="silu"):
        super().__init__()
        self.head, self.sigma0, self.levels = head, sigma0, levels
        self.activation = {"silu": F.silu, "elu": F.elu}[activation]
        widths = [width * min(2**level, 4) for level in range(levels)]

        def chain(inputs, outputs, count=blocks):
            return nn.ModuleList(
                UnetBlock(inputs if i == 0 else outputs, outputs, self.activation) for i in range(count))

        setattr(self, "in", nn.Conv2d(channels, width, 3, padding=1))
        for level, wide in enumerate(widths):
            setattr(self, f"down{level}", chain(widths[max(level - 1, 0)], wide))
        self.middle = chain(widths[-1], widths[-1], 1)
        for level in reversed(range(levels)):
            below = widths[min(level + 1, levels - 1)]
            setattr(self, f"up{level}", chain(below + widths[level], widths[level]))
        self.out = nn.Conv2d(width, channels, 3, padding=1)

    def blocks(self, name, h):
        for block in getattr(self, name):
            h = block(h)
        return h

    def network(self, y):
        h, skips = getattr(self, "in")(y), []
        for level in range(self.levels):
            h = self.blocks(f"down{level}", F.avg_pool2d(h, 2) if level else h)
            skips.append(h)
        h = self.blocks("middle", h)
        for level in reversed(range(self.levels)):
            if level + 1 < self.levels:
                h = F.interpolate(h, scale_factor=2, mode="nearest")
            h = self.blocks(f"up{level}", torch.cat([h, skips[level]], 1))
        return self.out(self.activation(h))

    def forward(self, x):
        y = x - 0.5
        f = self.network(y)
        terms = {"squared-residual": (y - f) ** 2, "predicted-noise": f**2, "inner-product": y * (y - f)}[self.head]
        return terms.flatten(1).sum(1) / (2 * self.sigma0**2)


def energy(spec):
    """The network of a model file's or a request's description."""
    if spec["network"] != "unet":
        return Energy(spec["network"], spec["width"], spec["channels"], spec["size"], spec["head"])
    return UnetEnergy(spec["width"], spec["channels"], spec["head"], spec["sigma0"], spec["levels"], spec["blocks"],
                      spec["activation"])
