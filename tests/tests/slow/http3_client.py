"""Requests of HTTP/3 at the pace that a test asks for, each on a connection of its own, with aioquic.

    http3_client.py AUTHORITY NAME

A line of JSON asks for one: {"host": H, "port": P, "target": T, "upload": BYTES, "piece": BYTES, "send_pause": SECONDS,
"read_pause": SECONDS, "window": BYTES}. The answer is a line with the number of bytes that came. With `read_pause` the
connection's window grows by `window` after each such pause, as far as what came before was read.
"""

import asyncio
import json
import sys

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, StreamReset

WIDE = 16 << 20


class PacedClient(QuicConnectionProtocol):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.http = H3Connection(self._quic)
        self.came, self.ended, self.granted = 0, asyncio.Event(), None

    def pace_window(self, window):
        """The library always grants more: it is told that nothing was used, and what to grant."""
        quic, self.granted = self._quic, window
        write_limits = quic._write_connection_limits

        def paced(**arguments):
            quic._local_max_data.used = 0
            quic._local_max_data.value = self.granted
            write_limits(**arguments)

        quic._write_connection_limits = paced

    def quic_event_received(self, event):
        if isinstance(event, (ConnectionTerminated, StreamReset)):
            self.ended.set()
        for event in self.http.handle_event(event):
            if isinstance(event, DataReceived):
                self.came += len(event.data)
            if isinstance(event, (DataReceived, HeadersReceived)) and event.stream_ended:
                self.ended.set()

    async def read_slowly(self, pause, window):
        while not self.ended.is_set():
            await asyncio.sleep(pause)
            if self.came >= self.granted - window:
                self.granted += window
                self.transmit()

    async def ask(self, order):
        pause, window = order["read_pause"], order["window"]
        if pause:
            self.pace_window(window)
            reading = asyncio.ensure_future(self.read_slowly(pause, window))
        stream, left = self._quic.get_next_available_stream_id(), order["upload"]
        fields = [(":method", "POST" if left else "GET"), (":scheme", "https")]
        fields += [(":authority", NAME), (":path", order["target"])]
        fields += [("content-length", str(left))] if left else []
        self.http.send_headers(stream, [(k.encode(), v.encode()) for k, v in fields], not left)
        self.transmit()
        while left:
            if order["send_pause"]:
                await asyncio.sleep(order["send_pause"])
            piece = min(left, order["piece"])
            left -= piece
            self.http.send_data(stream, b"u" * piece, not left)
            self.transmit()
        await self.ended.wait()
        if pause:
            reading.cancel()
        return self.came


async def main():
    lines = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while line := await lines.readline():
        order = json.loads(line)
        window = order["window"] if order["read_pause"] else WIDE
        configuration = QuicConfiguration(
            is_client=True,
            alpn_protocols=["h3"],
            server_name=NAME,
            max_data=window,
            max_stream_data=WIDE,
        )
        configuration.load_verify_locations(AUTHORITY)
        connecting = connect(
            order["host"], order["port"], configuration=configuration, create_protocol=PacedClient
        )
        async with connecting as client:
            came = await asyncio.wait_for(client.ask(order), 60)
        print(came, flush=True)


AUTHORITY, NAME = sys.argv[1:3]
asyncio.run(main())
