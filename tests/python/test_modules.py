"""Cells, networks, supernets and trained models as torch.nn.Modules: the same numbers as the program and the reference."""

import copy
import ctypes
import gzip
import io
import math
import os
import struct
import tempfile
import threading
import unittest
import zlib

import support

nascent = support.nascent_import()
import torch  # noqa: E402
from torch import nn  # noqa: E402



OWN_SPACE = '''
name = "small"
skeleton = "darts"
ops = ["none", "skip_connect", "sep_conv_3x3"]
none-in-genotypes = false
cells = 6
channels = 12
[[cell]]
type = "normal"
nodes = 3
keep = 2
[[cell]]
type = "reduce"
nodes = 2
keep = 1
'''


def gradients(module, loss):
    for parameter in module.parameters():
        parameter.grad = None
    loss().backward()
    return {name: p.grad.clone() for name, p in module.named_parameters() if p.grad is not None}


class Close(unittest.TestCase):
    def assert_close(self, a, b, relative=2e-4, message=""):
        difference = (a - b).abs().max().item()
        self.assertLessEqual(difference, relative * max(1e-3, b.abs().max().item()), message)


class Cells(Close):
    def cell(self, **more):
        return nascent.FusedCell("darts-v2", "normal", [(8, 8, 8), (8, 8, 8)], channels=8, seed=2, **more)

    def inputs(self):
        torch.manual_seed(1)
        return [torch.randn(4, 8, 8, 8, requires_grad=True) for _ in range(2)]

    def test_gradients_are_those_of_the_reference(self):
        cell, inputs = self.cell(), self.inputs()
        weight = torch.randn(4, *cell.output_shape)
        found = {}
        for engine in ("fused", "reference"):
            for x in inputs:
                x.grad = None
            with nascent.engine(engine):
                grads = gradients(cell, lambda: (cell(*inputs) * weight).sum())
            found[engine] = {**grads, "x0": inputs[0].grad.clone(), "x1": inputs[1].grad.clone()}
        self.assertEqual(found["fused"].keys(), found["reference"].keys())
        self.assertGreater(len(found["fused"]), 20)
        for name, gradient in found["fused"].items():
            self.assertGreater(gradient.abs().max().item(), 0, name)
            self.assert_close(gradient, found["reference"][name], message=name)
        # Not one and the same computation: sums are taken in another order.
        self.assertTrue(any(not torch.equal(found["fused"][n], found["reference"][n]) for n in found["fused"]))

    def test_a_supernets_cell_and_its_mixture(self):
        cell = nascent.FusedCell(nascent.Space("darts"), "normal", [(8, 8, 8), (8, 8, 8)], channels=8, affine=False)
        inputs, grads = self.inputs(), {}
        torch.manual_seed(3)
        alpha = torch.randn(14, 8, requires_grad=True)
        for engine in ("fused", "reference"):
            alpha.grad = None
            with nascent.engine(engine):
                cell(*inputs, mixture=torch.softmax(alpha, 1)).square().mean().backward()
            grads[engine] = alpha.grad.clone()
        self.assert_close(grads["fused"], grads["reference"])
        with self.assertRaisesRegex(nascent.Error, "needs a mixture"):
            cell(*inputs)
        with self.assertRaisesRegex(nascent.Error, "14 sites"):
            cell(*inputs, mixture=torch.ones(13, 8))
        with self.assertRaisesRegex(nascent.Error, "expected a tensor"):
            cell(*inputs, mixture=[[0.5] * 8] * 14)

    def test_learns_inside_a_network_of_ones_own(self):
        class Mine(nn.Module):
            def __init__(self):
                super().__init__()
                self.stem = nn.Conv2d(1, 8, 3, padding=1)
                self.cell = nascent.FusedCell("darts-v2", "normal", [(8, 8, 8), (8, 8, 8)], channels=8)
                self.head = nn.Linear(self.cell.output_shape[0], 2)

            def forward(self, x):
                x = self.stem(x)
                return self.head(self.cell(x, x).mean((2, 3)))

        torch.manual_seed(1)
        labels = torch.randint(2, (64,))
        images = torch.randn(64, 1, 8, 8) * (0.5 + labels.view(-1, 1, 1, 1))
        batches = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(images, labels), 32, shuffle=True,
                                              num_workers=2, persistent_workers=True)
        network = Mine()
        optimiser = torch.optim.Adam(network.parameters(), 0.01)
        for _ in range(8):
            for x, y in batches:
                optimiser.zero_grad()
                loss = nn.functional.cross_entropy(network(x), y)
                loss.backward()
                optimiser.step()
        self.assertLess(loss.item(), 0.3)
        self.assertIn("cell.node2.from0.sep_conv_3x3.1.weight", dict(network.named_parameters()))

    def test_parameters_and_buffers_are_the_engines_own(self):
        cell, inputs = self.cell(), self.inputs()
        before = cell(*inputs).detach()
        running = {name: buffer.clone() for name, buffer in cell.named_buffers()}
        cell(*inputs)
        self.assertTrue(any(not torch.equal(buffer, running[name]) for name, buffer in cell.named_buffers()))
        with torch.no_grad():
            next(cell.parameters()).mul_(1.5)
        self.assertFalse(torch.equal(cell(*inputs).detach(), before))
        cell.eval()
        running = {name: buffer.clone() for name, buffer in cell.named_buffers()}
        cell(*inputs)
        self.assertTrue(all(torch.equal(buffer, running[name]) for name, buffer in cell.named_buffers()))

    def test_copies_and_files(self):
        cell, inputs = self.cell().eval(), self.inputs()
        expected = cell(*inputs)
        file = io.BytesIO()
        torch.save(cell, file)
        file.seek(0)
        for other in (copy.deepcopy(cell), torch.load(file)):
            self.assertTrue(torch.equal(other(*inputs), expected))
            with torch.no_grad():
                next(other.parameters()).zero_()
            self.assertTrue(torch.equal(cell(*inputs), expected))
        fresh = nascent.FusedCell("darts-v2", "normal", [(8, 8, 8), (8, 8, 8)], channels=8, seed=9).eval()
        fresh.load_state_dict(cell.state_dict())
        self.assertTrue(torch.equal(fresh(*inputs), expected))
        # In double precision LibTorch's plain operations do the work, with the same weights and statistics.
        double = copy.deepcopy(cell).double()
        self.assert_close(double(*[x.double() for x in inputs]).float(), expected)
        self.assert_close(double.float()(*inputs), expected)

    def test_mistakes_say_what_was_expected(self):
        cell, inputs = self.cell(), self.inputs()
        with self.assertRaisesRegex(nascent.Error, "takes 2 inputs"):
            cell(inputs[0])
        with self.assertRaisesRegex(nascent.Error, r"\[images, 8, 8, 8\]"):
            cell(inputs[0], inputs[1][:, :4])
        with self.assertRaisesRegex(nascent.Error, "2 inputs"):
            nascent.FusedCell("darts-v2", "normal", [(8, 8, 8)], channels=8)
        with self.assertRaisesRegex(nascent.Error, "normal"):
            nascent.FusedCell("darts-v2", "norml", [(8, 8, 8)] * 2, channels=8)


