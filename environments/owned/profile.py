"""A game that somebody owns, described in one YAML file: data, checked here, and nothing that runs."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from environments import plain_yaml
from environments.actions.gui import GuiAction, Key
from environments.actions.spec import respelt
from environments.errors import InvalidProfile, NotPlainYaml
from environments.task import CATEGORIES

MAX_BYTES = 64 * 1024
"""Far more than any honest profile needs (those of the package have 2 to 4 kB)."""
PLATFORMS = {"win32": "windows", "darwin": "macos"}
"""`sys.platform` to the name in a profile; everything else is `linux`."""

TitleKey = Literal[
    Key,
    "insert", "capslock", "shiftleft", "shiftright", "ctrlleft", "ctrlright", "altleft", "altright",
    "`", "-", "=", "[", "]", ";", "'", ",", ".", "/", "\\",
]  # fmt: skip
"""What a title may be given in place of a key of the vocabulary; PyAutoGUI's names."""
_KEYS: tuple[str, ...] = get_args(Key)
_TITLE_KEYS: tuple[str, ...] = get_args(TitleKey)


def _plain(text: str) -> str:
    """Text on one line, without control and formatting characters; YAML has folded its lines already."""
    text = " ".join(text.split())
    if not text:
        raise ValueError("is empty")
    hidden = sorted({f"U+{ord(c):04X}" for c in text if unicodedata.category(c) in ("Cc", "Cf", "Co", "Cs", "Cn")})
    if hidden:
        raise ValueError(f"holds characters that nobody can see: {', '.join(hidden)}")
    return text


def _digits_are_keys(value: Any) -> Any:
    """The keys 0 to 9 as YAML reads them: numbers."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


_Digits = BeforeValidator(_digits_are_keys)
Line = Annotated[str, Field(max_length=120), AfterValidator(_plain)]
Text = Annotated[str, Field(max_length=1_500), AfterValidator(_plain)]
WindowTitle = Annotated[str, Field(max_length=120, pattern=r"^\*?[^*]+\*?$"), AfterValidator(_plain)]
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,40}$")]

_Strict = ConfigDict(extra="forbid", frozen=True)


class WindowTitles(BaseModel):
    """What the game's window is called; `everywhere` holds on every platform, after the platform's own."""

    model_config = _Strict

    everywhere: Annotated[tuple[WindowTitle, ...], Field(max_length=8)] = ()
    windows: Annotated[tuple[WindowTitle, ...], Field(max_length=8)] = ()
    macos: Annotated[tuple[WindowTitle, ...], Field(max_length=8)] = ()
    linux: Annotated[tuple[WindowTitle, ...], Field(max_length=8)] = ()

    @model_validator(mode="after")
    def _one_at_least(self) -> WindowTitles:
        if not (self.everywhere or self.windows or self.macos or self.linux):
            raise ValueError("names no window; give `everywhere`, or the platforms that the game runs on")
        return self

    def on(self, platform: str) -> tuple[str, ...]:
        """The titles to look for on a platform, as `sys.platform` calls it; none where the game does not run."""
        own: tuple[str, ...] = getattr(self, PLATFORMS.get(platform, "linux"))
        return tuple(dict.fromkeys((*own, *self.everywhere)))


class ProfileMilestone(BaseModel):
    """A point of progress that somebody who sees the frames can check."""

    model_config = _Strict

    id: Name
    text: Annotated[Text, Field(max_length=300)]
    after: tuple[Name, ...] = ()
    """Milestones, declared before this one, that must have been reached first."""


class Profile(BaseModel):
    """What the arena must know to let an agent play a title that it does not have."""

    model_config = _Strict

    name: Name
    """The task is called `owned/<name>-v<version>`."""
    version: Annotated[int, Field(ge=1, le=999, strict=True)] = 1
    """Raise it with every change that may change a result: results are found again by the task's id."""
    title: Line
    category: Literal[CATEGORIES]  # type: ignore[valid-type]
    tier: Literal["easy", "medium", "hard"]
    windows: WindowTitles
    launch: Text
    """What the person is asked to do before an episode begins."""
    goal: Text
    """What the player is told. It gives nothing away that the screen should tell."""
    controls: Text
    """The keys and the mouse in words; added to the goal."""
    key_map: dict[Annotated[Key, _Digits], Annotated[TitleKey, _Digits]] = Field(default_factory=dict)
    """The title's key in place of one of the vocabulary, where they differ; all others are as they are called."""
    tap_ms: Annotated[int, Field(ge=60, le=500, strict=True)] = 80
    """How long a tap stays down. Programs that poll their keyboard at 30 Hz miss half of the taps of 15 ms."""
    settle_ms: Annotated[int, Field(ge=0, le=10_000, strict=True)] = 500
    """How long the title has after a gesture before the next picture is taken."""
    max_steps: Annotated[int, Field(ge=1, le=100_000, strict=True)]
    reset: Annotated[tuple[Annotated[GuiAction, BeforeValidator(respelt)], ...], Field(max_length=30)] = ()
    """Gestures that lead back to the start, where the title has such; played after the person's sign, or in its place
    when an episode has ended in the ordinary way."""
    milestones: Annotated[tuple[ProfileMilestone, ...], Field(min_length=1, max_length=20)]

    @model_validator(mode="after")
    def _milestones_in_order(self) -> Profile:
        known: set[str] = set()
        for milestone in self.milestones:
            if milestone.id in known:
                raise ValueError(f"milestone {milestone.id!r} is declared twice")
            if missing := [before for before in milestone.after if before not in known]:
                raise ValueError(
                    f"milestone {milestone.id!r} follows {', '.join(map(repr, missing))}, not declared before it"
                )
            known.add(milestone.id)
        return self

    @property
    def task_id(self) -> str:
        """The id of the task."""
        return f"owned/{self.name}-v{self.version}"


