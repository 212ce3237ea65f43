"""Generators and critics learn side by side on real pictures, and go on after a stop to the same numbers."""

import numpy as np
from PIL import Image

import core as mx
from core import autograd, nd
from scripts.gan import demo_cycle_gan, demo_srgan, train_cgan, train_srgan, train_wgan
from scripts.gan.pictures import save_grid
from scripts.gan.stylegan import demo_stylegan, prepare_data
from scripts.gan.stylegan import model as stylegan
from scripts.gan.stylegan import train as train_stylegan


def test_wgan_and_its_resumption(programs, data, tmp_path):
    given = [
        "--dataset",
        "folder",
        "--dataroot",
        data / "imagenet_samples" / "images",
        "--samples",
        8,
        "--batchSize",
        4,
    ]
    small = "--imageSize 16 --ngf 4 --ndf 4 --nz 8 --lrD 0.001 --clamp_lower -0.05 --clamp_upper 0.05".split()
    program = [train_wgan.main, *given, *small, "--niter", 4, "--experiment", tmp_path / "drawn"]
    whole = programs(*program, into="whole")
    record = programs.record("whole")
    # The critic learns to tell real pictures from generated ones: its estimate of their distance rises.
    assert record["epochs"][-1]["distance"] > record["epochs"][0]["distance"]
    drawn = (tmp_path / "drawn" / "fake_samples_0004.png").read_bytes()
    programs.interrupted(*program, rows=3, into="twice")
    assert programs(*program, "--resume", into="twice") == whole
    assert programs.record("twice") == record
    assert (tmp_path / "drawn" / "fake_samples_0004.png").read_bytes() == drawn


def test_shapes_of_both_kinds_of_networks():
    for more in ([], ["--mlp_G", "--mlp_D"], ["--n_extra_layers", "1", "--noBN"]):
        args = train_wgan.parse_args(
            [
                "--dataset",
                "mnist",
                "--dataroot",
                ".",
                "--nc",
                "1",
                "--imageSize",
                "32",
                "--ngf",
                "4",
                "--ndf",
                "4",
                *more,
            ]
        )
        generator, critic = train_wgan.make_generator(args), train_wgan.make_critic(args)
        generator.initialize()
        critic.initialize()
        pictures = generator(nd.random.normal(shape=(2, args.nz, 1, 1)))
        assert pictures.shape == (2, 1, 32, 32) and critic(pictures).shape == (2, 1)


def test_grids(tmp_path):
    from PIL import Image

    pictures = nd.array(np.stack([np.full((3, 2, 4), value) for value in (-1, 0, 1)]))
    save_grid(tmp_path / "grid.png", pictures, columns=2)
    with Image.open(tmp_path / "grid.png") as grid:
        pixels = np.asarray(grid)
    assert pixels.shape == (4, 8, 3) and [pixels[0, 0, 0], pixels[0, 4, 0], pixels[2, 0, 0], pixels[2, 4, 0]] == [
        0,
        128,
        255,
        0,
    ]


def test_cycle_gan_its_resumption_and_the_demo(programs, data, tmp_path):
    pictures = sorted((data / "imagenet_samples" / "images").glob("*"))[:6]
    for k, path in enumerate(pictures):
        folder = tmp_path / "root" / ("trainA" if k % 2 else "trainB")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{k}.jpg").write_bytes(path.read_bytes())
    nets = "--which_model_netG resnet_6blocks --ngf 4".split()
    given = ["--dataroot", tmp_path / "root", "--loadSize", 20, "--fineSize", 16, "--ndf", 4, "--n_layers_D", 1, *nets]
    length = ["--which_model_netD", "n_layers", "--niter", 2, "--niter_decay", 2, "--pool_size", 2, "--lr", 0.002]
    program = [train_cgan.main, *given, *length, "--experiment", tmp_path / "drawn"]
    whole = programs(*program, into="whole")
    record = programs.record("whole")
    assert record["epochs"][-1]["cycle_loss"] < record["epochs"][0]["cycle_loss"]
    programs.interrupted(*program, rows=3, into="twice")
    assert programs(*program, "--resume", into="twice") == whole
    assert programs.record("twice") == record
    saved = max((tmp_path / "whole").rglob("net.params"))  # the last of two
    shown = ["--images", str(pictures[0]), "--pretrained", str(saved), "--loadSize", "16", "--save-dir", str(tmp_path)]
    (file,) = demo_cycle_gan.main([*shown, *nets])
    assert file.exists()


