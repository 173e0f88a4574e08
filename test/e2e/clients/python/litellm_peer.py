"""LiteLLM, whose models are named by the API that they speak."""

import litellm
from peer import read_stream, serve

litellm.suppress_debug_info = True


def call(request):
    function = getattr(litellm, request["method"])
    answer = function(
        api_base=request["baseUrl"],
        api_key="none",
        max_retries=request["maxRetries"],
        timeout=request["timeoutMs"] / 1000,
        **request["body"],
    )
    if request["body"].get("stream"):
        return read_stream(answer, request["leaveAfter"], as_json)
    return {"answer": as_json(answer)}


def as_json(answer):
    return answer.model_dump(exclude_none=True)


serve(call)
