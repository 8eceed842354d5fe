"""Search spaces and genotypes: what the compiled classes have, in Python's manners."""

import random
import subprocess

from . import _nascent
from ._nascent import Error, Genotype, Space, genotypes, spaces


def _seed(seed):
    """A seed of one's own, or one from Python's generator, which random.seed() makes repeatable."""
    return random.getrandbits(63) if seed is None else seed


def _sample(self, seed=None):
    """An architecture drawn from the space."""
    return self._sample(_seed(seed))


def _mutate(self, genotype, seed=None):
    """A copy with one choice changed: an operation, or an input of a node."""
    return self._mutate(genotype, _seed(seed))


def _count(self):
    """How many architectures there are; exact below 2**53."""
    return int(self._count())


def _getitem(self, index):
    """The architecture at this place in the order of the space."""
    return self._at(index)


def _sizes(self, input=(3, 32, 32), classes=10, space=None, **network):
    """Parameters and multiply-adds of the network of this genotype; channels=, cells= and other network options. A genotype
    of a space of your own needs the space."""
    return self._sizes(as_space(space or self.space), tuple(input), classes, network)


def _svg(self):
    """A picture of the cells, by Graphviz."""
    try:
        drawn = subprocess.run(["dot", "-Tsvg"], input=self.dot(), capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as problem:
        raise Error(f"Graphviz's 'dot' did not run ({problem}); install the package graphviz.") from None
    return drawn.stdout


def _genotype_repr(self):
    return f"<Genotype of {self.space}: {self}>"


Space.sample = _sample
Space.mutate = _mutate
Space.count = _count
Space.__getitem__ = _getitem
Space.__repr__ = lambda self: f"<Space {self.name}: {self.description}>"
Genotype.sizes = _sizes
Genotype.svg = _svg
Genotype._repr_svg_ = _svg
Genotype.__repr__ = _genotype_repr


def as_space(space):
    """A Space, or the one of this name or TOML file."""
    return space if isinstance(space, Space) else _nascent.Space(str(space))


def as_genotype(genotype):
    """A Genotype, or the one of this name, text, file or run folder."""
    return genotype if isinstance(genotype, Genotype) else Genotype.find(str(genotype))
