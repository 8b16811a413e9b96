"""User-mode instructions that a request costs, counted by callgrind: nothing else that the machine does has a part in it.

The program runs under valgrind as it is. Only the kernel's own list of the auxiliary vector is withheld from it: valgrind
3.19 does not map the vDSO that this list names, and the program would read it (rustix, PR_GET_AUXV).
"""

import ctypes
import errno
import os
import re
import socket
import ssl
import struct
import subprocess
import sys
import time
from pathlib import Path

from processes import START_LIMIT_S

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
PR_GET_AUXV = 0x41555856
NR_PRCTL = {"x86_64": 157, "aarch64": 167}
ALLOW, FAIL = 0x7FFF0000, 0x00050000 | errno.EINVAL
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ANSWER_LIMIT_S = 60
WARM = 200


class CountError(Exception):
    """Nothing was counted; the text says why."""


def per_request(command, port, folder, requests, kind, close):
    """Instructions of the thread that serves for one request: one client that asks for one thing after the other."""
    folder = Path(folder)
    out = folder / "callgrind.out"
    wrapped = [sys.executable, Path(__file__).resolve(), "valgrind", "--tool=callgrind", "--separate-threads=yes"]
    wrapped += [f"--callgrind-out-file={out}", *command]
    with open(folder / "valgrind.log", "wb") as log:
        child = subprocess.Popen([str(part) for part in wrapped], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        wait_for(child, port, folder / "valgrind.log")
        ask(port, WARM, kind, close)
        control(child.pid, "--zero")
        ask(port, requests, kind, close)
        control(child.pid, "--dump")
        return max(totals(folder, "callgrind.out.1-*")) / requests
    finally:
        child.terminate()
        child.wait()


def ask(port, requests, kind, close):
    """One request after the other, on one connection or on one for each."""
    end = "Connection: close\r\n" if close else ""
    message = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{end}\r\n".encode()
    for _ in range(requests if close else 1):
        with connect(port, kind) as client:
            for _ in range(1 if close else requests):
                client.sendall(message)
                answer(client)


def connect(port, kind):
    client = socket.create_connection(("127.0.0.1", port), ANSWER_LIMIT_S)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if kind != "https":
        return client
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context.wrap_socket(client)


def answer(client):
    """Reads one answer of status 200 and known length."""
    held = b""
    while True:
        more = client.recv(65536)
        if not more:
            raise CountError(f"the connection ended after {held[:200]!r}")
        held += more
        head, found, body = held.partition(b"\r\n\r\n")
        if not found:
            continue
        length = re.search(rb"(?im)^content-length: *(\d+)", head)
        if not head.startswith(b"HTTP/1.1 200") or not length:
            raise CountError(f"an answer that was not expected: {head[:200]!r}")
        if len(body) >= int(length.group(1)):
            return


def wait_for(child, port, log):
    """Returns once the port accepts connections; valgrind makes starting slow."""
    limit = time.monotonic() + 10 * START_LIMIT_S
    while time.monotonic() < limit and child.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise CountError(f"does not begin to serve under valgrind:\n{log.read_text(errors='replace')[-2000:]}")


def control(pid, what):
    done = subprocess.run(["callgrind_control", what, str(pid)], capture_output=True, text=True, timeout=ANSWER_LIMIT_S)
    if done.returncode != 0 or "OK" not in done.stdout:
        raise CountError(f"callgrind_control {what}: {done.stdout}{done.stderr}")


def totals(folder, pattern):
    """What each thread has executed by the dumps."""
    found = []
    for dump in Path(folder).glob(pattern):
        total = re.search(r"^totals: (\d+)", dump.read_text(), re.MULTILINE)
        found += [int(total.group(1))] if total else []
    if not found:
        raise CountError(f"callgrind has left no figures in {folder}")
    return found


def without_auxv(command):
    """Becomes the command, for which PR_GET_AUXV fails as it does on kernels before 6.4."""
    number = NR_PRCTL.get(os.uname().machine)
    if number is None:
        raise CountError(f"the number of prctl is not known on {os.uname().machine}")
    steps = [
        (LOAD, 0, 0, 0),
        (JUMP_IF_EQUAL, 0, 3, number),
        (LOAD, 0, 0, 16),
        (JUMP_IF_EQUAL, 0, 1, PR_GET_AUXV),
        (RETURN, 0, 0, FAIL),
        (RETURN, 0, 0, ALLOW),
    ]
    code = b"".join(struct.pack("<HBBI", *step) for step in steps)
    program = struct.pack("@HP", len(steps), ctypes.addressof(held := ctypes.create_string_buffer(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    for order in ((PR_SET_NO_NEW_PRIVS, 1, 0), (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program)):
        if libc.prctl(*order, 0, 0) != 0:
            raise CountError(os.strerror(ctypes.get_errno()))
    del held
    os.execvp(command[0], command)


if __name__ == "__main__":
    without_auxv(sys.argv[1:])
