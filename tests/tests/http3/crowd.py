"""Clients that begin a handshake of QUIC, prove their address where that is asked of them, and say nothing more.

    crowd.py HOST PORT COUNT ADDRESSES [EACH_SECOND]

So many at first and so many new ones a second from then on (20), from so many addresses of the loopback network. It prints a
line once the first have begun, and ends with its standard input. Every client says the same ClientHello under keys of its
own connection id, so that a crowd costs little where it comes from.
"""

import os
import select
import socket
import sys
import time
from collections import deque

from aioquic.buffer import Buffer
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.crypto import CryptoPair
from aioquic.quic.packet import QuicProtocolVersion, pull_quic_header

VERSION = QuicProtocolVersion.VERSION_1
HELD = 4
MOST_AT_ONCE = 20
LEAST_DATAGRAM = 1200
# A tag at the end of each encrypted packet, and at the end of a Retry (RFC 9001 §5).
TAG = 16

host, port, count, addresses = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
each_second = int(sys.argv[5]) if len(sys.argv) > 5 else 20


def hello():
    """The frames of a first packet, and the connection id that its sender calls itself by."""
    configuration = QuicConfiguration(is_client=True, alpn_protocols=["h3"], server_name="shop.example")
    client = QuicConnection(configuration=configuration)
    client.connect((host, port), now=time.time())
    (first, _), *_ = client.datagrams_to_send(now=time.time())
    buffer = Buffer(data=first)
    header = pull_quic_header(buffer, host_cid_length=8)
    pair = CryptoPair()
    pair.setup_initial(header.destination_cid, is_client=False, version=VERSION)
    _, frames, _ = pair.decrypt_packet(first[: header.packet_length], buffer.tell(), 0)
    return frames.rstrip(b"\0"), header.source_cid


FRAMES, SOURCE = hello()


def initial(destination, token):
    """A first packet to that connection id, as a datagram (RFC 9000 §17.2.2)."""
    pair = CryptoPair()
    pair.setup_initial(destination, is_client=True, version=VERSION)
    buffer = Buffer(capacity=LEAST_DATAGRAM + len(token))
    buffer.push_uint8(0xC0 | 1)
    buffer.push_uint32(VERSION)
    for cid in (destination, SOURCE):
        buffer.push_uint8(len(cid))
        buffer.push_bytes(cid)
    buffer.push_uint_var(len(token))
    buffer.push_bytes(token)
    number = b"\0\0"
    room = max(LEAST_DATAGRAM - buffer.tell() - 2, len(FRAMES) + len(number) + TAG)
    buffer.push_uint16(0x4000 | room)
    buffer.push_bytes(number)
    payload = FRAMES + bytes(room - len(number) - TAG - len(FRAMES))
    return pair.encrypt_packet(buffer.data, payload, 0)


class Client:
    def __init__(self, number):
        number %= addresses
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.bind((f"127.20.{number // 200}.{1 + number % 200}", 0))
        self.sock.connect((host, port))
        self.sock.setblocking(False)
        self.sock.send(initial(os.urandom(8), b""))

    def hear(self):
        """Answers a Retry; of a handshake nothing is answered."""
        data = self.sock.recv(2048)
        if data[0] & 0xF0 == 0xF0:
            header = pull_quic_header(Buffer(data=data), host_cid_length=8)
            self.sock.send(initial(header.source_cid, header.token))


class Crowd:
    """Who has come and is still there; the oldest go once there are four times as many as came first."""

    def __init__(self):
        self.come, self.order, self.clients, self.heard = 0, deque(), {}, select.epoll()

    def begin(self):
        client = Client(self.come)
        self.come += 1
        self.order.append(client)
        self.clients[client.sock.fileno()] = client
        self.heard.register(client.sock, select.EPOLLIN)
        if len(self.order) > HELD * count:
            oldest = self.order.popleft()
            del self.clients[oldest.sock.fileno()]
            oldest.sock.close()

    def hear(self, seconds):
        """Answers what comes within so long; false once the standard input has ended."""
        for number, _ in self.heard.poll(seconds):
            if number == sys.stdin.fileno():
                return False
            try:
                self.clients[number].hear()
            except OSError:
                # It may be told that nobody listens.
                pass
        return True


crowd = Crowd()
for _ in range(count):
    crowd.begin()
    crowd.hear(0)
print("begun", flush=True)
crowd.heard.register(sys.stdin, select.EPOLLIN | select.EPOLLHUP)
began = time.monotonic()
while crowd.hear(0.002):
    due = count + int((time.monotonic() - began) * each_second)
    for _ in range(min(due - crowd.come, MOST_AT_ONCE)):
        crowd.begin()
