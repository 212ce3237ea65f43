"""Flags that programs share: command lines for GluonCV are taken, or refused with what serves here."""

import argparse

import pytest

from core import cpu, nd
from gluoncv.model_zoo import get_model
from scripts.action_recognition import feat_extract, inference, test_recognizer, train_recognizer
from scripts.common import regions
from scripts.common.devices import (
    add_count_argument,
    add_first_argument,
    add_gpu_argument,
    add_list_argument,
    add_numbers_argument,
    context_of,
)  # fmt: skip
from scripts.common.foreign import add_refused_argument
from scripts.gan import demo_srgan, train_cgan, train_srgan, train_wgan
from scripts.image_classification import train_cifar10, train_imagenet
from scripts.image_classification import validate as validate_classifier
from scripts.instance_segmentation import eval_mask_rcnn, train_mask_rcnn
from scripts.language_model import large_word_language_model, word_language_model
from scripts.machine_translation import train_gnmt, train_transformer
from scripts.natural_language_inference import main as inference_of_language
from scripts.object_detection import train_faster_rcnn, train_ssd, train_yolo3
from scripts.pose_estimation import train_simple_pose, validate
from scripts.semantic_segmentation import test as segmentation
from scripts.tracking import smot_demo, smot_eval, train_siamrpn

IMAGENET = [train_imagenet, "--model", "resnet18_v1b"]


def test_what_is_not_here_is_refused_with_what_serves(capsys):
    program, *rest = IMAGENET
    with pytest.raises(SystemExit):
        program.parse_args([*rest, "--use_sk"])
    assert "--use_sk is not here: GluonCV hands it to a network, and none takes it" in capsys.readouterr().err
    assert not hasattr(program.parse_args(rest), "use_sk")


@pytest.mark.parametrize("program", [train_ssd, train_yolo3, train_faster_rcnn])
def test_horovod_is_a_store(program):
    assert program.parse_args(["--horovod"]).kv_store == "horovod" and program.parse_args([]).kv_store == ""


def test_pycocotools_takes_the_place_of_an_extension(capsys):
    for program in (train_mask_rcnn, eval_mask_rcnn):
        assert not hasattr(program.parse_args(["--use-ext"]), "use_ext")
        assert "--use-ext is not here: pycocotools measures the same" in capsys.readouterr().err


def test_the_ordinary_loader_takes_the_place_of_dali(capsys):
    args = train_ssd.parse_args(["--dali", "-j", "3"])
    assert "--dali is not here: pictures are prepared by -j processes" in capsys.readouterr().err
    assert args.num_workers == 3 and not hasattr(args, "dali")


def test_command_lines_of_gluoncv_for_trackers():
    given = "--model-name siamrpn_alexnet_v2_otb15 --epochs 3 --weight-decay 0.01 --ngpus 2"
    args = train_siamrpn.parse_args(given.split())
    assert (args.model, args.num_epochs, args.wd, args.num_gpus) == ("siamrpn_alexnet_v2_otb15", 3, 0.01, 2)
    assert train_siamrpn.parse_args(["--ngpus", "2", "--no-cuda"]).num_gpus == 0


def test_masks_are_twice_as_large_as_their_regions():
    """The sizes of GluonCV's programs."""
    assert train_mask_rcnn.parse_args([]).roi_size == eval_mask_rcnn.parse_args([]).roi_size == [14, 14]
    assert train_faster_rcnn.parse_args([]).roi_size == [7, 7]


def test_refused_flags_leave_no_trace():
    parser = argparse.ArgumentParser()
    add_refused_argument(parser, "--horovod", "try --gpus")
    assert vars(parser.parse_args([])) == {}


def test_command_lines_of_gluoncv_for_videos():
    given = """--model i3d_resnet50_v1_custom --use-amp --last-gamma --mixup --mixup-alpha 0.2 --teacher none --input-5d
        --prefetch-ratio 1.5 --hashtag 0123abcd --crop-ratio 0.8"""
    args = train_recognizer.parse_args(given.split())
    assert (args.dtype, args.prefetch_ratio, args.hashtag) == ("float16", 1.5, "0123abcd")
    assert train_recognizer.parse_args(["--model", "x"]).dtype == "float32"


def test_networks_for_poses_by_data_set_and_with_closed_branches():
    given = ["--model", "alpha_pose_resnet101_v1b", "--dataset", "coco"]
    for program in (train_simple_pose, validate):
        assert program.parse_args(given).model == "alpha_pose_resnet101_v1b_coco"
        assert program.parse_args([*given[:1], "simple_pose_resnet18_v1b"]).model == "simple_pose_resnet18_v1b"
    net = get_model("simple_pose_resnet18_v1b", pretrained_base=False)
    train_simple_pose.close_residual_branches(net)
    net.initialize()
    net(nd.zeros((1, 3, 32, 32)))
    scales = {
        name: p.data().asnumpy() for name, p in net._collect_params_with_prefix().items() if name.endswith("gamma")
    }
    closed = {name for name, scale in scales.items() if (scale == 0).all()}
    assert len(closed) == 8 and all(name.endswith("bn2.gamma") for name in closed)


def test_generative_networks_share_flags(tmp_path):
    for program, more, batch, beta in (
        (train_srgan, [], 16, 0.9),
        (train_cgan, [], 1, 0.5),
        (train_wgan, ["--dataset", "mnist"], 64, 0.5),
    ):
        args = program.parse_args(["--dataroot", str(tmp_path), *more])
        assert (args.batchSize, args.beta1, args.experiment.name, args.log_interval) == (batch, beta, "samples", 0)


