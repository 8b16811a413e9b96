"""Programs that the benchmark starts: pinned to a core, awaited, measured from /proc, and ended by their own id."""

import http.client
import json
import os
import resource
import signal
import socket
import ssl
import subprocess
import time
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
START_LIMIT_S = 15
STOP_LIMIT_S = 5


class StartError(Exception):
    """A program did not begin to serve; the text says what it printed."""


def raise_descriptor_limit():
    """Lets this process and its children open as many files as the machine allows."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def free_ports(count):
    """Ports that nothing listens on now."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Program:
    """A running program, its threads and children. Use it in a `with` block: leaving ends it."""

    def __init__(self, command, core, folder, port=None, env=None, kind="http"):
        self.kind = kind
        self.command = [str(part) for part in command]
        self.log = Path(folder) / f"{Path(self.command[0]).name}-{time.monotonic_ns()}.log"
        self.port = port
        with open(self.log, "wb") as log:
            self.child = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env={**os.environ, **(env or {})},
                start_new_session=True,
                preexec_fn=lambda: os.sched_setaffinity(0, {core}),
            )

    def __enter__(self):
        try:
            if self.port:
                self.await_port()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def await_port(self):
        """Returns once the port answers as it should: some accept before they know their routes."""
        limit = time.monotonic() + START_LIMIT_S
        while time.monotonic() < limit:
            if self.child.poll() is not None:
                break
            if ANSWERS.get(self.kind, _answers)(self.port):
                return
            time.sleep(0.02)
        said = self.log.read_text(errors="replace")[-2000:]
        raise StartError(f"{Path(self.command[0]).name} does not begin to serve:\n{' '.join(self.command)}\n{said}")

    def stop(self):
        """Ends it and waits; kills what does not end in time."""
        self.end(signal.SIGTERM)
        try:
            self.child.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            self.end(signal.SIGKILL)
            self.child.wait()

    def end(self, sign):
        if self.child.poll() is None:
            try:
                os.killpg(self.child.pid, sign)
            except ProcessLookupError:
                pass

    def pids(self):
        """Its process and all descendants."""
        found, todo = [], [self.child.pid]
        while todo:
            pid = todo.pop()
            found.append(pid)
            for children in Path(f"/proc/{pid}/task").glob("*/children"):
                todo.extend(int(word) for word in children.read_text().split())
        return found

    def cpu_s(self):
        """Seconds of processor time so far, user and system, over all threads and children."""
        return sum(_cpu_ticks(pid) for pid in self.pids()) / TICKS

    def resident_bytes(self):
        """Resident memory of the process and its children, shared pages counted in each."""
        return sum(_status_kib(pid, "VmRSS") for pid in self.pids()) * 1024


def _answers(port):
    return _is_200(http.client.HTTPConnection("127.0.0.1", port, timeout=1))


def _answers_https(port):
    unverified = ssl.create_default_context()
    unverified.check_hostname = False
    unverified.verify_mode = ssl.CERT_NONE
    return _is_200(http.client.HTTPSConnection("127.0.0.1", port, timeout=1, context=unverified))


def _answers_http2(port):
    """A server of HTTP/2 begins with a frame of settings (type 4)."""
    try:
        with socket.create_connection(("127.0.0.1", port), 1) as client:
            client.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\x04" + bytes(5))
            return client.recv(9)[3:4] == b"\x04"
    except OSError:
        return False


# The HTTP/3 client, in the Python environment that `tests/setup` creates.
TOP = Path(__file__).resolve().parent.parent
HTTP3 = [TOP / "target" / "tools" / "quic" / "bin" / "python3", TOP / "bench" / "http3_load.py"]


def _answers_http3(port):
    done = subprocess.run([*HTTP3, str(port), "1", "1", "1", "1"], capture_output=True, text=True)
    return done.returncode == 0 and json.loads(done.stdout)["answered"] == 1


ANSWERS = {"https": _answers_https, "http2": _answers_http2, "http3": _answers_http3}


def _is_200(client):
    try:
        client.request("GET", "/")
        return client.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        client.close()


def _cpu_ticks(pid):
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


def _status_kib(pid, key):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1])
    return 0
