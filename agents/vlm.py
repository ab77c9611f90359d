"""The vision-language player: pictures in, one typed action out, in the model's own words for it."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self
from urllib.parse import urlsplit

import numpy as np
from pydantic import Field, model_validator

from agents import prompts
from agents.agent import Agent, Briefing, Decision
from agents.calls import ModelCall, Purpose
from agents.coordinates import Convention, Coordinates
from agents.dialects import DialectName, Reading, Spoken, speak
from agents.errors import ProviderError, UnreadableReply
from agents.gateway import Budget, CallCache, Clock, GatewaySettings, Image, Message, ModelGateway, ModelRequest
from agents.gateway.messages import Mode, plain_schema, shrunk
from agents.parsing import read_action
from environments.actions import NativeActions, TypedActions
from environments.task import ActionSpace

_PROMPTS = ("system", "object", "turn", "repair", "lesson")


_SAID = 400
"""Characters of an action in the model's own words that are kept to remind it."""


class VLMOptions(GatewaySettings):
    """Which model plays, how it is asked, and what it remembers."""

    temperature: float | None = Field(0.0, ge=0, le=2, description="null leaves it to the provider")
    max_tokens: int = Field(1024, ge=16, description="longest answer, in tokens")
    seed: int | None = Field(None, description="sent to the provider, for those that take one")
    timeout_s: float = Field(60.0, gt=0, description="longest wait for one attempt")
    mode: Mode = Field("tool", description="how the structured answer is asked for: tool, json_schema or prompt")
    history: int = Field(5, ge=0, le=100, description="earlier steps that are told again")
    history_images: int = Field(1, ge=0, le=20, description="of them, how many are shown again, at half size")
    image_size: int | None = Field(None, ge=32, description="longest side of the pictures sent; null is full size")
    dialect: DialectName = Field(
        "arena", description="words for keyboard and mouse: arena, openai, anthropic or ui-tars"
    )
    coordinates: Convention = Field(
        "pixel", description="of keyboard and mouse: pixel of the picture as sent, unit, thousand or smart-resize"
    )
    prompt: Literal["act-v2"] = Field("act-v2", description="version of the prompt")
    cache: str | None = Field(None, description="folder of kept answers; they are used at temperature 0 only")

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if self.history_images > self.history:
            raise ValueError(f"history_images ({self.history_images}) must not exceed history ({self.history})")
        return self

    def gateway_settings(self) -> GatewaySettings:
        """The part that concerns the gateway."""
        return GatewaySettings.model_validate({name: getattr(self, name) for name in GatewaySettings.model_fields})


@dataclass
class _Memory:
    """One earlier step as it is told again."""

    turn: int
    decision: Decision
    images: dict[str, Image] = field(default_factory=dict)
    illegal: str | None = None
    reward: float = 0.0
    result_known: bool = False