def load(path: Path | str) -> Profile:
    """Read and validate a profile.

    Raises:
        InvalidProfile: with every problem of the file, each with its field, value and remedy.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        text = data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidProfile(str(path), [f"file: cannot be read: {error}"]) from None
    return parse(text, str(path))


def parse(text: str, source: str = "profile") -> Profile:
    """Validate the YAML text of a profile.

    Raises:
        InvalidProfile: with every problem, each with its field, value and remedy.
    """
    if len(text) > MAX_BYTES:
        raise InvalidProfile(
            source, [f"file: is larger than {MAX_BYTES // 1024} kB; a profile is text of a page or two"]
        )
    try:
        data = plain_yaml.load(text, aliases=False)
    except NotPlainYaml as error:
        raise InvalidProfile(source, [f"{where}: {message}" for where, message in error.problems]) from None
    if not isinstance(data, dict):
        raise InvalidProfile(source, [f"file: expected fields such as `name`, `title`, `goal` (got {_short(data)})"])
    try:
        return Profile.model_validate(data)
    except ValidationError as error:
        raise InvalidProfile(source, list(_explain(error))) from None


_MODELS: dict[str, type[BaseModel]] = {"windows": WindowTitles, "milestones": ProfileMilestone}


def _explain(error: ValidationError) -> Iterator[str]:
    items = error.errors(include_url=False)
    for item in items:
        if item["type"] == "too_short" and any(
            other["loc"][:-1] and item["loc"] == other["loc"][:1] for other in items
        ):
            continue  # pydantic counts an item with a fault as none
        location = [part for part in item["loc"] if part != "[key]"]
        where = "".join(f"[{part}]" if isinstance(part, int) else f".{str(part)[:40]}" for part in location).lstrip(".")
        message = item["msg"].removeprefix("Value error, ")
        message = message[:1].lower() + message[1:]
        given: Any = item.get("input")
        if item["type"] == "missing":
            yield f"{where}: is missing"
            continue
        if item["type"] == "extra_forbidden":
            known = list(
                _MODELS.get(str(location[0]), Profile).model_fields if len(location) > 1 else Profile.model_fields
            )
            message, given = f"unknown field{_nearest(str(location[-1]), known)}", location[-1]
        elif item["type"] == "literal_error":
            message = _one_of(location, str(given))
        elif item["type"] == "string_pattern_mismatch":
            message = _pattern(location)
        yield f"{where or 'file'}: {message[:400]} (got {_short(given)})"


def _one_of(location: list[Any], given: str) -> str:
    field = location[0]
    if field == "key_map":
        return f"is no key{_nearest(given, [*_TITLE_KEYS])}"
    options = {"category": CATEGORIES, "tier": ("easy", "medium", "hard")}.get(str(field), _KEYS)
    listed = f"expected one of {', '.join(options)}" if len(options) < 8 else "is no key"
    return f"{listed}{_nearest(given, [*options])}"


def _pattern(location: list[Any]) -> str:
    if location[0] == "windows":
        return "a title is plain text; a `*` may stand at its beginning or end, for any text"
    return "is made of lower-case letters, digits and hyphens, at most 41 of them"


def _nearest(word: str, options: list[str]) -> str:
    near = difflib.get_close_matches(word.lower(), options, n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else ""


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 80 else shown[:77] + "..."
