#!/usr/bin/env python3
"""Asks over HTTP/3 as much as goes: http3_load.py PORT CONNECTIONS STREAMS SECONDS [REQUESTS], with aioquic.

Each connection has so many requests under way. Prints how many were answered and failed, as JSON. It is slow, being
Python: what it measures is what a balancer's request costs, and not how many requests a second it can serve.
"""

import asyncio
import json
import ssl
import sys
import time

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, StreamReset

HEAD = [(b":method", b"GET"), (b":scheme", b"https"), (b":authority", b"bench"), (b":path", b"/")]
PATIENCE_S = 10


class Load(QuicConnectionProtocol):
    """One connection; an answer that has ended makes room for the next request until the time is over."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.http = H3Connection(self._quic)
        self.answered = self.failed = 0
        self.under_way = set()
        self.until, self.left = 0, 0
        self.done = asyncio.Event()

    def begin(self, streams, until, requests):
        self.until, self.left = until, requests
        for _ in range(streams):
            self.ask()
        self.transmit()

    def ask(self):
        if time.monotonic() < self.until and self.left > 0:
            self.left -= 1
            stream = self._quic.get_next_available_stream_id()
            self.under_way.add(stream)
            self.http.send_headers(stream, HEAD, True)
        elif not self.under_way:
            self.done.set()

    def quic_event_received(self, event):
        if isinstance(event, ConnectionTerminated):
            self.failed += len(self.under_way)
            self.under_way.clear()
            self.done.set()
        elif isinstance(event, StreamReset):
            self.over(event.stream_id, False)
        else:
            for told in self.http.handle_event(event):
                if isinstance(told, HeadersReceived) and dict(told.headers).get(b":status") != b"200":
                    self.over(told.stream_id, False)
                elif isinstance(told, (HeadersReceived, DataReceived)) and told.stream_ended:
                    self.over(told.stream_id, True)

    def over(self, stream, well):
        if stream in self.under_way:
            self.under_way.remove(stream)
            self.answered += well
            self.failed += not well
            self.ask()


async def one(port, streams, until, requests):
    settings = QuicConfiguration(is_client=True, alpn_protocols=H3_ALPN, verify_mode=ssl.CERT_NONE, server_name="bench")
    async with connect("127.0.0.1", port, configuration=settings, create_protocol=Load) as load:
        load.begin(streams, until, requests)
        try:
            await asyncio.wait_for(load.done.wait(), max(0, until - time.monotonic()) + PATIENCE_S)
        except asyncio.TimeoutError:
            load.failed += len(load.under_way)
        return load.answered, load.failed


async def main():
    port, connections, streams = (int(word) for word in sys.argv[1:4])
    requests = int(sys.argv[5]) if len(sys.argv) > 5 else sys.maxsize
    until = time.monotonic() + float(sys.argv[4])
    try:
        parts = await asyncio.gather(*(one(port, streams, until, requests) for _ in range(connections)))
    except (ConnectionError, OSError) as error:
        print(json.dumps({"answered": 0, "failed": 1, "error": str(error)}))
        return
    answered, failed = (sum(part) for part in zip(*parts))
    print(json.dumps({"answered": answered, "failed": failed}))


if __name__ == "__main__":
    asyncio.run(main())
