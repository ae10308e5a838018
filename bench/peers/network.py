"""The energy network in plain PyTorch, with the parameter names and the parameter order of the authors' state dicts.

The one PyTorch definition in the repository: the benchmark's peer and the tests that compare with PyTorch use it."""
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
