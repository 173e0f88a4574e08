"""LangChain's models of OpenAI's API."""

from langchain_openai import ChatOpenAI, OpenAI
from peer import read_stream, serve


def call(request):
    body = dict(request["body"])
    asked = body.pop("input")
    schema = body.pop("schema", None)
    options = {
        "base_url": request["baseUrl"],
        "api_key": "none",
        "max_retries": request["maxRetries"],
        "timeout": request["timeoutMs"] / 1000,
        **body,
    }
    if request["method"] == "complete":
        return {"answer": OpenAI(**options).generate(asked).model_dump(exclude={"run"})}
    chat = ChatOpenAI(**options)
    if request["method"] == "stream":
        return read_stream(chat.stream(asked), request["leaveAfter"], message_fields)
    if request["method"] == "batch":
        return {"answer": [message_fields(message) for message in chat.batch(asked)]}
    if schema is not None:
        return {"answer": chat.with_structured_output(schema, method="json_schema").invoke(asked)}
    return {"answer": message_fields(chat.invoke(asked))}


def message_fields(message):
    return {
        "content": message.content,
        "usage": message.usage_metadata,
        "metadata": message.response_metadata,
    }


serve(call)
