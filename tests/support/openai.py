"""The clients of the `openai` package, led to an instance of the stack, for tests."""

from typing import Any

import openai

from ragcore import loopback
from tests.support.api import Client


def client_of(client: Client, api_key: str = "") -> openai.OpenAI:
    return openai.OpenAI(**_about(client, api_key), http_client=openai.DefaultHttpxClient(trust_env=False))


def async_client_of(client: Client) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(**_about(client, ""), http_client=openai.DefaultAsyncHttpxClient(trust_env=False))


def _about(client: Client, api_key: str) -> dict[str, Any]:
    """It asks once: a refusal is to be seen as it is."""
    url, host = loopback.resolve(f"{client.base_url}/v1")
    headers = {"Host": host}
    return {"base_url": url, "default_headers": headers, "api_key": api_key or client.token, "max_retries": 0}
