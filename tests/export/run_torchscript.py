"""run_torchscript.py MODEL PIXELS COUNT CHANNELS HEIGHT WIDTH: logits of raw float32 pixels as JSON."""
import json
import sys

import torch

extra = {"nascent.json": ""}
module = torch.jit.load(sys.argv[1], _extra_files=extra)
json.loads(extra["nascent.json"])["class_names"]
with open(sys.argv[2], "rb") as file:
    pixels = torch.frombuffer(bytearray(file.read()), dtype=torch.float32).view(*map(int, sys.argv[3:]))
with torch.no_grad():
    print(json.dumps(module(pixels).flatten().tolist()))
