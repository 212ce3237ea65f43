"""KITTI's files (Geiger et al., 2013): laser points, calibrations, and the depth that they give."""

from __future__ import annotations

import os

import numpy as np

from core import nd


def load_velodyne_points(filename):
    """Points (N, 4) of forward, left, up in metres and 1, float32."""
    points = np.fromfile(filename, dtype="float32").reshape(-1, 4)
    points[:, 3] = 1.0
    return points


def read_calib_file(path):
    """The lines "name: value" as a dictionary; values that are numbers become arrays."""
    found = {}
    with open(path, encoding="utf-8") as file:
        for line in filter(str.strip, file):
            name, value = line.split(":", 1)
            try:
                found[name] = np.array([float(number) for number in value.split()])
            except ValueError:
                found[name] = value.strip()
    return found


def sub2ind(matrixSize, rowSub, colSub):
    """The place of (row, column) in a flat list, as KITTI's programs count it."""
    return rowSub * (matrixSize[1] - 1) + colSub - 1


def generate_depth_map(calib_dir, velo_filename, cam=2, vel_depth=False):
    """Depth (H, W) in metres in the picture of camera `cam`, 0 where no laser point is; the nearest one of several.

    vel_depth: distances are those in front of the laser, not of the camera.
    """
    camera = read_calib_file(os.path.join(calib_dir, "calib_cam_to_cam.txt"))
    laser = read_calib_file(os.path.join(calib_dir, "calib_velo_to_cam.txt"))
    width, height = camera["S_rect_02"].astype(int)
    to_camera, rectify = np.eye(4), np.eye(4)
    to_camera[:3, :3], to_camera[:3, 3] = laser["R"].reshape(3, 3), laser["T"]
    rectify[:3, :3] = camera["R_rect_00"].reshape(3, 3)
    project = camera[f"P_rect_0{cam}"].reshape(3, 4) @ rectify @ to_camera
    points = load_velodyne_points(velo_filename)
    points = points[points[:, 0] >= 0]
    x, y, depth = project @ points.T
    # KITTI's programs count pixels from 1.
    column, row = np.round(x / depth) - 1, np.round(y / depth) - 1
    distance = points[:, 0] if vel_depth else depth
    inside = (column >= 0) & (row >= 0) & (column < width) & (row < height)
    nearest = np.full((height, width), np.inf)
    np.minimum.at(nearest, (row[inside].astype(int), column[inside].astype(int)), distance[inside])
    return np.where(np.isfinite(nearest), nearest, 0).clip(0)


def dict_batchify_fn(data):
    """A batch of dictionaries of arrays: a dictionary of stacked ones."""
    if isinstance(data[0], nd.NDArray):
        return nd.stack(*data)
    if isinstance(data[0], dict):
        return {key: dict_batchify_fn([sample[key] for sample in data]) for key in data[0]}
    raise RuntimeError(f"samples are arrays, or dictionaries of them, given {type(data[0]).__name__}")


def readlines(filename):
    """The lines of a text file."""
    with open(filename, encoding="utf-8") as file:
        return file.read().splitlines()
