"""The SDKs' clients: made when first wanted, kept, and bounded in what they read.

Both libraries are imported on the first call: importing this module needs neither them nor a network.
"""

from __future__ import annotations

import functools
import os
from typing import Any

from agents.gateway import bodies


@functools.lru_cache(maxsize=32)
def openai_client(base_url: str, api_key: str | None) -> Any:
    """The process's one client for an address: making one takes 0.1 s, and connections are kept open.

    Servers without keys want any; the SDK will not go without. It must not find one by itself
    either: OPENAI_API_KEY belongs to OpenAI and to no other address.
    """
    import openai

    http_client = openai.DefaultHttpxClient(event_hooks=bodies.hooks())
    return openai.OpenAI(base_url=base_url, api_key=api_key or "none", max_retries=0, http_client=http_client)


@functools.cache
def litellm_module() -> Any:
    """The module litellm, imported when first wanted, kept quiet, and bounded in what it reads."""
    # Unless told so before its import, litellm fetches its price table from the network.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm

    litellm.suppress_debug_info = True  # otherwise it prints advice to the terminal at each error
    litellm.telemetry = False
    _bind(litellm)
    return litellm


def _bind(litellm: Any) -> None:
    """Have litellm read every answer within the bound, through both of its doors.

    To the openai SDK it hands one client, which can be another. For the other providers it makes clients as it wants
    them, and takes nothing but a transport; ours sends by that same client, which is litellm's own in all else: its
    certificates, and the proxies of the environment, which a client with another transport would not look for.
    """
    import httpx
    from litellm.llms.custom_httpx.http_handler import HTTPHandler

    class Through(httpx.BaseTransport):
        handler = HTTPHandler()  # closes its client when it goes

        def handle_request(self, request: httpx.Request) -> httpx.Response:
            client: httpx.Client = self.handler.client
            return client.send(request, stream=True, follow_redirects=False)

    Through.handler.client.event_hooks = bodies.hooks()
    litellm.client_session, litellm.sync_transport = Through.handler.client, Through()
