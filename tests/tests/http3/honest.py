"""Honest clients of HTTP/3 with aioquic, one after the other, each on a connection of its own.

    honest.py HOST PORT AUTHORITY NAME COUNT PACE_MS

It prints one line of JSON: how many failed, and of the others the time in milliseconds that 99 of 100 stay below, from the
begin of a connection to the end of its answer.
"""

import asyncio
import json
import sys

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import HeadersReceived
from aioquic.quic.configuration import QuicConfiguration

DEADLINE = 20
host, port, authority, name, count, pace = *sys.argv[1:5], int(sys.argv[5]), int(sys.argv[6]) / 1000
HEAD = [(b":method", b"GET"), (b":scheme", b"https"), (b":authority", name.encode()), (b":path", b"/")]


class Client(QuicConnectionProtocol):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.http = H3Connection(self._quic)
        self.status, self.over = None, asyncio.get_running_loop().create_future()

    def quic_event_received(self, event):
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
        return self.status == b"200"


async def ask(configuration):
    """Whether a request is answered well."""
    try:
        async with asyncio.timeout(DEADLINE):
            connecting = connect(host, int(port), configuration=configuration, create_protocol=Client)
            async with connecting as client:
                return await client.get()
    except (ConnectionError, TimeoutError):
        return False


async def main():
    configuration = QuicConfiguration(is_client=True, alpn_protocols=["h3"], server_name=name)
    configuration.load_verify_locations(authority)
    loop = asyncio.get_running_loop()
    failed, times, began = 0, [], loop.time()
    for number in range(count):
        await asyncio.sleep(max(0, began + number * pace - loop.time()))
        begun = loop.time()
        if await ask(configuration):
            times.append((loop.time() - begun) * 1000)
        else:
            failed += 1
    times.sort()
    print(json.dumps({"failed": failed, "p99_ms": times[len(times) * 99 // 100] if times else None}))


asyncio.run(main())
