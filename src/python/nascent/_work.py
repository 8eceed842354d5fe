"""Scores, tables, runs, searches and trainings."""

from . import _nascent
from ._nascent import Genotype, Table
from ._spaces import as_genotype


def _text(genotype):
    return genotype.text("json") if isinstance(genotype, Genotype) else str(genotype)


def metrics():
    """The names of the training-free metrics."""
    return _nascent.metrics()


def score(genotypes, **options):
    """Training-free scores, as 'nascent score' computes them: a dict by metric, or a list of dicts for several genotypes.

        nascent.score("nasbench201:1462", metrics=["trace", "kappa"], data="random", channels=8, cells=3, cache="none")

    Options have the names of the command line's flags, with _ for -."""
    several = isinstance(genotypes, (list, tuple))
    scores = _nascent.score([_text(g) for g in (genotypes if several else [genotypes])], options)
    return scores if several else scores[0]


def _query(self, architecture, measure=None):
    """Everything that the table knows of an architecture, as a dict; or one measure of it, such as "cifar10_test200".
    Architectures are genotypes, their names or texts, or the benchmark's own numbers."""
    return self._everything(architecture) if measure is None else self._value(architecture, measure)


def _best(self, count=1, measure=None):
    """The best genotypes by a measure; by default the accuracy after the longest schedule."""
    return self._best(count, measure or "")


def _table_search(self, strategy="rea", data=None, schedule="12", seconds=0, validations=0, seed=1, **options):
    """A search on the table, at the price that it names: {"genotype", "valid", "seconds", "trials", "ranks"}.

    strategy: the name of one that is built in, or an object of your own with propose(), which returns a genotype or None,
    and tell(genotype, accuracy). Ends after so many seconds of the table's clock, or so many validations; 12000 s where
    neither is given. Further options are those of the strategy: population=20."""
    if seconds == 0 and validations == 0:
        seconds = 12000
    return self._search(strategy, data or self.data_sets[0], str(schedule), seconds, validations, seed, options)


Table.space = property(lambda self: self._space)
Table.query = _query
Table.best = _best
Table.search = _table_search
Table.__repr__ = lambda self: f"<Table {self.path}: {len(self)} architectures of {self.space.name}>"


def runs(folder="runs"):
    """The runs of a folder, the newest first: one dict each, ready for pandas.DataFrame."""
    return _nascent.runs(folder)


def search(recipe="", scale="", resume="", **options):
    """A search in a run folder, as 'nascent search' does it; returns its result with "directory" and "genotype_text".

        nascent.search(method="rea", table="nb201.table", validations=100, out="runs/mine")"""
    return _nascent.search(recipe, scale, str(resume), options)


def train(genotype=None, recipe="", scale="", resume="", **options):
    """A training in a run folder, as 'nascent train' does it; returns its result with "model" and "directory"."""
    if genotype is not None:
        options["genotype"] = _text(genotype)
    return _nascent.train(recipe, scale, str(resume), options)
