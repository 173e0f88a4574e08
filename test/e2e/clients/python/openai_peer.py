"""The official `openai` package."""

import asyncio
import inspect
from operator import attrgetter
from typing import Literal, Optional

import openai
from peer import read_stream, serve
from pydantic import BaseModel


class Way(BaseModel):
    """What a program wants to have."""

    way: Literal["left", "right"]
    miles: int
    tags: list[str]
    note: Optional[str]


def call(request):
    options = {
        "base_url": request["baseUrl"],
        "api_key": "none",
        "max_retries": request["maxRetries"],
        "timeout": request["timeoutMs"] / 1000,
        "default_headers": request["headers"],
    }
    if request["method"] == "async":
        return {"answer": asyncio.run(leave_early(openai.AsyncOpenAI(**options), request))}
    with openai.OpenAI(**options) as client:
        answer = answer_of(client, request)
        if isinstance(answer, openai.Stream):
            outcome = read_stream(answer, request["leaveAfter"], as_json)
            return {**outcome, "requestId": answer.response.headers["x-request-id"]}
        return {"answer": as_json(answer), "requestId": getattr(answer, "_request_id", None)}


def answer_of(client, request):
    method, body = request["method"], request["body"]
    completions = client.chat.completions
    if method == "get":
        return client.get(request["path"], cast_to=object)
    if method == "post":
        return client.post(request["path"], body=body, cast_to=object)
    if method == "parse":
        message = completions.parse(**body, response_format=Way).choices[0].message
        return {"content": message.content, "parsed": message.parsed.model_dump()}
    if method == "gather":
        with completions.stream(**body) as events:
            return as_json(events.until_done().get_final_completion())
    function = attrgetter(method)(client)
    # What the package does not know goes where it has programs put it.
    known = inspect.signature(function).parameters
    named = {name: value for name, value in body.items() if name in known}
    extra = {name: value for name, value in body.items() if name not in known}
    return function(**named, extra_body=extra or None)


async def leave_early(client, request):
    """Cancels a task that waits for an answer. Says whether it ended so."""
    asked = asyncio.create_task(client.chat.completions.create(**request["body"]))
    await asyncio.wait([asked], timeout=request["leaveAfter"] / 1000)
    asked.cancel()
    await asyncio.wait([asked])
    await client.close()
    return asked.cancelled()


def as_json(answer):
    """The answer as it was sent: nothing that the package makes up, nothing lost."""
    return answer.model_dump(exclude_unset=True) if hasattr(answer, "model_dump") else answer


serve(call)
