"""Spaces, genotypes, scores, tables and runs from Python, against known answers and the nascent program."""

import copy
import pickle
import random
import unittest

import support

nascent = support.nascent_import()

NB201 = "|nor_conv_3x3~0|+|nor_conv_3x3~0|skip_connect~1|+|none~0|none~1|nor_conv_3x3~2|"


class Spaces(unittest.TestCase):
    def test_counts(self):
        self.assertEqual(nascent.Space("nasbench201").count(), 15625)
        self.assertEqual(nascent.Space("nasbench101").count(), 423624)
        self.assertIn("darts", nascent.spaces())

    def test_samples_follow_the_seed_and_belong_to_the_space(self):
        for name in ("nasbench201", "darts", "nasbench101"):
            space = nascent.Space(name)
            first = space.sample(seed=3)
            space.validate(first)
            self.assertEqual(first, space.sample(seed=3))
            self.assertGreater(len({space.sample(seed=i) for i in range(20)}), 15)
        random.seed(5)
        drawn = [space.sample() for _ in range(3)]
        random.seed(5)
        self.assertEqual(drawn, [space.sample() for _ in range(3)])

    def test_a_mutation_changes_one_choice(self):
        space = nascent.Space("nasbench201")
        for seed in range(20):
            parent = space.sample(seed=seed)
            child = space.mutate(parent, seed=seed)
            different = [a != b for a, b in zip(space.encode(parent), space.encode(child))]
            self.assertEqual(sum(different), 1)

    def test_places_and_choices_go_both_ways(self):
        space = nascent.Space("nasbench201")
        self.assertEqual(space.sizes, [5] * 6)
        for index in (0, 1462, 15624):
            self.assertEqual(space.index(space[index]), index)
            self.assertEqual(space.decode(space.encode(space[index])), space[index])
        self.assertEqual(space[1462], nascent.Genotype.find("nasbench201:1462"))

    def test_mistakes_say_what_to_do(self):
        with self.assertRaisesRegex(nascent.Error, "Did you mean 'nasbench201'"):
            nascent.Space("nasbench20")
        space = nascent.Space("nasbench201")
        with self.assertRaisesRegex(nascent.Error, "0 to 15624"):
            space[15625]
        with self.assertRaisesRegex(nascent.Error, "expected 0 to 4"):
            space.decode([0, 0, 0, 0, 0, 5])
        with self.assertRaises(nascent.Error):
            space.mutate(nascent.Space("darts").sample(seed=1))


class Genotypes(unittest.TestCase):
    def test_every_text_form_comes_back(self):
        seen = set()
        for name in nascent.spaces():
            genotype = nascent.Space(name).sample(seed=7)
            for form in genotype.forms:
                again = nascent.Genotype.parse(genotype.text(form), form, name)
                self.assertEqual(again.text("json"), genotype.text("json"), f"{name} as {form}")
                seen.add(form)
        self.assertEqual(seen, {"json", "darts", "nasbench201", "nasbench101"})

    def test_texts_are_those_of_the_program(self):
        for name in ("darts-v2", "nasbench201:1462", NB201):
            shown = support.result_of("genotype", name)
            genotype = nascent.Genotype.find(name)
            self.assertEqual({form: genotype.text(form) for form in genotype.forms}, shown["forms"])
            self.assertEqual(genotype.sizes()["parameters"], shown["parameters"])
            self.assertEqual(genotype.sizes()["multiply_adds"], shown["multiply_adds"])

    def test_what_a_genotype_tells(self):
        genotype = nascent.Genotype.find("darts-v2")
        self.assertEqual((genotype.space, genotype.cells), ("darts", ["normal", "reduce"]))
        self.assertEqual(genotype.json()["space"], "darts")
        self.assertTrue(genotype.dot().startswith("digraph"))
        self.assertEqual(genotype.depth("normal"), support.result_of("genotype", "darts-v2")["cells"][0]["depth"])
        self.assertIn("darts-v2", nascent.genotypes())
        self.assertIn("<svg", genotype.svg())

    def test_as_a_value(self):
        a, b = nascent.Genotype.parse(NB201), nascent.Genotype.find(NB201)
        self.assertEqual(len({a, b}), 1)
        self.assertNotEqual(a, nascent.Genotype.find("nasbench201:0"))
        self.assertFalse(a == 3)
        self.assertEqual(pickle.loads(pickle.dumps(a)), a)
        self.assertEqual(copy.deepcopy(a), a)
        self.assertEqual(str(a), NB201)

    def test_mistakes_point_at_the_place(self):
        with self.assertRaisesRegex(nascent.Error, "nor_conv_3x4"):
            nascent.Genotype.parse(NB201.replace("nor_conv_3x3~2", "nor_conv_3x4~2"))
        with self.assertRaisesRegex(nascent.Error, "Did you mean 'darts-v1'"):
            nascent.Genotype.find("darts-v3")
        with self.assertRaisesRegex(nascent.Error, "cannot express"):
            nascent.Genotype.find("darts-v2").text("nasbench201")


