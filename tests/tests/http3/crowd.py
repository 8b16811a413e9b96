"""Clients that begin a handshake of QUIC, prove their address where that is asked of them, and say nothing more.

    crowd.py HOST PORT COUNT ADDRESSES

So many at first and 20 new ones a second from then on, from so many addresses of the loopback network. It prints a line once
the first have begun, and ends with its standard input.
"""

import select
import socket
import sys
import time

from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection

host, port, count, addresses = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
configuration = QuicConfiguration(is_client=True, alpn_protocols=["h3"], server_name="shop.example")
held = []


def begin(number):
    number %= addresses
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind((f"127.20.{number // 200}.{1 + number % 200}", 0))
    client = QuicConnection(configuration=configuration)
    client.connect((host, port), now=time.time())
    for data, _ in client.datagrams_to_send(now=time.time()):
        sock.sendto(data, (host, port))
    # A Retry is answered; of a handshake nothing is.
    if select.select([sock], [], [], 0.05)[0]:
        data = sock.recv(2048)
        if data[0] & 0xF0 == 0xF0:
            client.receive_datagram(data, (host, port), now=time.time())
            for data, _ in client.datagrams_to_send(now=time.time()):
                sock.sendto(data, (host, port))
    held.append(sock)
    del held[:-count]


for number in range(count):
    begin(number)
print("begun", flush=True)
while not select.select([sys.stdin], [], [], 0.05)[0]:
    begin(number := number + 1)
