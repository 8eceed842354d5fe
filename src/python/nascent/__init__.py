"""Nascent from Python: search spaces, genotypes, scores, benchmark tables, networks on the fused engine, runs.

    import nascent

    space = nascent.Space("nasbench201")
    genotype = space.sample(seed=1)
    nascent.score(genotype, metrics=["trace"], data="random")
    nascent.Table("nb201.table").search("rea", seconds=12000)
    model = nascent.load_model("runs/train-nasbench201-1")     # a torch.nn.Module

Mistakes raise nascent.Error, whose text says what to do. docs/python.md tells the rest.
"""

import os as _os
import sys as _sys

# Threads that wait for others sleep; libgomp reads this when torch loads it.
_os.environ.setdefault("OMP_WAIT_POLICY", "passive")

try:
    import torch as _torch  # noqa: F401  (its libraries must be there before ours)
except ImportError as problem:
    raise ImportError(
        "nascent needs Debian's torch: install the package python3-torch, and run Debian's own Python, /usr/bin/python3 "
        f"(this is {_sys.executable})."
    ) from problem

from ._nascent import Error, Run, __version__, describe_engine, log_level, use_threads
from ._spaces import Genotype, Space, genotypes, spaces
from ._modules import Ensemble, FusedCell, Model, Network, Supernet, engine, load_model
from ._work import Table, metrics, runs, score, search, train

__all__ = [
    "Ensemble", "Error", "FusedCell", "Genotype", "Model", "Network", "Run", "Space", "Supernet", "Table",
    "describe_engine", "engine", "genotypes", "load_model", "log_level", "metrics", "runs", "score", "search", "spaces",
    "train", "use_threads",
]

# LibTorch starts with one thread; whoever chose a number keeps it.
if "OMP_NUM_THREADS" not in _os.environ:
    use_threads(0)
