"""The games, as tasks: one module for each category of the taxonomy. The engines load when a task is made."""

from environments.games.tasks import (
    markov_grid,
    non_real_time_linear,
    non_real_time_nonlinear,
    real_time_linear,
    real_time_nonlinear,
)

__all__ = ["markov_grid", "non_real_time_linear", "non_real_time_nonlinear", "real_time_linear", "real_time_nonlinear"]