class Supernets(Close):
    def errors_of_gradients(self, space, seed):
        """How far the engine's gradients are from the reference's in double precision, relative to their length."""
        supernet = nascent.Supernet(space, input=(3, 8, 8), classes=4, channels=4, cells=3, seed=seed, spread=0.5)
        double = copy.deepcopy(supernet).double()
        torch.manual_seed(seed)
        images, labels = torch.randn(6, 3, 8, 8), torch.randint(4, (6,))
        found = gradients(supernet, lambda: nn.functional.cross_entropy(supernet(images), labels))
        with nascent.engine("reference"):
            exact = gradients(double, lambda: nn.functional.cross_entropy(double(images.double()), labels))
        self.assertEqual(found.keys(), exact.keys())
        architecture = [name for name in found if name.startswith("architecture.")]
        self.assertEqual(len(architecture), len(nascent.Space(space).cells))
        floor = 1e-3 * max(gradient.norm().item() for gradient in exact.values())
        return [((found[name] - exact[name]).norm() / max(exact[name].norm().item(), floor)).item() for name in exact]

    def test_gradients_are_those_of_the_reference(self):
        for space in ("nasbench201", "darts"):
            worst = sorted(max(self.errors_of_gradients(space, seed)) for seed in range(1, 6))
            # Where a sum rounds to the other side of a ReLU, no two orders of summation agree: that may happen, rarely.
            self.assertLess(worst[2], 1e-4, space)
            self.assertLess(worst[-1], 0.2, space)

    def test_a_one_hot_mixture_is_the_genotype(self):
        supernet = nascent.Supernet("nasbench201", input=(3, 8, 8), channels=4, cells=1)
        genotype = supernet.space[1462]
        ops, choices = supernet.space.candidates, supernet.space.encode(genotype)
        one_hot = torch.zeros(6, len(ops))
        for site, choice in enumerate(choices):
            one_hot[site, ops.index(supernet.space.operations[choice])] = 1
        self.assertEqual(supernet.genotype({"cell": one_hot}), genotype)
        logits = supernet(torch.randn(2, 3, 8, 8), {"cell": {"ops": one_hot, "active": [[c] for c in choices]}})
        self.assertEqual(logits.shape, (2, 10))

    def test_optimisers_of_their_own(self):
        supernet = nascent.Supernet("nasbench201", input=(3, 8, 8), channels=4, cells=1)
        own, all_of_them = len(supernet.weights()), len(list(supernet.parameters()))
        self.assertEqual(all_of_them - own, 1)
        self.assertEqual(supernet.architecture["cell"].shape, (6, 5))
        other = copy.deepcopy(supernet)
        images = torch.randn(2, 3, 8, 8)
        self.assertTrue(torch.equal(other(images), supernet(images)))
        with self.assertRaisesRegex(nascent.Error, "every type of cell: cell"):
            supernet(images, torch.ones(6, 5))
        file = io.BytesIO()
        torch.save(supernet.eval(), file)
        file.seek(0)
        self.assertTrue(torch.equal(torch.load(file)(images), supernet(images)))

    def test_a_space_of_ones_own(self):
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
            file.write(OWN_SPACE)
            file.flush()
            space = nascent.Space(file.name)
            images = torch.randn(2, 3, 8, 8)
            supernet = nascent.Supernet(space, input=(3, 8, 8), channels=4, cells=3).eval()
            self.assertTrue(torch.equal(copy.deepcopy(supernet)(images), supernet(images)))
            genotype = space.sample(seed=1)
            network = nascent.Network(genotype, input=(3, 8, 8), channels=4, cells=3, space=space)
            self.assertEqual(network(images).shape, (2, 10))
            self.assertEqual(network.parameter_count,
                             genotype.sizes(input=(3, 8, 8), channels=4, cells=3, space=file.name)["parameters"])