def test_srgan_its_resumption_and_its_demo(programs, data, tmp_path):
    pictures = data / "imagenet_samples" / "images"
    small = "--samples 2 --batchSize 2 --fineSize 64 --blocks 1 --width 4 --perceptual-weight 0 --lr_init 0.002".split()
    epochs = ["--n_epoch_init", 2, "--n_epoch", 2, "--experiment", tmp_path / "drawn"]
    program = [train_srgan.main, "--dataroot", pictures, *small, *epochs]
    whole = programs(*program, into="whole")
    rows = programs.record("whole")["epochs"]
    assert rows[1]["mse"] < rows[0]["mse"] and np.isfinite(rows[3]["discriminator_loss"])
    programs.interrupted(*program, rows=3, into="twice")
    assert programs(*program, "--resume", into="twice") == whole
    (saved,) = [path for path in (tmp_path / "whole").rglob("net.params") if "0004" in str(path)]
    picture = tmp_path / "small.png"
    Image.fromarray(np.zeros((8, 12, 3), "uint8")).save(picture)
    net = ["--blocks", "1", "--width", "4", "--pretrained", str(saved), "--save-dir", str(tmp_path / "large")]
    (drawn,) = demo_srgan.main(["--images", str(picture), *net])
    assert Image.open(drawn).size == (48, 32)


def test_stylegan_grows_and_goes_on_to_the_same_numbers(programs, data, tmp_path):
    sizes = tmp_path / "sizes"
    (tmp_path / "pictures").mkdir()
    for path in sorted((data / "imagenet_samples" / "images").iterdir())[:8]:
        (tmp_path / "pictures" / path.name).symlink_to(path)
    assert prepare_data.main(["--path", str(tmp_path / "pictures"), "--out", str(sizes), "--n_worker", "1"]) == 8
    with Image.open(sizes / "64" / "00007.jpg") as picture:
        assert picture.size == (64, 64)
    small = (
        "--phase 4 --init_size 8 --max_size 16 --code 16 --channels 8 --batch-size 4 --mixing --num-epochs 3".split()
    )
    where = ["--out", tmp_path / "drawn", "--ckpt_dir", tmp_path / "kept"]
    program = [train_stylegan.main, "--path", sizes, *small, *where]
    whole = programs(*program, into="whole")
    record = programs.record("whole")
    assert [row["size"] for row in record["epochs"]] == [8, 8, 16] and whole["size"] == 16
    programs.interrupted(*program, rows=2, into="twice")
    assert programs(*program, "--resume", into="twice") == whole
    assert programs.record("twice") == record
    with Image.open(tmp_path / "drawn" / "000003.png") as grid:
        assert grid.size == (8 * 16, 2 * 16)
    given = ["--path", str(tmp_path / "kept" / "g_running.params"), "--size", "16", "--stages", "3", "--n_sample", "2"]
    files = demo_stylegan.main([*given, "--code", "16", "--channels", "8", "--out_dir", str(tmp_path / "faces")])
    assert [Image.open(file).size for file in files] == [(16, 16)] * 2


