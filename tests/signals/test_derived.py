"""Hidden losses and derived columns."""

from __future__ import annotations

import math

import numpy as np
import pytest

from triage.signals.derived import derive, hidden_losses

NAN, INF = math.nan, math.inf


def columns(**values: list[float | None]) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Columns and their masks; None = not logged."""
    arrays = {name: np.array([NAN if v is None else v for v in vs], dtype=float) for name, vs in values.items()}
    masks = {name: np.array([v is not None for v in vs]) for name, vs in values.items()}
    return arrays, masks


def hidden(**values: list[float | None]) -> list[int]:
    return hidden_losses(*columns(**values)).tolist()


@pytest.mark.parametrize(
    ("loss", "norm", "rows"),
    [
        ([2.0, 0.0, 0.0], [0.3, NAN, NAN], [1, 2]),
        ([2.0, 0.0, 0.0], [0.3, INF, INF], [1, 2]),
        ([2.0, 0.0, 0.0], [0.3, 0.1, 0.1], []),  # memorised
        ([2.0, 0.0, 0.0], [0.3, None, NAN], [2]),  # nothing is known of the first
        ([2.0, 0.4, 0.0], [0.3, NAN, NAN], [1, 2]),  # the mean of a window that ended in NaN
        ([2.0, 0.4, 0.0], [0.3, 0.3, NAN], [2]),
        ([2.0, 0.4, 1.9], [0.3, NAN, 0.3], []),  # a skipped step
        ([2.0, 1.0, 3.0], [0.3, 0.3, 0.3], []),
        ([0.0, 0.0], [NAN, NAN], [0, 1]),
        ([2.0, None, 0.0], [0.3, NAN, NAN], [2]),
    ],
)
def test_a_zero_beside_a_gradient_that_is_not_finite(loss, norm, rows):
    assert hidden(loss=loss, grad_norm=norm) == rows


@pytest.mark.parametrize(
    ("loss", "rows"),
    [
        ([2.0, 1.9, 0.0, 0.0, 0.0], [2, 3, 4]),
        ([2.0, 1.9, 1.8, 0.0, 0.0], []),  # two may be chance
        ([2.0, 0.0, 0.0, 0.0, 1.0], []),  # not to the end
        ([2.0, 0.01, 0.0, 0.0, 0.0], [2, 3, 4]),
        ([2.0, 0.0099, 0.0, 0.0, 0.0], []),  # it fell to nothing by itself
        ([0.0, 0.0, 0.0], [0, 1, 2]),
        ([0.0, 0.0], []),
        ([2.0, 2.0, 2.0], []),
    ],
)
def test_without_a_gradient_only_an_unbroken_run_of_zeros_to_the_end(loss, rows):
    assert hidden(loss=loss) == rows


def test_a_gradient_that_is_never_logged_is_no_gradient():
    assert hidden(loss=[2.0, 1.9, 0.0, 0.0, 0.0], grad_norm=[None] * 5) == [2, 3, 4]


def test_update_ratio_from_its_parts_where_both_are_logged():
    arrays, masks = columns(update_norm=[0.1, 0.2, None, 0.4], param_norm=[10.0, None, 10.0, 0.0])
    derive(arrays, masks)
    assert masks["update_ratio"].tolist() == [True, False, False, False]
    assert arrays["update_ratio"][0] == pytest.approx(0.01)
    assert np.isnan(arrays["update_ratio"][1:]).all()


def test_a_logged_update_ratio_is_kept():
    arrays, masks = columns(update_norm=[0.1], param_norm=[10.0], update_ratio=[0.5])
    derive(arrays, masks)
    assert arrays["update_ratio"].tolist() == [0.5]


def test_update_over_lr_only_where_lr_is_positive():
    arrays, masks = columns(update_ratio=[0.003, 0.003, 0.003, None, INF], lr=[3e-4, 0.0, None, 3e-4, 3e-4])
    derive(arrays, masks)
    assert masks["u_over_lr"].tolist() == [True, False, False, False, True]
    assert arrays["u_over_lr"][0] == pytest.approx(10.0)
    assert math.isinf(arrays["u_over_lr"][4])


def test_nothing_is_derived_from_half_of_the_parts():
    arrays, masks = columns(update_norm=[0.1], lr=[3e-4])
    derive(arrays, masks)
    assert arrays.keys() == {"update_norm", "lr"}
