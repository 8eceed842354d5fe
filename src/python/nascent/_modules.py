"""Cells, networks, supernets and trained models as torch.nn.Modules. They run on the fused engine, forward and backward,
without the interpreter's lock; their parameters and buffers are the engine's own tensors."""

import contextlib
import math

import torch
from torch import nn

from . import _nascent
from ._nascent import Error
from ._spaces import Genotype, as_genotype, as_space


@contextlib.contextmanager
def engine(name):
    """Uses another engine meanwhile: "fused", or "reference", LibTorch's plain operations. Holds for all threads."""
    before = _nascent.engine()
    _nascent.use_engine(name)
    try:
        yield
    finally:
        _nascent.use_engine(before)


class _Part(nn.Module):
    """Holds the parameters of a part of a cell under the names that the engine gives them."""

    def forward(self, *inputs):
        raise NotImplementedError("A part of a cell has no forward pass of its own; call the whole module.")


def _holder(module, path):
    for name in path:
        if name not in module._modules:
            module.add_module(name, _Part())
        module = module._modules[name]
    return module


class _EngineModule(nn.Module):
    """A module of LibTorch's inside one of Python's. Both see the same tensors, so optimisers, state_dict(), hooks on
    parameters and torch.save() work as with any module."""

    def __init__(self, inner):
        super().__init__()
        object.__setattr__(self, "_inner", inner)
        self._buffers_shared = []
        for name, parameter in inner.named_parameters():
            *path, leaf = name.split(".")
            parameter.__class__ = nn.Parameter
            _holder(self, path).register_parameter(leaf, parameter)
        for name, buffer in inner.named_buffers():
            *path, leaf = name.split(".")
            holder = _holder(self, path)
            holder.register_buffer(leaf, buffer)
            self._buffers_shared.append((holder, leaf, buffer))

    def train(self, mode=True):
        super().train(mode)
        self._inner.train(mode)
        return self

    def _apply(self, fn):
        # Module puts new buffers in the place of old ones; the engine keeps its own, with the new contents.
        super()._apply(fn)
        for holder, leaf, buffer in self._buffers_shared:
            buffer.data = holder._buffers[leaf]
            holder._buffers[leaf] = buffer
        return self

    def _recipe(self):
        """A function and its arguments that make a module like this one, but for its tensors."""
        raise NotImplementedError

    def __reduce__(self):
        make, arguments = self._recipe()
        return _rebuilt, (make, arguments, self.state_dict(), self.training)

    def __deepcopy__(self, memo):
        make, arguments = self._recipe()
        state = {name: tensor.clone() for name, tensor in self.state_dict().items()}
        copy = _rebuilt(make, arguments, state, self.training)
        for mine, other in zip(self.parameters(), copy.parameters()):
            other.requires_grad_(mine.requires_grad)
        memo[id(self)] = copy
        return copy


def _rebuilt(make, arguments, state, training):
    module = make(*arguments)
    module.load_state_dict(state)
    return module.train(training)


class Network(_EngineModule):
    """The network of a genotype: images [N, C, H, W] in, logits out.

        network = nascent.Network("darts-v2", input=(3, 32, 32), classes=10, channels=16, cells=8)

    Further options are those of the section "network" (docs/options.md). With auxiliary=True, forward() returns
    (logits, auxiliary logits) in training. A genotype of a space of your own needs space="mine.toml"."""

    def __init__(self, genotype, input=(3, 32, 32), classes=10, seed=1, initialiser="torch", space=None, **network):
        genotype = as_genotype(genotype)
        self._set_up(_nascent.Network(as_space(space or genotype.space), genotype, tuple(input), classes, seed, initialiser,
                                      network))
        self.genotype = genotype
        self.drop_path, self.drop_path_seed, self._step = float(network.get("drop_path", 0)), seed, 0

    def _set_up(self, inner):
        _EngineModule.__init__(self, inner)
        self.parameter_count, self.multiply_adds = inner.parameter_count(), inner.multiply_adds()

    @classmethod
    def _from_plan(cls, plan, genotype, drop_path, seed, step):
        network = cls.__new__(cls)
        network._set_up(_nascent.Network(plan))
        network.genotype, network.drop_path, network.drop_path_seed, network._step = genotype, drop_path, seed, step
        return network

    def _recipe(self):
        return Network._from_plan, (self._inner.plan(), self.genotype, self.drop_path, self.drop_path_seed, self._step)

    def forward(self, images):
        if self.training:
            self._step += 1
        logits, auxiliary = self._inner.forward(images, None, self.drop_path, self.drop_path_seed, self._step)
        return logits if auxiliary is None else (logits, auxiliary)


