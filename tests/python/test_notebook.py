"""Executes examples/nascent.ipynb, as its readers do."""

import importlib.util
import json
import os
import subprocess
import sys
import unittest

import support

for module, package in (("nbconvert", "jupyter-nbconvert"), ("ipykernel", "python3-ipykernel")):
    if importlib.util.find_spec(module) is None:
        support.skip_all(f"the notebook is not executed: the package {package} is missing ('scripts/setup tests' installs it)")
support.nascent_import()


class Notebook(support.FolderTest):
    def test_it_runs_from_top_to_bottom(self):
        notebook = os.path.join(support.SOURCE, "examples", "nascent.ipynb")
        environment = {**os.environ, "HOME": self.folder, "IPYTHONDIR": self.path("ipython")}
        done = subprocess.run([sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", notebook, "--output-dir",
                               self.folder, "--output", "executed"], capture_output=True, text=True, env=environment,
                              timeout=400)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        with open(self.path("executed.ipynb")) as file:
            cells = [cell for cell in json.load(file)["cells"] if cell["cell_type"] == "code"]
        self.assertTrue(all(cell["execution_count"] for cell in cells))
        text = json.dumps([cell["outputs"] for cell in cells])
        for expected in ("15625 architectures", "<svg", "trace", "loss 0.", "torch.Size([6, 5])", "is the best of"):
            self.assertIn(expected, text)

    def test_it_is_kept_without_outputs(self):
        with open(os.path.join(support.SOURCE, "examples", "nascent.ipynb")) as file:
            cells = json.load(file)["cells"]
        self.assertTrue(all(not cell.get("outputs") for cell in cells))


if __name__ == "__main__":
    unittest.main(verbosity=2)
