"""A client of HTTP/3 with aioquic, told what to do by lines of JSON; each is answered with one.

    client.py HOST PORT AUTHORITY NAME [CERTIFICATE]

{"do": "ask", "path": P, "method": M, "fields": {}, "body": TEXT or length, "length": bool, "trailers": {}, "times": N}
{"do": "start", "path": P, ...}               asks as "ask" does and waits for nothing; the stream
{"do": "begin", "path": P}                    a POST whose body is still to come; answers with its stream
{"do": "finish", "stream": S, "body": TEXT}   the rest of it; answers as "ask" does
{"do": "cancel", "path": P, "times": N}       requests that are taken back at once
{"do": "move"}                                goes on from another port; which one
{"do": "forge", "from": ADDRESS, "path": P}   asks with another source, at which nobody receives; the stream
{"do": "raw", "way": "one" or "both", "hex": BYTES, "end": bool}
{"do": "wait-answer", "stream": S}            for what was sent raw
{"do": "websocket", "path": P}                opens one (RFC 9220); its stream and status
{"do": "write", "stream": S, "hex": BYTES, "end": bool}
{"do": "came", "stream": S, "count": N}       waits until so many bytes came; what they are
{"do": "mute"}                                acknowledges nothing from now on
{"do": "deaf"}                                lets the other end send no more than it may already
{"do": "goaways", "count": N}                 waits until so many came; their numbers
{"do": "ended"}                               waits until the connection has ended; its code
"""

import asyncio
import hashlib
import json
import socket
import sys

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.buffer import Buffer, BufferReadError
from aioquic.h3.connection import FrameType, H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, StreamDataReceived, StreamReset


def goaways(control):
    """What GOAWAY frames of a control stream say; the library passes over them."""
    told, buffer = [], Buffer(data=control)
    try:
        buffer.pull_uint_var()
        while True:
            kind, length = buffer.pull_uint_var(), buffer.pull_uint_var()
            payload = buffer.pull_bytes(length)
            if kind == FrameType.GOAWAY:
                told.append(Buffer(data=payload).pull_uint_var())
    except BufferReadError:
        return told


class Answer:
    def __init__(self):
        self.heads, self.body, self.ended, self.reset = [], hashlib.sha256(), False, None
        self.length, self.text = 0, b""

    def told(self):
        final = [head for head in self.heads if not head.get(":status", "").startswith("1")]
        return {
            "status": int(final[0][":status"]) if final else 0,
            "head": final[0] if final else {},
            "trailers": final[1] if len(final) > 1 else {},
            "length": self.length,
            "sha256": self.body.hexdigest(),
            "text": self.text.decode("latin-1"),
            "reset": self.reset,
        }