class Supernet(_EngineModule):
    """The supernet of a space: every candidate of every choice, weighted by a mixture.

        supernet = nascent.Supernet("nasbench201", channels=8, cells=1)
        logits = supernet(images)                                        # by its own architecture parameters
        logits = supernet(images, {"cell": torch.softmax(alpha, 1)})     # by yours; gradients flow back to alpha

    A mixture has, per type of cell, weights [sites, candidates], or a dict of "ops", "edges" ([edges]) and "active" (per
    site the candidates that run at all)."""

    def __init__(self, space, input=(3, 32, 32), classes=10, seed=1, initialiser="torch", spread=1e-3, **network):
        space = as_space(space)
        super().__init__(_nascent.Network(space, None, tuple(input), classes, seed, initialiser, network))
        self.space = space
        self._arguments = (space, tuple(input), classes, seed, initialiser, spread, network)
        draw = torch.Generator().manual_seed(seed)
        self.architecture = nn.ParameterDict({
            cell: nn.Parameter(spread * torch.randn(sites, ops, generator=draw))
            for cell, (sites, ops, _) in _nascent.architecture_sizes(space).items()})

    @staticmethod
    def _made(space, input, classes, seed, initialiser, spread, network):
        return Supernet(space, input, classes, seed, initialiser, spread, **network)

    def _recipe(self):
        return Supernet._made, self._arguments

    def mixture(self):
        """What forward() uses by itself: the softmax of the architecture parameters."""
        return {cell: torch.softmax(alpha, 1) for cell, alpha in self.architecture.items()}

    def weights(self):
        """The parameters but for those of the architecture, for an optimiser of their own."""
        return [parameter for name, parameter in self.named_parameters() if not name.startswith("architecture.")]

    def genotype(self, mixture=None):
        """The strongest operations and edges."""
        chosen = self.mixture() if mixture is None else mixture
        with torch.no_grad():
            return _nascent.strongest_genotype(self.space, chosen, any(
                isinstance(cell, dict) and cell.get("edges") is not None for cell in chosen.values()))

    def forward(self, images, mixture=None):
        if mixture is None:
            mixture = self.mixture()
        elif not isinstance(mixture, dict):
            raise Error("A mixture is a dict with the weights of every type of cell: " + ", ".join(self.space.cells) + ".")
        return self._inner.forward(images, mixture, 0.0, 0, 0)[0]


class FusedCell(_EngineModule):
    """One cell, to stand in a network of your own.

        cell = nascent.FusedCell("darts-v2", "normal", inputs=[(16, 8, 8), (16, 8, 8)], channels=16)
        y = cell(x0, x1)                                  # cell.output_shape: (64, 8, 8)
        mixed = nascent.FusedCell(nascent.Space("darts"), "normal", [...], 16)
        y = mixed(x0, x1, mixture=torch.softmax(alpha, 1))

    A genotype (or its name) gives its cell, a Space the supernet's. reduction: edges from the inputs halve the image;
    project_always: 1x1 convolutions on the inputs also where the channels agree, as in DARTS; partial: PC-DARTS."""

    def __init__(self, what, type=None, inputs=(), channels=16, reduction=None, affine=True, pool_norm=False,
                 project_always=True, partial=1, seed=1, initialiser="torch", space=None):
        is_space = not isinstance(what, (str, Genotype))
        genotype = None if is_space else as_genotype(what)
        space = as_space(what if is_space else space or genotype.space)
        type = space.cells[0] if type is None else type
        reduction = type == "reduce" if reduction is None else reduction
        where = dict(reduction=reduction, affine=affine, pool_norm=pool_norm, project_always=project_always,
                     partial=partial)
        super().__init__(_nascent.Cell(space, genotype, type, [tuple(shape) for shape in inputs], channels, where, seed,
                                       initialiser))
        self.space, self.genotype, self.type = space, genotype, type
        self.output_shape = self._inner.output_shape()
        self._arguments = (space if is_space else genotype, type, [tuple(s) for s in inputs], channels, where, seed,
                           initialiser, space)

    @staticmethod
    def _made(what, type, inputs, channels, where, seed, initialiser, space):
        return FusedCell(what, type, inputs, channels, seed=seed, initialiser=initialiser, space=space, **where)

    def _recipe(self):
        return FusedCell._made, self._arguments

    def forward(self, *inputs, mixture=None, drop_path=0.0, seed=0, step=0):
        if len(inputs) == 1 and isinstance(inputs[0], (list, tuple)):
            inputs = inputs[0]
        return self._inner.forward(list(inputs), mixture, drop_path, seed, step)


