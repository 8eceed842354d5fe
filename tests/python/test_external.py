"""Strategies of one's own as programs: --method external, on a table and with trainings, through faults and resumes."""

import json
import os
import signal
import subprocess
import sys
import time
import unittest

import support

# A climber whose state is what it was told: it changes one choice of the best so far, and repeats every third proposal.
CLIMBER = '''
import json, os, random, sys
best, last = None, None
for line in sys.stdin:
    message = json.loads(line)
    with open(os.environ["TOLD"], "a") as log:
        log.write(line)
    if message["type"] == "start":
        start = message
    elif message["type"] == "result":
        last = message["choices"]
        if best is None or message["accuracy"] > best[0]:
            best = (message["accuracy"], last)
    elif message["type"] in ("propose", "error"):
        trial = message["trial"]
        {fault}
        draw = random.Random(1000 * start["seed"] + trial)
        choices = [draw.randrange(size) for size in start["sizes"]] if best is None else list(best[1])
        place = draw.randrange(len(choices))
        choices[place] = draw.randrange(start["sizes"][place])
        print(json.dumps({{"choices": last if trial % 3 == 2 else choices}}), flush=True)
'''
# Dies once, when it is asked for this architecture.
DIES = '''
        if trial == 8 and not os.path.exists(os.environ["TOLD"] + ".died"):
            open(os.environ["TOLD"] + ".died", "w").close()
            sys.exit(3)
'''
STAMMERS = '''
        if message["type"] == "propose" and trial == 4:
            print("what?", flush=True)
            continue
'''
# Four architectures, trained for seconds.
SMALL = ("--judge", "training", "--space", "nasbench201", "--judge-epochs", 1, "--data", "random", "--size", 64,
         "--shape", "3,8,8", "--classes", 4, "--batch", 16, "--channels", 4, "--cells", 1, "--cache", "none",
         "--threads", 1, "--validations", 4, "--seed", 2)


