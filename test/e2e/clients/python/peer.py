"""What the clients in Python have in common: calls in, outcomes out, one JSON object a line."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Lock


def serve(call):
    """Answers each call on standard input with what `call` returns for it, several at once."""
    # Libraries print as they like: the real standard output is for outcomes alone.
    out, sys.stdout = sys.stdout, sys.stderr
    lock = Lock()

    def run(request):
        try:
            outcome = call(request)
        except Exception as error:  # whatever it is, it is the outcome
            outcome = {"error": error_fields(error)}
        with lock:
            print(json.dumps({"id": request["id"], "outcome": outcome}), file=out, flush=True)

    with ThreadPoolExecutor(32) as pool:
        for line in sys.stdin:
            pool.submit(run, json.loads(line))


def read_stream(stream, leave_after, convert):
    """The chunks of a stream, up to `leave_after` of them, and the error that ended it."""
    chunks = []
    try:
        for chunk in stream:
            chunks.append(convert(chunk))
            if leave_after is not None and len(chunks) >= leave_after:
                stream.close()
                break
    except Exception as error:  # what came before it counts too
        return {"chunks": chunks, "error": error_fields(error)}
    return {"chunks": chunks}


def error_fields(error):
    """What a program can learn from an exception."""
    fields = {
        "status": "status_code",
        "code": "code",
        "param": "param",
        "type": "type",
        "requestId": "request_id",
    }
    return {
        "name": type(error).__name__,
        "message": str(error),
        **{name: getattr(error, attribute, None) for name, attribute in fields.items()},
    }
