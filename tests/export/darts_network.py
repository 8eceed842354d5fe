"""darts_network.py FOLDER GENOTYPE [imagenet]: a small network of DARTS in PyTorch, its weights under the published names.

GENOTYPE is a text as DARTS prints it. Writes weights.pt (a state dict), wrapped.pt (the same as a checkpoint of
DataParallel), pixels.raw and logits.json. The names of layers, not the code, follow the published implementation.
"""
import collections
import json
import pathlib
import sys

import torch
from torch import nn
from torch.nn import functional

Genotype = collections.namedtuple("Genotype", "normal normal_concat reduce reduce_concat")
# Of CIFAR-10 and of ImageNet.
MEANS_AND_DEVIATIONS = [([0.49139968, 0.48215827, 0.44653124], [0.24703233, 0.24348505, 0.26158768]),
                        ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])]


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


def depthwise(channels, kernel, stride, dilation):
    return nn.Conv2d(channels, channels, kernel, stride, kernel // 2 * dilation, dilation, channels, bias=False)


def pointwise(channels):
    return nn.Conv2d(channels, channels, 1, bias=False)


def operation(name, channels, stride):
    if name == "max_pool_3x3":
        return nn.MaxPool2d(3, stride, 1)
    if name == "avg_pool_3x3":
        return nn.AvgPool2d(3, stride, 1, count_include_pad=False)
    if name == "skip_connect":
        return nn.Identity() if stride == 1 else Reduce(channels, channels)
    kernel, dilation = int(name[-1]), 2 if name.startswith("dil") else 1
    layers = [nn.ReLU(), depthwise(channels, kernel, stride, dilation), pointwise(channels), nn.BatchNorm2d(channels)]
    if name.startswith("sep"):
        layers += [nn.ReLU(), depthwise(channels, kernel, 1, 1), pointwise(channels), nn.BatchNorm2d(channels)]
    return Sequence(*layers)


class Cell(nn.Module):
    def __init__(self, genotype, before, last, channels, reduction, reduction_before):
        super().__init__()
        self.edges = genotype.reduce if reduction else genotype.normal
        self.concat = genotype.reduce_concat if reduction else genotype.normal_concat
        self.preprocess0 = Reduce(before, channels) if reduction_before else project(before, channels)
        self.preprocess1 = project(last, channels)
        self._ops = nn.ModuleList(operation(name, channels, 2 if reduction and source < 2 else 1)
                                  for name, source in self.edges)

    def forward(self, before, last):
        states = [self.preprocess0(before), self.preprocess1(last)]
        for first in range(0, len(self.edges), 2):
            states.append(sum(self._ops[i](states[self.edges[i][1]]) for i in (first, first + 1)))
        return torch.cat([states[i] for i in self.concat], 1)


def convolution(inputs, outputs, stride):
    return nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)


class Network(nn.Module):
    def __init__(self, genotype, channels, cells, classes, imagenet):
        super().__init__()
        self.imagenet = imagenet
        if imagenet:
            self.stem0 = nn.Sequential(convolution(3, channels // 2, 2), nn.BatchNorm2d(channels // 2), nn.ReLU(),
                                       convolution(channels // 2, channels, 2), nn.BatchNorm2d(channels))
            self.stem1 = nn.Sequential(nn.ReLU(), convolution(channels, channels, 2), nn.BatchNorm2d(channels))
        else:
            self.stem = nn.Sequential(convolution(3, 3 * channels, 1), nn.BatchNorm2d(3 * channels))
        self.cells = nn.ModuleList()
        before = last = channels if imagenet else 3 * channels
        reduced = imagenet
        for i in range(cells):
            reduction = i in (cells // 3, 2 * cells // 3)
            channels *= 2 if reduction else 1
            self.cells.append(Cell(genotype, before, last, channels, reduction, reduced))
            before, last, reduced = last, len(self.cells[-1].concat) * channels, reduction
        self.classifier = nn.Linear(last, classes)

    def forward(self, x):
        if self.imagenet:
            before = self.stem0(x)
            last = self.stem1(before)
        else:
            before = last = self.stem(x)
        for cell in self.cells:
            before, last = last, cell(before, last)
        return self.classifier(last.mean((2, 3)))


def main():
    folder = pathlib.Path(sys.argv[1])
    genotype = eval(sys.argv[2], {"Genotype": Genotype, "range": range})
    imagenet = sys.argv[3:] == ["imagenet"]
    mean, deviation = MEANS_AND_DEVIATIONS[imagenet]
    torch.manual_seed(5)
    network = Network(genotype, channels=4, cells=5, classes=10, imagenet=imagenet)
    side = 64 if imagenet else 32
    pixels = torch.rand(4, 3, side, side)
    normalised = (pixels - torch.tensor(mean).view(1, 3, 1, 1)) / torch.tensor(deviation).view(1, 3, 1, 1)
    for _ in range(3):
        network(torch.rand(16, 3, side, side) * 2)  # moves the running statistics
    network.eval()
    weights = network.state_dict()
    torch.save(weights, folder / "weights.pt")
    torch.save({"epoch": 3, "state_dict": {"module." + key: value for key, value in weights.items()}},
               folder / "wrapped.pt")
    (folder / "pixels.raw").write_bytes(pixels.numpy().tobytes())
    with torch.no_grad():
        (folder / "logits.json").write_text(json.dumps(network(normalised).flatten().tolist()))


main()
