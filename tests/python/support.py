"""What the test programs share: the nascent program, a folder of their own, a table that is easy to reason about."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.environ.get("NASCENT_PROGRAM", "nascent")
SOURCE = os.environ.get("NASCENT_SOURCE", os.path.join(os.path.dirname(__file__), "..", ".."))


def skip_all(reason):
    """Ends the program so that ctest says "Skipped" and why."""
    print(f"SKIPPED: {reason}", flush=True)
    sys.exit(77)


def nascent_import():
    try:
        import torch  # noqa: F401
    except ImportError:
        skip_all("there is no torch for this Python; install python3-torch and run /usr/bin/python3")
    import nascent
    return nascent


def program(*words, expect=0):
    """Runs the nascent program; returns what it did."""
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=300)
    if expect is not None and done.returncode != expect:
        raise AssertionError(f"nascent {' '.join(map(str, words))}: exit code {done.returncode}\n{done.stderr}")
    return done


def result_of(*words):
    return json.loads(program(*words, "--json").stdout)


def toy_quality(text):
    """Every 3x3 convolution is worth ten points, every 1x1 three."""
    return 30 + 10 * text.count("nor_conv_3x3") + 3 * text.count("nor_conv_1x1")


class FolderTest(unittest.TestCase):
    """A test class with a folder for all its tests."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="nascent-python-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)

    @classmethod
    def path(cls, *names):
        return os.path.join(cls.folder, *names)

    @classmethod
    def write(cls, name, text):
        with open(cls.path(name), "w") as file:
            file.write(text)
        return cls.path(name)

    @classmethod
    def toy_table(cls):
        """All of NAS-Bench-201: data set "toy", 120 s a validation, validation and test by toy_quality."""
        if not os.path.exists(cls.path("toy.table")):
            ops = ["none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3"]
            lines = ["index,arch,toy_valid12,toy_test12,toy_train_seconds12"]
            for index in range(15625):
                a, b, c, d, e, f = (ops[index // 5**k % 5] for k in range(6))
                text = f"|{a}~0|+|{b}~0|{c}~1|+|{d}~0|{e}~1|{f}~2|"
                lines.append(f"{index},{text},{toy_quality(text)},{toy_quality(text) + 1},120")
            program("table", "import", cls.write("toy.csv", "\n".join(lines) + "\n"), "--out", cls.path("toy.table"))
        return cls.path("toy.table")
