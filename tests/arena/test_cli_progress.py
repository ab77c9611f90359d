"""What a run says of itself while it is played."""

from __future__ import annotations

import io
from collections import Counter

from rich.console import Console

from arena.cli.progress import tell_unmeasured


def test_a_servers_words_move_no_cursor() -> None:
    """Why an episode was not measured may hold what a server said."""
    shown = io.StringIO()
    tell_unmeasured(Counter({"WireError: version [bold]\x1b]0;mine\x07\x9b2J": 3}), Console(file=shown, width=80))
    first, *_ = shown.getvalue().splitlines()
    assert first == "3 not measured: WireError: version [bold]\N{REPLACEMENT CHARACTER}]0;mine" + (
        "\N{REPLACEMENT CHARACTER}" * 2 + "2J"
    )
