"""Vectors in the plane: distances kept, neighbours kept, and sane with whatever there is."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kpdemo.vectors import FEWEST, Method, project, unit_rows


def distances(rows):
    return np.linalg.norm(rows[:, None] - rows[None, :], axis=-1)


def two_groups(each: int, width: int = 16):
    """Points near one direction, then points near another one."""
    rng = np.random.default_rng(0)
    centres = np.repeat(np.eye(2, width), each, axis=0)
    return (centres + rng.normal(scale=0.05, size=(2 * each, width))).astype(np.float32)


def test_three_points_keep_their_distances():
    vectors = np.array([[3, 0, 0], [0, 0.5, 0], [0, 0, 7]], dtype=np.float32)  # at length 1 all √2 apart
    plane = project(vectors, Method.PCA)
    np.testing.assert_allclose(distances(plane.places), np.sqrt(2) * (1 - np.eye(3)), atol=1e-5)
    assert plane.shares == pytest.approx((0.5, 0.5))


def test_the_length_of_a_vector_plays_no_part():
    vectors = two_groups(4)
    scaled = vectors * np.linspace(0.1, 9, len(vectors), dtype=np.float32)[:, None]
    np.testing.assert_allclose(
        project(vectors, Method.PCA).places, project(scaled, Method.PCA).places, atol=1e-5
    )


def test_the_axes_hold_the_shares_of_the_variance():
    # at length 1: (±0.8, ±0.6): variance 0.64 along one axis, 0.36 along the other
    vectors = np.array([[0.8, 0.6], [0.8, -0.6], [-0.8, 0.6], [-0.8, -0.6]], dtype=np.float32)
    assert project(vectors, Method.PCA).shares == pytest.approx((0.64, 0.36))


@pytest.mark.parametrize("method", Method)
@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 6, 11, 40])
def test_any_number_of_points_has_a_place(method, count):
    vectors = np.random.default_rng(1).normal(size=(count, 24)).astype(np.float32)
    with warnings.catch_warnings(action="error"):
        plane = project(vectors, method)
    assert plane.places.shape == (count, 2)
    assert np.isfinite(plane.places).all()
    assert plane.method is (method if count >= FEWEST else Method.PCA)
    if count > 1:
        assert distances(plane.places)[~np.eye(count, dtype=bool)].min() > 0


@pytest.mark.slow
def test_five_hundred_points_keep_their_neighbours():
    vectors = two_groups(250)
    plane = project(vectors, Method.TSNE)
    nearest = np.argsort(distances(plane.places) + np.diag(np.full(500, np.inf)), axis=1)[:, 0]
    assert ((nearest < 250) == (np.arange(500) < 250)).mean() > 0.99
    assert plane.shares is None


@pytest.mark.parametrize("method", Method)
@pytest.mark.parametrize("vectors", [np.ones((12, 8)), np.zeros((12, 8)), np.ones((6, 1))])
def test_vectors_that_are_all_the_same_lie_together(method, vectors):
    with warnings.catch_warnings(action="error"):
        plane = project(vectors.astype(np.float32), method)
    np.testing.assert_allclose(plane.places, 0, atol=1e-5)


def test_some_repeated_vectors_are_no_trouble():
    plane = project(np.repeat(two_groups(3), 4, axis=0), Method.TSNE)
    assert np.isfinite(plane.places).all()


@pytest.mark.parametrize("method", Method)
def test_the_same_vectors_are_always_laid_out_alike(method):
    vectors = two_groups(10)
    assert project(vectors, method).places.tolist() == project(vectors, method).places.tolist()


@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 99))
def test_pca_never_stretches_a_distance(points, width, seed):
    vectors = np.random.default_rng(seed).normal(size=(points, width)).astype(np.float32)
    plane = project(vectors, Method.PCA)
    assert (distances(plane.places) <= distances(unit_rows(vectors)) + 1e-4).all()
    np.testing.assert_allclose(plane.places.mean(0), 0, atol=1e-5)
