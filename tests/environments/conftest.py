"""What the tests of this room share: environments that are closed again, and episodes to play in them."""

import hashlib
import shutil

import pytest

import environments
from environments.errors import MissingEngine

GAMES = tuple(task.id for task in environments.match("games/*"))


def pytest_collection_modifyitems(items):
    """Skip what needs a display where there is none."""
    if shutil.which("Xvfb") is None:
        for item in items:
            if item.get_closest_marker("display"):
                item.add_marker(pytest.mark.skip(reason="Xvfb is not installed (apt install xvfb)"))


@pytest.fixture(params=GAMES)
def game_id(request):
    return request.param


@pytest.fixture
def make_env():
    """`environments.make`, with every environment closed at the end; skips where a game's engine is missing."""
    made = []

    def make(task_id, space="semantic", seed=None):
        try:
            env = environments.make(task_id, space)
        except MissingEngine as error:
            pytest.skip(str(error))
        made.append(env)
        if seed is not None:
            env.reset(seed=seed)
        return env

    yield make
    for env in made:
        env.close()


@pytest.fixture
def digest():
    """SHA-256 of a frame."""

    def of(frame):
        return hashlib.sha256(frame.tobytes()).hexdigest()

    return of