class External(support.FolderTest):
    @classmethod
    def command(cls, name, fault="pass"):
        script = cls.write(f"{name}.py", CLIMBER.format(fault=fault.strip()))
        return f"TOLD={cls.path(name + '.told')} {sys.executable} {script}"

    def told(self, name):
        with open(self.path(name + ".told")) as file:
            return [json.loads(line) for line in file]

    @classmethod
    def search(cls, name, command, *more):
        return ("search", "--strategy", "external", "--command", command, "--table", cls.toy_table(), "--judge-data",
                "toy", "--validations", 20, "--seed", 6, "--out", cls.path(name), *more)

    def trials(self, name):
        with open(self.path(name, "result.json")) as file:
            return json.load(file)["trials"]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.undisturbed = support.result_of(*cls.search("plain", cls.command("plain")))

    def test_a_search_on_a_table(self):
        found = self.undisturbed
        self.assertEqual(len(found["trials"]), 20)
        self.assertGreater(found["valid_top1"], found["trials"][0]["valid"])
        for trial in found["trials"]:
            self.assertEqual(trial["valid"], support.toy_quality(trial["architecture"]))
        told = self.told("plain")
        self.assertEqual([m["type"] for m in told], ["start"] + ["propose", "result"] * 20 + ["end"])
        results = [m for m in told if m["type"] == "result"]
        self.assertEqual([m["accuracy"] for m in results], [t["valid"] for t in found["trials"]])
        self.assertEqual([m["seconds"] for m in results], [120] * 20)  # on the table's clock
        self.assertEqual(found["trials"][2]["architecture"], found["trials"][1]["architecture"])  # repeats count

    def test_a_dead_command_and_the_resumed_run(self):
        done = support.program(*self.search("halves", self.command("halves", DIES)), expect=2)
        self.assertIn("ended with exit code 3", done.stderr)
        self.assertIn(f"nascent search --resume {self.path('halves')}", done.stderr)
        self.assertFalse(os.path.exists(self.path("halves", "result.json")))
        support.program("search", "--resume", self.path("halves"))
        self.assertEqual(self.trials("halves"), self.undisturbed["trials"])
        told = self.told("halves")
        second = told[[i for i, m in enumerate(told) if m["type"] == "start"][1]:]
        self.assertEqual(second[0]["replayed"], 8)
        self.assertEqual([m["replayed"] for m in second if m["type"] == "result"], [True] * 8 + [False] * 12)
        self.assertEqual([m["trial"] for m in second if m["type"] == "propose"], list(range(8, 20)))

    def test_seconds_of_a_training_are_kept(self):
        dies = DIES.replace("trial == 8", "trial == 2")
        support.program("search", "--method", "external", "--command", self.command("timed", dies), *SMALL, "--out",
                        self.path("timed"), expect=2)
        support.program("search", "--resume", self.path("timed"))
        told = [m["seconds"] for m in self.told("timed") if m["type"] == "result"]
        self.assertEqual(told[:2], told[2:4])  # the same when told again
        clock = [t["seconds"] for t in self.trials("timed")]
        for seconds, after, before in zip(told[2:], clock, [0] + clock):
            self.assertGreater(seconds, 0)
            self.assertAlmostEqual(seconds, after - before, places=6)

    def test_a_malformed_line_is_answered_and_tried_again(self):
        found = support.result_of(*self.search("stammer", self.command("stammer", STAMMERS)))
        complaint, = [m for m in self.told("stammer") if m["type"] == "error"]
        self.assertEqual((complaint["trial"], complaint["tries"]), (4, 9))
        self.assertIn("'what?' is not JSON", complaint["message"])
        self.assertEqual(found["trials"], self.undisturbed["trials"])

    def test_patience_has_an_end(self):
        done = support.program(*self.search("babble", "while read -r line; do echo babble; done"), expect=2)
        self.assertIn("10 invalid answers in a row", done.stderr)
        done = support.program(*self.search("nobody", "no-such-program-here"), expect=2)
        self.assertIn("there is no such program", done.stderr)
        done = support.program("search", "--method", "external", "--table", self.toy_table(), "--judge-data", "toy", expect=2)
        self.assertIn("--command is missing", done.stderr)

    def test_ctrl_c_and_kill_while_the_command_thinks(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGKILL, -9)):
            name = f"slow{int(number)}"
            slow = self.command(name, f'''
        if trial == 5 and not os.path.exists({self.path(name + ".thought")!r}):
            open({self.path(name + ".thought")!r}, "w").close()
            sys.stdin.read()
''')
            words = [support.PROGRAM, *map(str, self.search(name, slow))]
            running = subprocess.Popen(words, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            deadline = time.time() + 200
            while not os.path.exists(self.path(name + ".thought")) and time.time() < deadline:
                time.sleep(0.02)
            running.send_signal(number)
            self.assertEqual(running.wait(200), code)
            support.program("search", "--resume", self.path(name))
            self.assertEqual(self.trials(name), self.undisturbed["trials"])

    def test_trained_architectures(self):
        found = support.result_of("search", "--method", "external", "--command", self.command("trained"), *SMALL,
                                  "--out", self.path("trained"))
        results = [m for m in self.told("trained") if m["type"] == "result"]
        self.assertEqual([m["accuracy"] for m in results], [t["valid"] for t in found["trials"]])
        self.assertEqual(len(results), 4)
        self.assertEqual(results[0]["budget"], "1")

    def test_the_optuna_example(self):
        try:
            import optuna  # noqa: F401
        except ImportError:
            self.skipTest("SKIPPED: the package python3-optuna is missing")
        script = os.path.join(support.SOURCE, "examples", "optuna_search.py")
        command = f"{sys.executable} {script}"
        first = support.result_of(*self.search("optuna", command))
        self.assertEqual(len(first["trials"]), 20)
        support.program(*self.search("optuna2", command))
        self.assertEqual(self.trials("optuna2"), first["trials"])  # the seed is the search's
        long = support.result_of(*self.search("optuna3", command, "--validations", 120))
        self.assertGreaterEqual(long["valid_top1"], 70)  # random search reaches 63 on the mean


if __name__ == "__main__":
    unittest.main(verbosity=2)