def test_penalties_of_stylegan_are_those_of_their_formulas():
    """For a linear critic the gradient is its weight everywhere."""
    weight = nd.array(np.random.RandomState(0).standard_normal((1, 12)).astype("float32"))
    real, fake = (nd.array(np.random.RandomState(k).standard_normal((2, 3, 2, 2)).astype("float32")) for k in (1, 2))

    def critic(x, step, alpha):
        return nd.dot(x.reshape((0, -1)), weight, transpose_b=True)

    length = np.linalg.norm(weight.asnumpy())
    with autograd.record():
        loss, penalty = train_stylegan.adversarial("wgan-gp", critic, real, fake, 0, 1.0)
        logistic, square = train_stylegan.adversarial("r1", critic, real, fake, 0, 1.0)
    scores = [critic(x, 0, 1.0).asnumpy().ravel() for x in (real, fake)]
    np.testing.assert_allclose(loss.asnumpy(), scores[1] - scores[0], rtol=1e-5)
    np.testing.assert_allclose(penalty.asnumpy(), [(length - 1) ** 2] * 2, rtol=1e-4)
    np.testing.assert_allclose(square.asnumpy(), [length**2] * 2, rtol=1e-4)
    wanted = np.log1p(np.exp(scores[1])) + np.log1p(np.exp(-scores[0]))
    np.testing.assert_allclose(logistic.asnumpy(), wanted, rtol=1e-5)


def test_the_discriminators_of_stylegan_learn_from_their_penalties():
    """The gradient of the penalty, which is itself of a gradient, agrees with a finite difference."""
    mx.random.seed(3)
    net = stylegan.Discriminator(widths=(4, 4))
    net.initialize()
    real, fake = (nd.random.normal(shape=(2, 3, 8, 8)) for _ in range(2))
    parameter = net.from_rgb[1].weight_orig

    def penalty():
        with autograd.record():
            _, found = train_stylegan.adversarial("r1", net, real, fake, 1, 0.5)
            return found.sum()

    total = penalty()
    total.backward()
    wanted = parameter.grad().asnumpy()[1, 2, 0, 0]
    values = parameter.data().asnumpy()
    found = []
    for shift in (1e-2, -1e-2):
        moved = values.copy()
        moved[1, 2, 0, 0] += shift
        parameter.set_data(nd.array(moved))
        found.append(float(penalty().asscalar()))
    assert abs((found[0] - found[1]) / 2e-2 - wanted) < 0.02 * max(abs(wanted), 1)


def test_styles_of_stylegan_are_scaled_mixed_and_drawn_to_their_mean():
    mx.random.seed(1)
    net = stylegan.StyledGenerator(8, n_mlp=2, widths=(8, 8, 8))
    net.initialize()
    one, two = (nd.random.normal(shape=(2, 8)) for _ in range(2))
    noise = [nd.zeros((2, 1, side, side)) for side in (4, 8, 16)]
    none = (None, 1.0)  # no mean style

    def drawn(x, step=2, alpha=1.0, second=None, crossover=0, truncation=none):
        return net(x, step, alpha, second, crossover, *truncation, noise).asnumpy()

    first, second = drawn(one), drawn(two)
    assert first.shape == (2, 3, 16, 16) and not np.allclose(first, second)
    np.testing.assert_allclose(drawn(one, second=two), second, rtol=1e-5, atol=1e-5)
    mixed = drawn(one, second=two, crossover=2)
    assert not np.allclose(mixed, first) and not np.allclose(mixed, second)
    mean = net.mean_style(nd.random.normal(shape=(64, 8)))
    alike = drawn(one, truncation=(mean, 0.0))
    np.testing.assert_allclose(alike[0], alike[1], rtol=1e-5, atol=1e-5)
    # A size that fades in is at first the smaller one, doubled.
    small = drawn(one, 1).repeat(2, axis=2).repeat(2, axis=3)
    np.testing.assert_allclose(drawn(one, 2, 0.0), small, rtol=1e-5, atol=1e-5)
    names = set(net._collect_params_with_prefix())
    assert {"generator.progression.0.conv1.input", "generator.to_rgb.2.conv.bias", "style.1.weight_orig"} <= names
