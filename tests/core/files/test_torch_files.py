"""`.pth` files against PyTorch, which wrote them, and damage."""

from collections import OrderedDict

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings

from core.base import MXNetError
from core.files.torch_files import read_torch
from tests.support.mutations import mutated, survives

BASE = torch.arange(24, dtype=torch.float32).reshape(4, 6)
DTYPES = ("float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool")
CONTENT = {
    "state_dict": OrderedDict(
        [("w", BASE), ("tied", BASE), ("t", BASE.t()), ("cut", BASE[1:3, ::2]), ("scalar", torch.tensor(3.5)), ("empty", torch.zeros(0, 3))]
        + [(name, torch.ones(2, 2, dtype=getattr(torch, name))) for name in DTYPES]
    ),
    "epoch": 7,
    "note": ["text", (1.5, None)],
    "parameter": torch.nn.Parameter(torch.ones(3)),
}  # fmt: skip


class Trap:
    def __reduce__(self):
        return eval, ("1 / 0",)


@pytest.mark.parametrize("zipped", [True, False])
def test_what_torch_saves_is_read(zipped, tmp_path):
    torch.save(CONTENT, tmp_path / "x.pth", _use_new_zipfile_serialization=zipped)
    loaded = read_torch(tmp_path / "x.pth")
    assert loaded["epoch"] == 7 and loaded["note"] == ["text", (1.5, None)]
    assert loaded["parameter"].data.tolist() == [1, 1, 1]
    assert list(loaded["state_dict"]) == list(CONTENT["state_dict"])
    for name, tensor in CONTENT["state_dict"].items():
        record = loaded["state_dict"][name]
        np.testing.assert_array_equal(record.data, tensor.numpy(), strict=True, err_msg=name)
        assert record.data.flags.c_contiguous


def test_bfloat16_keeps_its_bits(tmp_path):
    torch.save({"x": torch.tensor([1.0, -2.5], dtype=torch.bfloat16)}, tmp_path / "x.pth")
    record = read_torch(tmp_path / "x.pth")["x"]
    assert record.dtype == "bfloat16" and record.data.tolist() == [0x3F80, 0xC020]


def test_a_module_has_its_state_dict_read(tmp_path):
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    torch.save(model.state_dict(), tmp_path / "x.pth")
    loaded = read_torch(tmp_path / "x.pth")
    for name, tensor in model.state_dict().items():
        np.testing.assert_array_equal(loaded[name].data, tensor.numpy())
    torch.save(model, tmp_path / "y.pth")
    with pytest.raises(MXNetError, match=r"'torch\.nn\.modules\.container\.Sequential'.*refused"):
        read_torch(tmp_path / "y.pth")


@pytest.mark.parametrize("zipped", [True, False])
def test_code_is_refused_by_name(zipped, tmp_path):
    torch.save({"x": Trap()}, tmp_path / "x.pth", _use_new_zipfile_serialization=zipped)
    with pytest.raises(MXNetError, match=r"x\.pth.*eval.*refused"):
        read_torch(tmp_path / "x.pth")


def test_other_files_are_refused(tmp_path):
    for content in (b"", b"PK\x03\x04 nothing", b"\x80\x02K\x05.", b"<html>"):
        (tmp_path / "x").write_bytes(content)
        with pytest.raises(MXNetError, match="x'"):
            read_torch(tmp_path / "x")


def test_an_expanded_tensor_takes_no_memory(tmp_path):
    torch.save(torch.zeros(1).expand(10**9), tmp_path / "x.pth")
    with pytest.raises(MXNetError, match="beyond its storage"):
        read_torch(tmp_path / "x.pth")


@pytest.mark.parametrize("zipped", [True, False])
def test_damage_gives_an_error_or_data(zipped, tmp_path):
    torch.save({"w": BASE, "n": [1, "a"]}, tmp_path / "x.pth", _use_new_zipfile_serialization=zipped)

    @settings(max_examples=700, deadline=2000, suppress_health_check=list(HealthCheck))
    @given(mutated((tmp_path / "x.pth").read_bytes()))
    def run(data):
        (tmp_path / "y.pth").write_bytes(data)
        survives(lambda: read_torch(tmp_path / "y.pth"))

    run()