class Scores(support.FolderTest):
    OPTIONS = {"metrics": ["grad", "snip", "trace", "kappa"], "data": "random", "shape": [3, 16, 16], "channels": 4,
               "cells": 1, "batch": 8, "cache": "none", "threads": 1}

    def test_scores_are_those_of_the_program(self):
        flags = []
        for name, value in self.OPTIONS.items():
            flags += [f"--{name}", ",".join(map(str, value)) if isinstance(value, list) else value]
        told = support.result_of("score", NB201, *flags)
        scores = nascent.score(nascent.Genotype.parse(NB201), **self.OPTIONS)
        self.assertEqual(set(scores), set(self.OPTIONS["metrics"]))
        for metric, value in scores.items():
            self.assertGreater(value, 0)
            self.assertAlmostEqual(value / told[metric], 1, places=6, msg=metric)

    def test_several_at_once(self):
        scores = nascent.score(["nasbench201:1462", NB201], **self.OPTIONS)
        self.assertEqual(len(scores), 2)
        self.assertNotEqual(scores[0]["snip"], scores[1]["snip"])

    def test_mistakes(self):
        with self.assertRaisesRegex(nascent.Error, "Did you mean 'metrics'"):
            nascent.score(NB201, metric_=["grad"])
        with self.assertRaisesRegex(nascent.Error, "channels"):
            nascent.score(NB201, channels="many")
        self.assertIn("trace", nascent.metrics())


class Tables(support.FolderTest):
    def setUp(self):
        self.table = nascent.Table(self.toy_table())

    def test_queries_are_those_of_the_program(self):
        self.assertEqual(len(self.table), 15625)
        self.assertEqual(self.table.query(NB201, "toy_valid12"), support.toy_quality(NB201))
        self.assertEqual(self.table.query(NB201), {"toy_test12": 61, "toy_train_seconds12": 120, "toy_valid12": 60})
        shown = support.result_of("table", "query", self.toy_table(), NB201)["data"]["toy"][0]
        place = self.table.ranks(NB201)[0]
        self.assertEqual({key: place[key] for key in ("valid", "test", "rank", "regret")},
                         {key: shown[key] for key in ("valid", "test", "rank", "regret")})
        self.assertEqual(self.table.query(77), self.table.query("#77"))

    def test_the_best(self):
        best = self.table.best(2, "toy_valid12")
        self.assertEqual(str(best[0]).count("nor_conv_3x3"), 6)
        self.assertEqual(self.table.rank(best[0], "toy_valid12"), 1)
        values = self.table.values("toy_valid12")
        self.assertEqual((values.max().item(), len(values)), (90, 15625))

    def test_searches_are_those_of_the_program(self):
        found = self.table.search("rea", seconds=3000, seed=4)
        told = support.result_of("search", "--method", "rea", "--table", self.toy_table(), "--judge-data", "toy",
                                 "--budget", 3000, "--seed", 4, "--out", self.path("rea"))
        self.assertEqual([trial["valid"] for trial in found["trials"]], [trial["valid"] for trial in told["trials"]])
        self.assertEqual(found["genotype"].text(), told["genotype_text"])
        self.assertEqual(found["ranks"]["toy"]["rank"], told["table"]["toy"]["rank"])

    def test_a_strategy_in_python(self):
        class Climb:
            def __init__(self, space):
                self.space, self.best, self.told, self.seed = space, (space[0], -1.0), 0, 0

            def propose(self):
                self.seed += 1
                return self.space.mutate(self.best[0], seed=self.seed) if self.told < 150 else None

            def tell(self, genotype, accuracy):
                self.told += 1
                if accuracy >= self.best[1]:
                    self.best = (genotype, accuracy)

        found = self.table.search(Climb(self.table.space), seconds=1e9)
        self.assertEqual(len(found["trials"]), 150)
        self.assertGreaterEqual(found["valid"], 80)

    def test_mistakes(self):
        with self.assertRaisesRegex(nascent.Error, "There is no"):
            self.table.search("raa")
        with self.assertRaisesRegex(nascent.Error, "Did you mean 'toy'"):
            self.table.search("rea", data="tov")
        with self.assertRaisesRegex(nascent.Error, "propose"):
            self.table.search(type("Wrong", (), {"propose": lambda self: 3})())
        with self.assertRaisesRegex(nascent.Error, "does not name an architecture"):
            self.table.query(0.5)
        with self.assertRaises(nascent.Error):
            nascent.Table(self.path("none.table"))


class Runs(support.FolderTest):
    def test_a_search_from_python_is_a_run(self):
        table = self.toy_table()
        found = nascent.search(method="random", table=table, judge_data="toy", validations=5, seed=9,
                               out=self.path("runs", "a"))
        told = support.result_of("search", "--method", "random", "--table", table, "--judge-data", "toy",
                                 "--validations", 5, "--seed", 9, "--out", self.path("runs", "b"))
        self.assertEqual(found["trials"], told["trials"])
        listed = nascent.runs(self.path("runs"))
        self.assertEqual({row["run"] for row in listed}, {self.path("runs", "a"), self.path("runs", "b")})
        run = nascent.Run(self.path("runs", "a"))
        self.assertEqual((run.state, run.info["verb"], run.options["judge"]["validations"]), ("done", "search", 5))
        self.assertEqual(run.genotype.text(), found["genotype_text"])
        rows = run.events("judgement")
        self.assertEqual([row["valid_top1"] for row in rows], [trial["valid"] for trial in found["trials"]])
        self.assertTrue(all(set(row) >= {"kind", "epoch", "step", "seconds", "architecture"} for row in rows))
        self.assertEqual([y for _, y in run.series("judgement", "valid_top1")], [row["valid_top1"] for row in rows])

    def test_mistakes(self):
        with self.assertRaises(nascent.Error):
            nascent.Run(self.path("nowhere"))
        with self.assertRaisesRegex(nascent.Error, "There is no option 'validation'"):
            nascent.search(method="random", validation=5)
        with self.assertRaisesRegex(nascent.Error, "architecture.lr is not an option of the method 'random'"):
            nascent.search(method="random", **{"architecture.lr": 0.1})


if __name__ == "__main__":
    unittest.main(verbosity=2)