class Client(QuicConnectionProtocol):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.http, self.control = H3Connection(self._quic), b""
        self.answers, self.news, self.ended = {}, asyncio.Condition(), None

    def quic_event_received(self, event):
        if isinstance(event, ConnectionTerminated):
            self.ended = event
        elif isinstance(event, StreamReset):
            self.answer(event.stream_id).reset = event.error_code
        elif isinstance(event, StreamDataReceived) and event.stream_id == CONTROL:
            self.control += event.data
        for told in self.http.handle_event(event) if self.ended is None else ():
            answer = self.answer(told.stream_id)
            if isinstance(told, HeadersReceived):
                answer.heads.append({name.decode(): value.decode() for name, value in told.headers})
            elif isinstance(told, DataReceived):
                answer.body.update(told.data)
                answer.length += len(told.data)
                answer.text = (answer.text + told.data)[:1000]
            answer.ended = told.stream_ended
        asyncio.ensure_future(self.tell())

    async def tell(self):
        async with self.news:
            self.news.notify_all()

    async def until(self, so):
        async with self.news:
            await asyncio.wait_for(self.news.wait_for(so), 30)

    def answer(self, stream):
        return self.answers.setdefault(stream, Answer())

    def head(self, method, path, more=()):
        fields = [(":method", method), (":scheme", "https"), (":authority", NAME), (":path", path)]
        return [(name.encode(), value.encode()) for name, value in [*fields, *more]]

    def send(self, order):
        stream = self._quic.get_next_available_stream_id()
        body = order.get("body", "")
        body = bytes(at % 251 for at in range(body)) if isinstance(body, int) else body.encode()
        trailers = order.get("trailers", {})
        more = [("content-length", str(len(body)))] if order.get("length") else []
        more += order.get("fields", {}).items()
        method = order.get("method", "POST" if body else "GET")
        self.http.send_headers(stream, self.head(method, order["path"], more), not body)
        if body:
            self.http.send_data(stream, body, not trailers)
        if trailers:
            self.http.send_headers(
                stream, [(name.encode(), value.encode()) for name, value in trailers.items()], True
            )
        return stream

    async def answered(self, stream):
        answer = self.answer(stream)
        await self.until(lambda: answer.ended or answer.reset is not None or self.ended)
        return answer.told()

    async def ask(self, order):
        streams = [self.send(order) for _ in range(order.get("times", 1))]
        self.transmit()
        told = [await self.answered(stream) for stream in streams]
        return told[0] if len(told) == 1 else told

    async def start(self, order):
        stream = self.send(order)
        self.transmit()
        return stream

    async def begin(self, order):
        stream = self._quic.get_next_available_stream_id()
        self.http.send_headers(stream, self.head("POST", order["path"]), False)
        self.transmit()
        return stream

    async def finish(self, order):
        self.http.send_data(order["stream"], order["body"].encode(), True)
        self.transmit()
        return await self.answered(order["stream"])

    async def websocket(self, order):
        stream = self._quic.get_next_available_stream_id()
        fields = self.head("CONNECT", order["path"], [("sec-websocket-version", "13")])
        self.http.send_headers(stream, [fields[0], (b":protocol", b"websocket"), *fields[1:]], False)
        self.transmit()
        answer = self.answer(stream)
        await self.until(lambda: answer.heads or answer.reset is not None or self.ended)
        return {"stream": stream, **answer.told()}

    async def write(self, order):
        self.http.send_data(order["stream"], bytes.fromhex(order["hex"]), order.get("end", False))
        self.transmit()
        return True

    async def came(self, order):
        answer = self.answer(order["stream"])
        await self.until(lambda: answer.length >= order["count"] or answer.ended or self.ended)
        return {"hex": answer.text.hex(), **answer.told()}

    async def mute(self, _):
        # The library always acknowledges: it is made to believe that it has.
        def acknowledged(space, **_):
            space.ack_at = None

        self._quic._write_ack_frame = acknowledged
        return True

    async def deaf(self, _):
        # The library has no way to stop reading: it is kept from granting more.
        self._quic._write_connection_limits = lambda **_: None
        self._quic._write_stream_limits = lambda **_: None
        return True

    async def cancel(self, order):
        for _ in range(order["times"]):
            if self.ended is not None:
                break
            stream = self._quic.get_next_available_stream_id()
            self.http.send_headers(stream, self.head("GET", order["path"]), True)
            self.transmit()
            self._quic.stop_stream(stream, 0x10C)
            self.transmit()
            await asyncio.sleep(0)
        return True

    async def move(self, _):
        before = self._transport
        # Both families on one socket, as the library's own are.
        sock = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        sock.bind(("::", 0))
        loop = asyncio.get_running_loop()
        await loop.create_datagram_endpoint(lambda: self, sock=sock)
        before.close()
        return sock.getsockname()[1]

    async def forge(self, order):
        stream, home = self.send(order), self._transport
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.bind((order["from"], 0))
            for data, _ in self._quic.datagrams_to_send(asyncio.get_running_loop().time()):
                sock.sendto(data, (HOST, PORT))
        assert self._transport is home
        # What is sent again by itself goes out from home.
        self.transmit()
        return stream

    async def raw(self, order):
        one = order["way"] == "one"
        stream = self._quic.get_next_available_stream_id(is_unidirectional=one)
        self._quic.send_stream_data(stream, bytes.fromhex(order["hex"]), order.get("end", False))
        self.transmit()
        return stream

    async def goaways(self, order):
        await self.until(lambda: len(goaways(self.control)) >= order["count"] or self.ended)
        return goaways(self.control)

    async def wait_ended(self, _):
        await self.until(lambda: self.ended is not None)
        return self.ended.error_code


async def main(host, port, authority, certificate=None):
    configuration = QuicConfiguration(is_client=True, alpn_protocols=["h3"], server_name=NAME)
    configuration.load_verify_locations(authority)
    if certificate:
        configuration.load_cert_chain(certificate)
    loop = asyncio.get_running_loop()
    lines = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    connecting = connect(
        host,
        int(port),
        configuration=configuration,
        create_protocol=Client,
    )
    async with connecting as client:
        do = {
            "ask": client.ask,
            "start": client.start,
            "begin": client.begin,
            "finish": client.finish,
            "cancel": client.cancel,
            "move": client.move,
            "forge": client.forge,
            "raw": client.raw,
            "wait-answer": lambda order: client.answered(order["stream"]),
            "websocket": client.websocket,
            "write": client.write,
            "came": client.came,
            "mute": client.mute,
            "deaf": client.deaf,
            "goaways": client.goaways,
            "ended": client.wait_ended,
        }
        print(json.dumps("connected"), flush=True)
        while line := await lines.readline():
            order = json.loads(line)
            print(json.dumps(await do[order["do"]](order)), flush=True)


HOST, PORT, NAME = sys.argv[1], int(sys.argv[2]), sys.argv[4]
# The first stream of the server that goes one way; the only one of ours.
CONTROL = 3
try:
    asyncio.run(main(*sys.argv[1:4], *sys.argv[5:6]))
except ConnectionError as error:
    print(json.dumps({"refused": str(error)}), flush=True)