class Model(_EngineModule):
    """A trained network. Images are pixels in [0, 1] ([N, C, H, W]); normalisation is inside, as in exported files.

        model = nascent.load_model("runs/train-nasbench201-1")
        model.predict("holiday/", top=3)
        logits = model(model.read("cat.jpg"))"""

    def __init__(self, file):
        super().__init__(file.network)
        object.__setattr__(self, "_file", file)
        facts = file.facts()
        self.genotype = file.genotype
        self.input_shape, self.classes = tuple(facts["input"]), facts["classes"]
        self.transforms, self.data, self.results = facts["transforms"], facts["data"], facts["results"]
        row = (1, len(facts["mean"]), 1, 1)
        self.register_buffer("_mean", torch.tensor(facts["mean"]).view(row), persistent=False)
        self.register_buffer("_deviation", torch.tensor(facts["deviation"]).view(row), persistent=False)
        self.eval()

    def _recipe(self):
        return Model._parsed, (self._file.serialise(),)

    @staticmethod
    def _parsed(state):
        return Model(_nascent.Model.parse(state))

    def forward(self, pixels):
        if not torch.is_floating_point(pixels):
            raise Error(f"Images must be pixels in [0, 1], but these are {pixels.dtype}. Divide bytes by 255.")
        logits, auxiliary = self._inner.forward((pixels - self._mean) / self._deviation, None, 0.0, 0, 0)
        return logits if auxiliary is None else (logits, auxiliary)

    def read(self, *pictures):
        """Pictures (files, folders, IDX or CIFAR records) through the model's own transforms: pixels in [0, 1]."""
        return self._file.read([str(picture) for picture in pictures])[0]

    def predict(self, *pictures, top=5, batch=128):
        """As 'nascent predict': one dict per picture, {"picture": name, "predictions": [{"class", "probability"}]}."""
        pixels, names = self._file.read([str(picture) for picture in pictures])
        return _likeliest(names, torch.softmax(_answers(self, pixels, batch), 1), self.classes, top)

    def save(self, path):
        """Writes a model file with the weights as they are now."""
        self._file.save(path)


class Ensemble(nn.Module):
    """Several trained networks as one. forward() gives the logarithms of the combined probabilities of the classes, which
    softmax() turns into these probabilities, as it does with the logits of a single model.

        ensemble = nascent.load_model("runs/ensemble-train-darts-1")
        ensemble.predict("holiday/", top=3)
        ensemble.members[0]                               # a Model"""

    _LEAST = 1e-12  # a probability below this counts as this, as in 'nascent predict'

    def __init__(self, members, weights=(), combine="probabilities", temperature=1.0):
        super().__init__()
        self.members = nn.ModuleList(members)
        self.weights, self.combine, self.temperature = list(weights), combine, temperature
        self.input_shape, self.classes, self.data = members[0].input_shape, members[0].classes, members[0].data
        self.eval()

    def _combined(self, logits):
        """[members, N, classes] as logarithms of probabilities [N, classes]."""
        logs = torch.log_softmax(logits / self.temperature, 2)
        weights = torch.tensor(self.weights or [1.0] * len(self.members), dtype=logs.dtype)
        shares = (weights / weights.sum()).view(-1, 1, 1)
        if self.combine == "logits":
            return torch.log_softmax((shares * logs.clamp(min=math.log(self._LEAST))).sum(0), 1)
        return torch.logsumexp(logs + shares.log(), 0)

    def forward(self, pixels):
        answers = [member(pixels) for member in self.members]
        return self._combined(torch.stack([answer[0] if isinstance(answer, tuple) else answer for answer in answers]))

    def read(self, *pictures):
        """Pictures through the transforms of the first member: pixels in [0, 1]."""
        return self.members[0].read(*pictures)

    def predict(self, *pictures, top=5, batch=128):
        """As 'nascent predict'; every member reads the pictures by its own transforms."""
        read = [member._file.read([str(picture) for picture in pictures]) for member in self.members]
        answers = [_answers(member, pixels, batch) for member, (pixels, _) in zip(self.members, read)]
        return _likeliest(read[0][1], self._combined(torch.stack(answers)).exp(), self.classes, top)

    def save(self, path):
        """Writes an ensemble file with the weights as they are now."""
        _nascent.write_ensemble([member._file for member in self.members], self.weights, self.combine, self.temperature,
                                path)


def _answers(module, pixels, batch):
    """Logits in evaluation mode, batch by batch."""
    was_training = module.training
    module.eval()
    with torch.no_grad():
        answers = torch.cat([module(part) for part in pixels.split(batch)])
    module.train(was_training)
    return answers


def _likeliest(names, probabilities, classes, top):
    likeliest = probabilities.topk(min(top, probabilities.shape[1]), 1)
    return [
        {"picture": name, "predictions": [{"class": classes[k], "probability": p} for p, k in zip(row, ks)]}
        for name, row, ks in zip(names, likeliest.values.tolist(), likeliest.indices.tolist())]


def load_model(path):
    """The model of a file, or of a run folder that holds one, in evaluation mode: a Model, or an Ensemble."""
    if not _nascent.is_ensemble(path):
        return Model(_nascent.Model(path))
    members, facts = _nascent.read_ensemble(path)
    return Ensemble([Model(member) for member in members], **facts)
