"""Generators and critics learn side by side on real pictures, and go on after a stop to the same numbers."""

import numpy as np
from PIL import Image

from core import nd
from scripts.gan import demo_cycle_gan, demo_srgan, train_cgan, train_srgan, train_wgan
from scripts.gan.pictures import save_grid


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
