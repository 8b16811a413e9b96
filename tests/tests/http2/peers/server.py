"""A server of hypercorn that speaks HTTP/2, in TLS when it is given a file with certificate and key."""

import asyncio
import socket
import sys

from hypercorn.asyncio import serve
from hypercorn.config import Config


async def answer(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": message["type"] + ".complete"})
            if message["type"] == "lifespan.shutdown":
                return
    path, body = scope["path"], b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    host = dict(scope["headers"]).get(b"host", b"")
    fields = [(b"x-host", host), (b"x-protocol", b"HTTP/" + scope["http_version"].encode())]
    trailers = path == "/echo"
    if trailers:
        fields.append((b"trailer", b"x-length"))
    status, out = {
        "/hello": (200, b"hello"),
        "/large": (200, b"x" * 1000000),
        "/echo": (200, body),
    }.get(path, (404, b"nothing"))
    if scope["method"] == "HEAD":
        out = b""
    await send({"type": "http.response.start", "status": status, "headers": fields, "trailers": trailers})
    await send({"type": "http.response.body", "body": out})
    if trailers:
        await send({"type": "http.response.trailers", "headers": [(b"x-length", str(len(body)).encode())]})


listener = socket.create_server(("127.0.0.1", 0))
print("listens", listener.getsockname()[1], flush=True)
config = Config()
config.bind = ["fd://%d" % listener.fileno()]
if len(sys.argv) > 1:
    config.certfile = config.keyfile = sys.argv[1]
asyncio.run(serve(answer, config))