class Networks(Close):
    def test_sizes_and_plain_use(self):
        network = nascent.Network("darts-v2", channels=4, cells=3, auxiliary=True, drop_path=0.2)
        images = torch.rand(2, 3, 32, 32)
        logits, auxiliary = network(images)
        self.assertEqual((logits.shape, auxiliary.shape), ((2, 10), (2, 10)))
        network.eval()
        self.assertTrue(torch.equal(network(images), copy.deepcopy(network)(images)))
        sizes = nascent.Genotype.find("darts-v2").sizes(channels=4, cells=3)
        self.assertEqual(network.parameter_count, sizes["parameters"])
        with self.assertRaisesRegex(nascent.Error, "3x32x32"):
            network(torch.rand(2, 1, 28, 28))
        with self.assertRaisesRegex(nascent.Error, "There is no option 'chanels'. Did you mean 'channels'"):
            nascent.Network("darts-v2", chanels=4)

    def ticks_during(self, work):
        """How often a thread that counts milliseconds gets to run during the work."""
        started, done, ticks = threading.Event(), threading.Event(), []

        def count():
            started.wait()
            while not done.wait(0.001):
                ticks.append(1)

        counter = threading.Thread(target=count)
        counter.start()
        started.set()
        work()
        so_far = len(ticks)  # before the counter can catch up
        done.set()
        counter.join()
        return so_far

    def test_threads_compute_side_by_side(self):
        network = nascent.Network("nasbench201:1462", input=(3, 16, 16), classes=4, channels=8, cells=1)
        torch.manual_seed(1)
        images, labels = torch.rand(8, 3, 16, 16), torch.randint(4, (8,))
        copies = [copy.deepcopy(network) for _ in range(3)]

        def found(module):
            return gradients(module, lambda: nn.functional.cross_entropy(module(images), labels))

        expected, wrong = found(copies[2]), []

        def work(module):
            for _ in range(8):
                for name, gradient in found(module).items():
                    if not torch.allclose(gradient, expected[name], rtol=1e-3, atol=1e-5):
                        wrong.append(name)

        threads = [threading.Thread(target=work, args=(module,)) for module in copies[:2]]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_other_threads_go_on_during_a_forward_and_a_backward(self):
        network = nascent.Network("darts-v2", channels=16, cells=5)
        images = torch.rand(16, 3, 32, 32)
        logits = network(images)
        self.assertGreater(self.ticks_during(lambda: network(images)), 8)
        self.assertGreater(self.ticks_during(lambda: logits.sum().backward()), 8)
        # What keeps the interpreter's lock lets nobody count.
        self.assertLess(self.ticks_during(lambda: ctypes.PyDLL(None).usleep(200000)), 8)