class VLMAgent(Agent):
    """A vision-language model behind the gateway."""

    name: ClassVar[str] = "vlm"
    Options = VLMOptions
    options: VLMOptions

    def __init__(self, options: VLMOptions, *, clock: Clock | None = None) -> None:
        super().__init__(options)
        self._memory: deque[_Memory] = deque(maxlen=options.history)
        self._moved_back = False
        cache = CallCache(options.cache) if options.cache else None
        self.gateway = ModelGateway(options.gateway_settings(), cache=cache, clock=clock)

    def fingerprint(self) -> dict[str, Any]:
        """Model, host, prompt, sampling, memory, pictures; neither key nor patience nor limits."""
        o = self.options
        return {
            "agent": self.name,
            "version": self.version,
            "model": o.model,
            "host": urlsplit(o.base_url).hostname if o.base_url else None,
            "backend": o.way,
            "prompt": o.prompt,
            "prompt_sha256": prompts.sha256(*(f"{o.prompt}.{part}" for part in _PROMPTS)),
            "sampling": {"temperature": o.temperature, "max_tokens": o.max_tokens, "seed": o.seed},
            "mode": o.mode,
            "history": o.history,
            "history_images": o.history_images,
            "image": {"format": "png", "size": o.image_size},
            "gui": {"dialect": o.dialect, "coordinates": o.coordinates},
        }

    def reset(self, briefing: Briefing) -> None:
        """Begin an episode with an empty memory and without a budget."""
        super().reset(briefing)
        self._memory.clear()
        self._moved_back = False
        self._actions: Spoken | TypedActions | NativeActions = briefing.actions
        self._schema = answer_schema(briefing.actions.schema())
        self.gateway.budgets = ()

    def limit(self, budget: Budget) -> None:
        """Let a budget refuse this episode's calls before they are sent."""
        self.gateway.budgets = (*self.gateway.budgets, budget)

    def decide(self, observation: Mapping[str, Any]) -> Decision:
        """Show the current pictures and read an action, with one repair turn.

        Raises:
            ProviderError: the model's side failed; `calls` holds every call of this step.
        """
        frames = pictures(observation)
        self._find_words(frames)
        shown = {key: Image.from_frame(frame, longest_side=self.options.image_size) for key, frame in frames.items()}
        messages = self._messages(observation, frames, shown)
        reminders: dict[str, Image] = {}

        def look_back() -> None:
            reminders.update(self._reminders(frames, shown))
            for image in reminders.values():
                _ = image.png  # encoded in the time of waiting; the next turns send it

        first = self.gateway.complete(self._request("act", messages), self._readable, look_back)
        decision, problems = self._read(first, (first,))
        if decision is None:
            told = prompts.load(f"{self.options.prompt}.repair").substitute(problems=_listed(problems))
            said = first.text.strip() or "(no answer)"
            repair = (*messages, Message("assistant", (said,)), Message("user", (told,)))
            try:
                second = self.gateway.complete(self._request("repair", repair), self._readable)
            except ProviderError as error:
                error.calls = (first, *error.calls)
                raise
            decision, problems = self._read(second, (first, second))
            if decision is None:
                reason = "; ".join(problems)
                decision = Decision(action=None, status="unparsable", reason=reason, calls=(first, second))
        self._remember(decision, reminders or self._reminders(frames, shown))
        return decision

    def replay(self, observation: Mapping[str, Any], decision: Decision) -> None:
        """Remember the decision and what was seen, as `decide` did, without asking the model."""
        frames = pictures(observation) if self.options.history_images else {}
        self._remember(decision, self._reminders(frames, {}))
        super().replay(observation, decision)

    def observe_result(self, *, illegal: str | None, reward: float) -> None:
        """Note what came of the last action; it is told at the next turn."""
        if self._memory:
            last = self._memory[-1]
            last.illegal, last.reward, last.result_known = illegal, reward, True

    def rolled_back(self) -> None:
        """Forget the steps that have been undone, and say so at the next turn."""
        self._memory.clear()
        self._moved_back = True

    def _request(self, purpose: Purpose, messages: tuple[Message, ...]) -> ModelRequest:
        o = self.options
        return ModelRequest(
            purpose=purpose,
            messages=messages,
            schema=None if self._in_text else self._schema,
            schema_name="act",
            schema_help="Choose the next action.",
            mode=o.mode,
            temperature=o.temperature,
            max_tokens=o.max_tokens,
            seed=o.seed,
            timeout_s=o.timeout_s,
        )

    def _messages(
        self, observation: Mapping[str, Any], frames: Mapping[str, np.ndarray], shown: Mapping[str, Image]
    ) -> tuple[Message, ...]:
        """System prompt and the one user turn that tells everything anew."""
        briefing, o = self.briefing, self.options
        form = "" if self._in_text else self._told_form()
        system = prompts.load(f"{o.prompt}.system").substitute(action_help=self._actions.help(), answer_form=form)
        turn = prompts.load(f"{o.prompt}.turn").substitute(
            goal=briefing.task.goal,
            lesson=self._told_lesson(),
            history=self._told_history(),
            turn=self.step + 1,
            max_turns=briefing.max_steps or briefing.task.max_steps,
            state=told_state(observation, frames),
        )
        parts: list[str | Image] = [turn]
        for memory in self._memory:
            for key, image in memory.images.items():
                parts += [f"Earlier view `{key}`, before turn {memory.turn}, at reduced size:", image]
        for key, image in shown.items():
            parts += [_captioned(key, frames[key], image), image]
        return Message("system", (system.strip(),)), Message("user", tuple(parts))

    @property
    def _in_text(self) -> bool:
        """Whether the answer is plain text in the model's dialect, not an object."""
        return isinstance(self._actions, Spoken) and self._actions.dialect.answers_in_text

    def _find_words(self, frames: Mapping[str, np.ndarray]) -> None:
        """Behind the GUI space: the dialect, for coordinates of the picture as it is sent."""
        if self.briefing.space != ActionSpace.GUI or not frames:
            return
        height, width = next(iter(frames.values())).shape[:2]
        sent = shrunk((width, height), self.options.image_size)
        coordinates = Coordinates((width, height), sent, self.options.coordinates)
        if not isinstance(self._actions, Spoken) or self._actions.coordinates != coordinates:
            self._actions = speak(self.options.dialect, coordinates)
            self._schema = answer_schema(self._actions.schema())

    def _told_form(self) -> str:
        form = ""
        if self.options.mode == "prompt":
            form = f"The object must fit this JSON schema:\n\n```json\n{json.dumps(self._schema)}\n```"
        elif self.options.mode == "tool":
            form = "Give it as the arguments of the tool `act`, which you call exactly once."
        return prompts.load(f"{self.options.prompt}.object").substitute(answer_form=form)

    def _told_lesson(self) -> str:
        if not self.briefing.lesson:
            return ""
        # A bar before each line: no text of a lesson can end its own quotation.
        quoted = "\n".join(f"| {line}" for line in self.briefing.lesson.strip().splitlines())
        return prompts.load(f"{self.options.prompt}.lesson").substitute(lesson=quoted) + "\n\n"

    def _told_history(self) -> str:
        lines = [_told(memory) for memory in self._memory]
        if self._moved_back and len(lines) < max(1, self.options.history):
            lines.insert(0, "- The world was set back to an earlier moment; what you did after it has been undone.")
        return "Your last turns:\n" + "\n".join(lines) + "\n\n" if lines else ""

    def _reminders(self, frames: Mapping[str, np.ndarray], shown: Mapping[str, Image]) -> dict[str, Image]:
        """The pictures as later turns show them again, at half the size."""
        small: dict[str, Image] = {}
        if self.options.history_images:
            for key, frame in frames.items():
                height, width = frame.shape[:2]
                sent = shown.get(key)
                whole = sent if sent is not None and sent.size == (width, height) else Image.from_frame(frame)
                small[key] = whole.reduced(max(16, (self.options.image_size or max(height, width)) // 2))
        return small

    def _remember(self, decision: Decision, reminders: dict[str, Image]) -> None:
        if not self.options.history:
            return
        self._memory.append(_Memory(self.step + 1, decision, reminders))
        for old in list(self._memory)[: -self.options.history_images or None]:
            old.images = {}

    def _read(self, call: ModelCall, calls: tuple[ModelCall, ...]) -> tuple[Decision | None, list[str]]:
        """The decision that a reply amounts to, or the problems that the repair turn is told."""
        if call.status == "refused":
            return Decision(action=None, status="refused", reason=call.error, calls=calls), []
        if call.status == "truncated":
            return None, [f"it was cut off after {self.options.max_tokens} tokens: be brief"]
        try:
            reading = self._understand(call.text)
        except UnreadableReply as error:
            return None, error.problems
        notes = {"said": reading.said[:_SAID]} if reading.said else {}
        return Decision(action=reading.action, rationale=reading.rationale, calls=calls, notes=notes), []

    def _understand(self, text: str) -> Reading:
        if isinstance(self._actions, Spoken):
            return self._actions.read(text)
        return Reading(*read_action(text, self._actions), said="")

    def _readable(self, text: str) -> bool:
        try:
            self._understand(text)
        except UnreadableReply:
            return False
        return True


def pictures(observation: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The pictures of an observation, (H, W, 3) uint8 each, in its own order; rendered now if nobody has looked yet."""
    found: dict[str, np.ndarray] = {}
    for key in observation:
        value = observation[key]
        if isinstance(value, np.ndarray) and value.dtype == np.uint8 and value.ndim == 3 and value.shape[2] == 3:
            found[key] = value
    return found


def told_state(observation: Mapping[str, Any], frames: Mapping[str, np.ndarray]) -> str:
    """Everything in an observation that is no picture, one line each."""
    lines = []
    for key in observation:
        if key not in frames:
            value = observation[key]
            if isinstance(value, np.ndarray):
                value = np.round(value.astype(np.float64), 4).tolist()
            elif isinstance(value, np.generic):
                value = value.item()
            lines.append(f"- {key}: {value if isinstance(value, str) else json.dumps(value)}")
    return "\n\nAlso known:\n" + "\n".join(lines) if lines else ""


def answer_schema(action: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an answer: why, and what."""
    rationale = {"type": "string", "description": "what you see and why you act so, in one or two sentences"}
    return {
        "type": "object",
        "properties": {"rationale": rationale, "action": plain_schema(action)},
        "required": ["rationale", "action"],
        "additionalProperties": False,
    }


def _captioned(key: str, frame: np.ndarray, image: Image) -> str:
    height, width = frame.shape[:2]
    shown = image.size
    reduced = "" if shown == (width, height) else f", shown at {shown[0]} x {shown[1]}"
    return f"Current view `{key}` ({width} x {height} pixels{reduced}):"


def _told(memory: _Memory) -> str:
    decision = memory.decision
    if decision.action is None:
        done = f"no action ({decision.status}: {' '.join(decision.reason.split())[:300]})"
    else:
        done = str(decision.notes.get("said") or json.dumps(decision.action))
    if not memory.result_known:
        result = ""
    elif memory.illegal:
        result = f" -> refused: {memory.illegal}"
    else:
        result = f" -> done, reward {memory.reward:g}"
    why = f" (you thought: {' '.join(decision.rationale.split())[:300]})" if decision.rationale else ""
    return f"- turn {memory.turn}: {done}{result}{why}"


def _listed(problems: list[str]) -> str:
    return "\n".join(f"- {problem}" for problem in problems[:10])
