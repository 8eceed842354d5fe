"""darts_network.py FOLDER: a small network of DARTS in PyTorch, its weights under the published names, and its logits.

Writes weights.pt (a state dict), wrapped.pt (the same as a checkpoint of DataParallel), pixels.raw and logits.json.
The cells are those of darts-v2; the names of layers, not the code, follow the published implementation.
"""
import json
import pathlib
import sys

import torch
from torch import nn
from torch.nn import functional

NORMAL = [("sep_conv_3x3", 0), ("sep_conv_3x3", 1), ("sep_conv_3x3", 0), ("sep_conv_3x3", 1),
          ("sep_conv_3x3", 1), ("skip_connect", 0), ("skip_connect", 0), ("dil_conv_3x3", 2)]
REDUCE = [("max_pool_3x3", 0), ("max_pool_3x3", 1), ("skip_connect", 2), ("max_pool_3x3", 1),
          ("max_pool_3x3", 0), ("skip_connect", 2), ("skip_connect", 2), ("max_pool_3x3", 1)]
MEAN, DEVIATION = [0.49139968, 0.48215827, 0.44653124], [0.24703233, 0.24348505, 0.26158768]


class Sequence(nn.Module):
    def __init__(self, *layers):
        super().__init__()
        self.op = nn.Sequential(*layers)

    def forward(self, x):
        return self.op(x)


class Reduce(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv_1 = nn.Conv2d(inputs, outputs // 2, 1, stride=2, bias=False)
        self.conv_2 = nn.Conv2d(inputs, outputs // 2, 1, stride=2, bias=False)
        self.bn = nn.BatchNorm2d(outputs)

    def forward(self, x):
        x = functional.relu(x)
        return self.bn(torch.cat([self.conv_1(x), self.conv_2(x[:, :, 1:, 1:])], 1))


def project(inputs, outputs):
    return Sequence(nn.ReLU(), nn.Conv2d(inputs, outputs, 1, bias=False), nn.BatchNorm2d(outputs))


def depthwise(channels, stride, dilation):
    return nn.Conv2d(channels, channels, 3, stride, dilation, dilation, channels, bias=False)


def pointwise(channels):
    return nn.Conv2d(channels, channels, 1, bias=False)


def operation(name, channels, stride):
    if name == "max_pool_3x3":
        return nn.MaxPool2d(3, stride, 1)
    if name == "skip_connect":
        return nn.Identity() if stride == 1 else Reduce(channels, channels)
    dilation = 2 if name.startswith("dil") else 1
    layers = [nn.ReLU(), depthwise(channels, stride, dilation), pointwise(channels), nn.BatchNorm2d(channels)]
    if name.startswith("sep"):
        layers += [nn.ReLU(), depthwise(channels, 1, 1), pointwise(channels), nn.BatchNorm2d(channels)]
    return Sequence(*layers)


class Cell(nn.Module):
    def __init__(self, before, last, channels, reduction, reduction_before):
        super().__init__()
        self.edges = REDUCE if reduction else NORMAL
        self.preprocess0 = Reduce(before, channels) if reduction_before else project(before, channels)
        self.preprocess1 = project(last, channels)
        self._ops = nn.ModuleList(operation(name, channels, 2 if reduction and source < 2 else 1)
                                  for name, source in self.edges)

    def forward(self, before, last):
        states = [self.preprocess0(before), self.preprocess1(last)]
        for first in range(0, len(self.edges), 2):
            states.append(sum(self._ops[i](states[self.edges[i][1]]) for i in (first, first + 1)))
        return torch.cat(states[2:], 1)


class Network(nn.Module):
    def __init__(self, channels, cells, classes):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 3 * channels, 3, padding=1, bias=False), nn.BatchNorm2d(3 * channels))
        self.cells = nn.ModuleList()
        before = last = 3 * channels
        reduced = False
        for i in range(cells):
            reduction = i in (cells // 3, 2 * cells // 3)
            channels *= 2 if reduction else 1
            self.cells.append(Cell(before, last, channels, reduction, reduced))
            before, last, reduced = last, 4 * channels, reduction
        self.classifier = nn.Linear(last, classes)

    def forward(self, x):
        before = last = self.stem(x)
        for cell in self.cells:
            before, last = last, cell(before, last)
        return self.classifier(last.mean((2, 3)))


def main():
    folder = pathlib.Path(sys.argv[1])
    torch.manual_seed(5)
    network = Network(channels=4, cells=5, classes=10)
    pixels = torch.rand(4, 3, 32, 32)
    normalised = (pixels - torch.tensor(MEAN).view(1, 3, 1, 1)) / torch.tensor(DEVIATION).view(1, 3, 1, 1)
    for _ in range(3):
        network(torch.rand(16, 3, 32, 32) * 2)  # moves the running statistics
    network.eval()
    weights = network.state_dict()
    torch.save(weights, folder / "weights.pt")
    torch.save({"epoch": 3, "state_dict": {"module." + key: value for key, value in weights.items()}},
               folder / "wrapped.pt")
    (folder / "pixels.raw").write_bytes(pixels.numpy().tobytes())
    with torch.no_grad():
        (folder / "logits.json").write_text(json.dumps(network(normalised).flatten().tolist()))


main()
