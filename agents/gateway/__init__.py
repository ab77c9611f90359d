"""The one door to every model.

    gateway = ModelGateway(GatewaySettings(model="qwen3-vl", base_url="http://127.0.0.1:8000/v1"))
    call = gateway.complete(ModelRequest(purpose="judge", messages=(Message("user", ("What is this?", image)),)))
    call.text, call.status, call.cost_usd

Neither litellm nor the openai SDK is imported before the first call.
"""

from agents.gateway.cache import CallCache
from agents.gateway.clips import Clip
from agents.gateway.gateway import ModelGateway
from agents.gateway.limits import Budget
from agents.gateway.messages import Image, Message, ModelRequest, plain_schema
from agents.gateway.retry import Clock
from agents.gateway.settings import GatewaySettings

__all__ = [
    "Budget",
    "CallCache",
    "Clip",
    "Clock",
    "GatewaySettings",
    "Image",
    "Message",
    "ModelGateway",
    "ModelRequest",
    "plain_schema",
]
