"""Honest clients of HTTP/3 with aioquic, one after the other, each on a connection of its own.

    honest.py HOST PORT AUTHORITY NAME COUNT PACE_MS

It prints one line of JSON: of each that failed its number and why, and of the others the time in milliseconds that 99 of 100
stay below, from the begin of a connection to the end of its answer.
"""

import asyncio
import json
import sys
import time

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, HandshakeCompleted

DEADLINE = 20
host, port, authority, name, count, pace = *sys.argv[1:5], int(sys.argv[5]), int(sys.argv[6]) / 1000
HEAD = [(b":method", b"GET"), (b":scheme", b"https"), (b":authority", name.encode()), (b":path", b"/")]


class Client(QuicConnectionProtocol):
    def __init__(self, met, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.http, self.met = H3Connection(self._quic), met
        self.status, self.over = None, asyncio.get_running_loop().create_future()

    def quic_event_received(self, event):
        if isinstance(event, HandshakeCompleted):
            self.met.append("shook hands")
        if isinstance(event, ConnectionTerminated):
            self.met.append(f"ended with {event.error_code:#x} {event.reason_phrase!r}")
        for told in self.http.handle_event(event):
            if isinstance(told, HeadersReceived):
                self.status = dict(told.headers).get(b":status")
            if getattr(told, "stream_ended", False) and not self.over.done():
                self.over.set_result(None)

    def connection_lost(self, *args):
        if not self.over.done():
            self.over.set_result(None)

    async def get(self):
        self.http.send_headers(self._quic.get_next_available_stream_id(), HEAD, True)
        self.transmit()
        await self.over
        return self.status


async def ask(configuration):
    """Why a request was not answered well; `None` where it was."""
    met, protocol = [], None

    def create(*args, **kwargs):
        nonlocal protocol
        protocol = Client(met, *args, **kwargs)
        return protocol

    begun, status = time.monotonic(), None
    try:
        async with asyncio.timeout(DEADLINE):
            async with connect(host, int(port), configuration=configuration, create_protocol=create) as client:
                status = await client.get()
                if status == b"200":
                    return None
    except (ConnectionError, TimeoutError) as error:
        met.append(type(error).__name__)
    retried = bool(protocol and protocol._quic._retry_source_connection_id)
    return f"{time.monotonic() - begun:.3f} s, status {status}, retried {retried}: {', '.join(met)}"


async def main():
    configuration = QuicConfiguration(is_client=True, alpn_protocols=["h3"], server_name=name)
    configuration.load_verify_locations(authority)
    loop = asyncio.get_running_loop()
    failed, times, began = [], [], loop.time()
    for number in range(count):
        await asyncio.sleep(max(0, began + number * pace - loop.time()))
        begun = loop.time()
        why = await ask(configuration)
        if why is None:
            times.append((loop.time() - begun) * 1000)
        else:
            failed.append(f"request {number}: {why}")
    times.sort()
    print(json.dumps({"failed": failed, "p99_ms": times[len(times) * 99 // 100] if times else None}))


asyncio.run(main())