def png(pixels, side):
    """A grey PNG file."""
    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))
    rows = b"".join(b"\0" + pixels[y * side:(y + 1) * side] for y in range(side))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class Models(support.FolderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        support.program("train", "nasbench201:4321", "--channels", 8, "--cells", 1, "--epochs", 1, "--batch", 32,
                        "--threads", 1, "--data", "fashion-mnist", "--limit", 512, "--limit-test", 100, "--out",
                        cls.path("run"), "--seed", 3)
        with gzip.open(cls.find_clothes()) as file:
            file.seek(16)
            os.mkdir(cls.path("pictures"))
            for i in range(24):
                with open(cls.path("pictures", f"{i:02}.png"), "wb") as picture:
                    picture.write(png(file.read(784), 28))

    @staticmethod
    def find_clothes():
        for folder, _, names in os.walk("/usr/share"):
            for name in names:
                if name == "t10k-images-idx3-ubyte.gz":
                    return os.path.join(folder, name)
        raise unittest.SkipTest("SKIPPED: the package dataset-fashion-mnist is missing")

    def test_logits_are_those_of_predict(self):
        model = nascent.load_model(self.path("run"))
        self.assertIsInstance(model, nn.Module)
        told = support.result_of("predict", self.path("run"), self.path("pictures"), "--top", 10)
        pixels = model.read(self.path("pictures"))
        self.assertEqual(pixels.shape, (24, 1, 28, 28))
        self.assertTrue(0 <= pixels.min() and pixels.max() <= 1)
        with torch.no_grad():
            logits = model(pixels)
        self.assertGreater(logits.std(0).max().item(), 0.05)  # pictures differ
        for row, picture in zip(torch.log_softmax(logits.double(), 1), told):
            for guess in picture["predictions"]:
                found = row[model.classes.index(guess["class"])].item()
                # Logits up to the constant that the softmax takes away.
                self.assertAlmostEqual(found, math.log(guess["probability"]), delta=1e-5)
        mine = model.predict(self.path("pictures"), top=3)
        self.assertEqual([[g["class"] for g in row["predictions"]] for row in mine],
                         [[g["class"] for g in row["predictions"][:3]] for row in told])
        self.assertEqual([row["picture"] for row in mine], [row["picture"] for row in told])

    def test_logits_are_those_of_the_exported_network(self):
        support.program("export", self.path("run"), "--format", "torchscript", "--out", self.path("model.pt"))
        script = torch.jit.load(self.path("model.pt"))
        model = nascent.load_model(self.path("run", "model.nascent"))
        pixels = model.read(self.path("pictures"))
        with torch.no_grad():
            self.assertLessEqual((script(pixels) - model(pixels)).abs().max().item(), 1e-5)

    def test_accuracy_is_that_of_eval(self):
        told = support.result_of("eval", self.path("run"), "--limit-test", 10000)
        model = nascent.load_model(self.path("run"))
        source = self.find_clothes()
        with gzip.open(source.replace("images-idx3", "labels-idx1")) as file:
            labels = torch.tensor(list(file.read()[8:]))
        with gzip.open(source) as file:
            pixels = torch.frombuffer(bytearray(file.read()[16:]), dtype=torch.uint8).view(-1, 1, 28, 28) / 255
        batches = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(pixels, labels), 500)
        with torch.no_grad():
            right = sum((model(x).argmax(1) == y).sum().item() for x, y in batches)
        self.assertEqual(told["images"], len(labels))
        self.assertAlmostEqual(100 * right / len(labels), told["top1"], delta=0.011)  # one picture may be on the edge

    def test_what_a_model_tells_and_keeps(self):
        model = nascent.load_model(self.path("run"))
        self.assertEqual((model.input_shape, len(model.classes), model.data), ((1, 28, 28), 10, "fashion-mnist"))
        self.assertEqual(model.genotype, nascent.Genotype.find("nasbench201:4321"))
        self.assertFalse(model.training)
        pixels = model.read(self.path("pictures"))
        other = copy.deepcopy(model)
        self.assertTrue(torch.equal(other(pixels), model(pixels)))
        with torch.no_grad():
            for parameter in other.parameters():
                parameter.mul_(0.9)
        self.assertFalse(torch.equal(other(pixels), model(pixels)))
        other.save(self.path("tuned.nascent"))
        again = nascent.load_model(self.path("tuned.nascent"))
        self.assertTrue(torch.equal(again(pixels), other(pixels)))

    def ensemble(self, **combination):
        """Of the trained model and one with other weights."""
        first = nascent.load_model(self.path("run"))
        second = copy.deepcopy(first)
        with torch.no_grad():
            for parameter in second.parameters():
                parameter.mul_(1 + 0.5 * torch.rand(parameter.shape, generator=torch.Generator().manual_seed(4)))
        return nascent.Ensemble([first, second], **combination)

    def test_an_ensemble_answers_as_predict_does(self):
        for combination in ({}, {"combine": "logits"}, {"weights": [3.0, 1.0], "temperature": 1.5}):
            with self.subTest(**combination):
                self.ensemble(**combination).save(self.path("ensemble.nascent"))
                told = support.result_of("predict", self.path("ensemble.nascent"), self.path("pictures"), "--top", 10)
                ensemble = nascent.load_model(self.path("ensemble.nascent"))
                self.assertIsInstance(ensemble, nascent.Ensemble)
                pixels = ensemble.read(self.path("pictures"))
                with torch.no_grad():
                    logs = ensemble(pixels)
                self.assertTrue(torch.allclose(logs.exp().sum(1), torch.ones(24), atol=1e-5))
                for row, picture in zip(logs, told):
                    for guess in picture["predictions"]:
                        self.assertAlmostEqual(row[ensemble.classes.index(guess["class"])].exp().item(),
                                               guess["probability"], delta=1e-5)
                mine = ensemble.predict(self.path("pictures"), top=1)
                self.assertEqual([row["predictions"][0]["class"] for row in mine],
                                 [row["predictions"][0]["class"] for row in told])

    def test_an_ensemble_is_a_module(self):
        ensemble = self.ensemble()
        pixels = ensemble.read(self.path("pictures"))
        with torch.no_grad():
            mean = sum(torch.softmax(member(pixels), 1) for member in ensemble.members) / 2
            self.assertTrue(torch.allclose(ensemble(pixels), mean.log(), atol=1e-5))
            self.assertFalse(torch.allclose(mean, torch.softmax(ensemble.members[0](pixels), 1), atol=1e-3))
        other = copy.deepcopy(ensemble)
        torch.save(ensemble, self.path("ensemble.pt"))
        for again in (other, torch.load(self.path("ensemble.pt"))):
            self.assertTrue(torch.equal(again(pixels), ensemble(pixels)))
        nn.functional.nll_loss(ensemble(pixels), torch.zeros(24, dtype=torch.long)).backward()
        self.assertTrue(all(parameter.grad is not None for parameter in ensemble.parameters()))

    def test_mistakes(self):
        with self.assertRaises(nascent.Error):
            nascent.load_model(self.path("nothing"))
        with open(self.path("run", "model.nascent"), "rb") as file:
            whole = file.read()
        with open(self.path("cut.nascent"), "wb") as file:
            file.write(whole[:len(whole) // 2])
        with self.assertRaises(nascent.Error):
            nascent.load_model(self.path("cut.nascent"))
        with self.assertRaisesRegex(nascent.Error, "Divide bytes by 255"):
            nascent.load_model(self.path("run"))(torch.zeros(1, 1, 28, 28, dtype=torch.uint8))
        with open(self.path("no.png"), "w") as file:
            file.write("no picture")
        with self.assertRaisesRegex(nascent.Error, "no.png"):
            nascent.load_model(self.path("run")).read(self.path("no.png"))

    def test_training_from_python(self):
        done = nascent.train("nasbench201:77", data="random", size=48, shape=[3, 8, 8], classes=4, channels=4, cells=1,
                             epochs=1, batch=16, threads=1, out=self.path("trained"))
        self.assertEqual(nascent.Run(self.path("trained")).result["parameters"], done["parameters"])
        self.assertEqual(nascent.load_model(done["model"]).input_shape, (3, 8, 8))


if __name__ == "__main__":
    unittest.main(verbosity=2)
