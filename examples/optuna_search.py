#!/usr/bin/python3
"""Optuna's TPE as a strategy of one's own (python3-optuna): docs/python.md tells what the lines mean.

  nascent search --method external --command 'examples/optuna_search.py' --table nb201.table --validations 100
  nascent search --method external --command 'examples/optuna_search.py' --space nasbench201 --data fashion-mnist
      --limit 4000 --judge training --judge-epochs 3 --channels 8 --cells 1 --validations 20
"""
import json
import sys

import optuna

optuna.logging.set_verbosity(optuna.logging.WARNING)
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "start":
        options = {f"choice {i}": optuna.distributions.CategoricalDistribution(range(size))
                   for i, size in enumerate(message["sizes"])}
        sampler = optuna.samplers.TPESampler(multivariate=True, seed=message["seed"] + message["replayed"])
        study = optuna.create_study(direction="maximize", sampler=sampler)
    elif message["type"] == "result" and message["replayed"]:  # a resumed search: an earlier process's trial
        study.add_trial(optuna.trial.create_trial(params=dict(zip(options, message["choices"])), distributions=options,
                                                  value=message["accuracy"]))
    elif message["type"] == "result":
        study.tell(trial, message["accuracy"])
    elif message["type"] in ("propose", "error"):  # error: the choices do not go together; others will
        trial = study.ask(options)
        print(json.dumps({"choices": list(trial.params.values())}), flush=True)