def test_further_names_for_gpus():
    counted, listed = argparse.ArgumentParser(), argparse.ArgumentParser()
    add_count_argument(counted)
    add_numbers_argument(counted, "--gpu-id")
    add_list_argument(listed)
    add_first_argument(listed)
    assert vars(counted.parse_args([])) == {"num_gpus": 0}
    assert [counted.parse_args(["--gpu-id", k]).gpus for k in ("-1", "2", "0,3")] == ["", "2", "0,3"]
    assert [listed.parse_args(given).gpus for given in ([], ["--gpus", "1"], ["--num-gpus", "3"])] == ["", "1", "0,1,2"]
    with pytest.raises(SystemExit):
        counted.parse_args(["--gpu-id", "first"])


def test_command_lines_of_gluoncv_for_videos_in_tests():
    given = """--model x --data-dir videos --val-list v.txt --train-list t.txt --use-tsn --use-softmax --use-amp --lr 0.1
        --lr-decay-epoch 40,60 --momentum 0.9 --save-dir params --logging-file train.log --prefetch-ratio 1.5 -j 4"""
    args = test_recognizer.parse_args(given.split())
    assert (args.use_softmax, args.dtype, args.prefetch_ratio) == (True, "float16", 1.5)
    assert not {"lr", "use_tsn", "train_list"} & vars(test_recognizer.parse_args(given.split()[:6])).keys()
    for program in (inference, feat_extract):
        parser = program.parser_of("", "out")
        args = parser.parse_args("--data-list l --need-root --dtype float16 --gpu-id -1 --model x".split())
        assert (args.dtype, args.gpus) == ("float16", "")


def test_command_lines_of_gluoncv_for_classifiers(capsys):
    given = "--data-nthreads 3 --no-cuda --eval-frequency 5 --model resnest14 --dropblock-prob 0.2"
    args = train_imagenet.parse_args(given.split())
    assert (args.num_data_workers, args.num_gpus, args.eval_frequency, args.dropblock_prob) == (3, 0, 5, 0.2)
    with pytest.raises(SystemExit):
        train_imagenet.parse_args([*IMAGENET[1:], "--dropblock-prob", "0.2"])
    assert "--dropblock-prob is for a ResNeSt, given resnet18_v1b" in capsys.readouterr().err
    given = "--data-dir . --model resnext50_32x4d --use_se"
    assert validate_classifier.squeeze_option(validate_classifier.parse_args(given.split())) == {"use_se": True}
    assert str(train_cifar10.parse_args(["--data-dir", ".", "--save-plot-dir", "plots"]).save_plot_dir) == "plots"


def test_all_kept_parameters_by_the_beginning_of_their_path(tmp_path):
    for name in ("net-0001.params", "net-best.params", "other.params", "net/epoch-0001/net.params"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()

    def found(prefix):
        files = regions.kept_files(argparse.Namespace(run=f"{tmp_path}/{prefix}"))
        return [file.removeprefix(f"{tmp_path}/") for file in files]

    assert found("net-") == ["net-0001.params", "net-best.params"]
    assert found("net/epoch") == ["net/epoch-0001/net.params"]
    with pytest.raises(SystemExit, match="there are none"):
        found("nothing")


def test_sizes_and_processes_of_other_programs():
    args = segmentation.parse_args("--height 32 --width 48 --image-shape 64 --workers 2".split())
    assert (args.height, args.width, args.image_shape, args.num_workers) == (32, 48, 64, 2)
    assert train_srgan.parse_args(["--dataroot", ".", "--gpu_ids", "0,1"]).gpus == "0,1"
    assert train_wgan.parse_args(["--dataroot", ".", "--dataset", "mnist", "--ngpu", "1"]).ngpu == 1
    assert demo_srgan.parse_args(["--images", "a.png", "--pretrained", "p", "--gpu_id", "1"]).gpus == "1"
    assert smot_demo.parse_args(["video", "--tracktor-version", "joint", "--verbose", "--input-type", "images"]).verbose
    assert smot_eval.parse_args(["--gt-dir", ".", "--pred-dir", ".", "--num-worker", "4"]).num_worker == 4
    assert train_simple_pose.parse_args(["--flip-test"]).flip_test


def test_one_gpu_by_its_number():
    parser = argparse.ArgumentParser()
    add_gpu_argument(parser)
    assert context_of(parser.parse_args([])) == cpu()
    with pytest.raises(SystemExit, match="GPU 99 asked for"):
        context_of(parser.parse_args(["--gpu", "99"]))


def test_command_lines_of_gluonnlp_for_language_models():
    args = word_language_model.parse_args(["--test_mode", "--batch_size", "8", "--log-interval", "3"])
    assert (args.words, args.emsize, args.nhid, args.nlayers, args.epochs) == (800, 200, 200, 1, 3)
    assert args.log_interval == 3 and word_language_model.parse_args([]).words is None
    assert large_word_language_model.parse_args(["--test-mode", "--words", "50"]).words == 50


def test_command_lines_of_gluonnlp_for_translators():
    args = train_transformer.parse_args(["--average_checkpoint", "--num_averages", "3"])
    assert (args.average_checkpoint, args.num_averages) == (True, 3)
    assert train_gnmt.parse_args(["--validate_on_test_data", "1"]).validate_on_test_data


def test_command_lines_of_gluoncv_for_trackers_in_full():
    given = "--resume-params a --start-epoch 2 --accumulate 4 --use-amp --no-val --is-train True --base-lr 0.1 --syncbn"
    args = train_siamrpn.parse_args(given.split())
    assert (args.resume_params, args.start_epoch, args.accumulate, args.dtype) == ("a", 2, 4, "float16")


def test_command_lines_of_gluonnlp_for_inference():
    assert inference_of_language.parse_args(["--model", "da", "--print-interval", "7"]).log_interval == 7
