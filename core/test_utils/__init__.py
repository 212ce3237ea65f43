"""What tests of MXNet programs use: comparisons with tolerances by dtype, random arrays, gradient checks, data sets.

`from mxnet.test_utils import *` also gives `mx`, `np`, `rnd` and modules of Python, on which such tests rely.
"""

import bz2
import errno
import gzip
import json
import logging
import numbers
import os
import platform
import struct
import sys
import time
import traceback
import zipfile
from collections import OrderedDict
from contextlib import contextmanager

import numpy as np
import numpy.random as rnd
import numpy.testing as npt

import core as mx
from core import late_names
from core.context import Context, current_context
from core.ndarray import array
from core.runtime import Features
from core.symbol import Symbol
from core.symbol.numpy import _Symbol as np_symbol
from core.test_utils.arrays import (
    assign_each,
    assign_each2,
    collapse_sum_like,
    create_2d_np_tensor,
    create_2d_tensor,
    create_sparse_array,
    create_sparse_array_zd,
    create_vector,
    get_identity_mat,
    get_identity_mat_batch,
    new_matrix_with_real_eigvals_2d,
    new_matrix_with_real_eigvals_nd,
    new_orthonormal_matrix_2d,
    new_sym_matrix_with_real_eigvals_2d,
    new_sym_matrix_with_real_eigvals_nd,
    np_reduce,
    rand_coord_2d,
    rand_ndarray,
    rand_shape_2d,
    rand_shape_3d,
    rand_shape_nd,
    rand_sparse_ndarray,
    random_arrays,
    random_sample,
    random_uniform_arrays,
    shuffle_csr_column_indices,
)
from core.test_utils.compare import (
    almost_equal,
    assert_allclose,
    assert_almost_equal,
    assert_almost_equal_ignore_nan,
    assert_almost_equal_with_err,
    assert_exception,
    checkShapes,
    compare_ndarray_tuple,
    compare_optimizer,
    compare_optimizer_noise_seeded,
    default_atols,
    default_dtype,
    default_numeric_eps,
    default_rtols,
    effective_dtype,
    get_atol,
    get_etol,
    get_rtol,
    get_tolerance,
    get_tols,
    locationError,
    same,
    same_array,
    same_symbol_structure,
)
from core.test_utils.data import (
    DummyIter,
    download,
    download_model,
    get_bz2_data,
    get_cifar10,
    get_im2rec_path,
    get_mnist,
    get_mnist_iterator,
    get_mnist_pkl,
    get_mnist_ubyte,
    get_zip_data,
)
from core.test_utils.environment import (
    EnvManager,
    current_device,
    default_context,
    default_device,
    discard_stderr,
    environment,
    get_cuda_compute_capability,
    has_tvm_ops,
    is_aarch64_run,
    is_cd_run,
    is_op_runnable,
    list_gpus,
    retry,
    set_default_context,
    set_default_device,
)
from core.test_utils.generators import (
    chi_square_check,
    gen_buckets_probs_with_ppf,
    mean_check,
    var_check,
    verify_generator,
)
from core.test_utils.symbols import (
    check_consistency,
    check_gluon_hybridize_consistency,
    check_numeric_gradient,
    check_speed,
    check_symbolic_backward,
    check_symbolic_forward,
    numeric_grad,
    simple_forward,
)
from core.util import getenv, setenv, use_np, use_np_default_dtype

# The files of this folder are no names of MXNet's module; `data` would take the place of a program's own.
_OWN = [name for name, value in globals().items() if sys.modules.get(f"{__name__}.{name}") is value]
__all__ = [name for name in dir() if not name.startswith("_") and name not in [*_OWN, "late_names"]]


def __dir__():
    return late_names.offered(globals())
