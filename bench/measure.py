"""One run of one balancer: start the origin and the balancer, drive them, and say what it cost.

The balancer has core 0 to itself; the origin and the client share core 1. Everything is on loopback.
"""

import json
import re
import socket
import subprocess
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from peers import TOP, Setting
from processes import HTTP3, Program, StartError, free_ports

BALANCER_CORE, CLIENT_CORE = 0, 1
WARM_S = 0.5
EXAMPLES = TOP / "target" / "release" / "examples"
TRIES = 3


class RunError(Exception):
    """The run gave no figures that may be used; the text says why."""


@dataclass
class Figures:
    """What one run measured; what a scenario does not measure is None."""

    cpu_us: float = None
    rps: float = None
    p50_ms: float = None
    p99_ms: float = None
    rss_mib: float = None


class Bench:
    """A folder, an origin in it, and the balancers that are started before it."""

    def __init__(self, scenario):
        self.scenario = scenario
        self.stack = ExitStack()

    def __enter__(self):
        self.folder = Path(self.stack.enter_context(tempfile.TemporaryDirectory(prefix="steelyard-bench-")))
        self.folder.chmod(0o755)
        (self.origin_port,) = free_ports(1)
        command = origin_command(self.folder, self.origin_port, self.scenario.body)
        self.stack.enter_context(Program(command, CLIENT_CORE, self.folder, self.origin_port))
        return self

    def __exit__(self, *error):
        return self.stack.__exit__(*error)

    def balancer(self, peer):
        """A started balancer; another port is tried when one was taken in between."""
        for left in reversed(range(TRIES)):
            (port,) = free_ports(1)
            folder = Path(tempfile.mkdtemp(prefix=peer.name, dir=self.folder))
            folder.chmod(0o755)
            setting = Setting(self.scenario.kind, port, self.origin_port, folder)
            try:
                program = Program(peer.command(setting), BALANCER_CORE, folder, port, peer.env, setting.kind)
                return self.stack.enter_context(program)
            except StartError:
                if left == 0:
                    raise

    def throughput(self, program, seconds):
        """Closed loop: as much as goes. Processor time of the balancer per completed request."""
        drive = CLIENTS[self.scenario.client]
        drive(self.scenario, program.port, WARM_S)
        before = program.cpu_s()
        figures, requests = drive(self.scenario, program.port, seconds)
        figures.cpu_us = (program.cpu_s() - before) / requests * 1e6
        return figures

    def latency(self, program, seconds, rate):
        """Open loop: requests are due at a rate, and time counts from when each was due."""
        return scheduled(self.scenario, program.port, seconds, rate)

    def idle(self, program):
        """Resident memory once every client has had one answer and keeps its connection."""
        request = b"GET / HTTP/1.1\r\nHost: bench\r\n\r\n"
        with ExitStack() as clients:
            for _ in range(self.scenario.connections):
                client = clients.enter_context(socket.create_connection(("127.0.0.1", program.port), 5))
                client.sendall(request)
                answer = client.recv(65536)
                if not answer.startswith(b"HTTP/1.1 200"):
                    raise RunError(f"an idle client was answered {answer[:60]!r}")
            return Figures(rss_mib=program.resident_bytes() / 2**20)


def origin_command(folder, port, body):
    """The lab's origin, or nginx where that is not built."""
    ours = EXAMPLES / "origin"
    if ours.exists():
        return [ours, "--listen", f"127.0.0.1:{port}", "--body", body]
    (folder / "www").mkdir()
    (folder / "www" / "index.html").write_bytes(b"x" * body)
    conf = folder / "origin.conf"
    conf.write_text(
        f"user root; worker_processes 1; daemon off; pid {folder}/origin.pid; error_log stderr error;\n"
        "events { worker_connections 16000; }\n"
        f"http {{ access_log off; sendfile on; keepalive_requests 100000000; keepalive_timeout 300s;\n"
        f"  client_body_temp_path {folder}/ob; proxy_temp_path {folder}/op; fastcgi_temp_path {folder}/of;\n"
        f"  uwsgi_temp_path {folder}/ou; scgi_temp_path {folder}/os; open_file_cache max=10;\n"
        f"  server {{ listen 127.0.0.1:{port} backlog=4096; root {folder}/www; }} }}\n"
    )
    return ["/usr/sbin/nginx", "-p", folder, "-c", conf]


def wrk(scenario, port, seconds):
    """Runs wrk; returns its figures and the number of answered requests."""
    close = ["-H", "Connection: close"] if scenario.close else []
    whole = max(1, round(seconds))
    limit = ["timeout", "--signal=INT", str(seconds)] if seconds < 1 else []
    command = [*limit, "taskset", "-c", str(CLIENT_CORE), "wrk", "-t1", f"-c{scenario.connections}"]
    scheme = "https" if scenario.kind == "https" else "http"
    command += [f"-d{whole}s", "--latency", *close, f"{scheme}://127.0.0.1:{port}/"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=whole + 30)
    text = done.stdout
    requests = re.search(r"(\d+) requests in", text)
    if not requests or int(requests.group(1)) == 0:
        raise RunError(f"wrk had no answers:\n{text}{done.stderr}")
    if "Non-2xx" in text:
        raise RunError(f"answers other than 2xx:\n{text}")
    errors = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", text)
    if errors and any(int(n) for n in errors.groups()):
        raise RunError(errors.group(0))
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", text).group(1))
    figures = Figures(rps=rate, p50_ms=_percentile(text, 50), p99_ms=_percentile(text, 99))
    return figures, int(requests.group(1))


def h2load(scenario, port, seconds):
    """Runs h2load; returns its figures and the number of answered requests."""
    whole = max(1, round(seconds))
    command = ["taskset", "-c", str(CLIENT_CORE), "h2load", "-t1", f"-c{scenario.connections}"]
    command += [f"-m{scenario.streams}", f"-D{whole}", f"http://127.0.0.1:{port}/"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=whole + 30)
    said = re.search(r"(\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout", done.stdout)
    if not said or int(said.group(1)) == 0:
        raise RunError(f"h2load had no answers:\n{done.stdout}{done.stderr}")
    if any(int(said.group(at)) for at in (2, 3, 4)):
        raise RunError(said.group(0))
    rate = float(re.search(r"([\d.]+) req/s", done.stdout).group(1))
    return Figures(rps=rate), int(said.group(1))


def ab(scenario, port, seconds):
    """Runs ab, which opens a connection for each request; returns its figures and the number of answered requests."""
    whole = max(1, round(seconds))
    command = ["taskset", "-c", str(CLIENT_CORE), "ab", "-q", "-c", str(scenario.connections), "-t", str(whole)]
    command += ["-n", "10000000", f"{'https' if scenario.kind == 'https' else 'http'}://127.0.0.1:{port}/"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=whole + 30)
    found = {key: re.search(rf"^{key}:\s+([\d.]+)", done.stdout, re.MULTILINE) for key in AB}
    if any(value is None for value in found.values()):
        raise RunError(f"ab had no answers:\n{done.stdout}{done.stderr}")
    answered, failed, rate = (float(value.group(1)) for value in found.values())
    if failed or answered == 0 or "Non-2xx" in done.stdout:
        raise RunError(f"requests failed:\n{done.stdout}")
    return Figures(rps=rate), int(answered)


def aioquic(scenario, port, seconds):
    """Asks over HTTP/3 by a client that is itself slow; returns its figures and the number of answered requests."""
    command = ["taskset", "-c", CLIENT_CORE, *HTTP3, port, scenario.connections, scenario.streams, seconds]
    command = [str(part) for part in command]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds + 60)
    said = json.loads(done.stdout) if done.returncode == 0 else {"answered": 0, "failed": 0}
    if said["answered"] == 0 or said["failed"]:
        raise RunError(f"requests over HTTP/3 failed:\n{done.stdout}{done.stderr}")
    return Figures(rps=said["answered"] / seconds), said["answered"]


AB = ("Complete requests", "Failed requests", "Requests per second")
CLIENTS = {"wrk": wrk, "h2load": h2load, "ab": ab, "aioquic": aioquic}


def _percentile(text, percent):
    match = re.search(rf"^\s+{percent}%\s+([\d.]+)(us|ms|s|m)$", text, re.MULTILINE)
    factor = {"us": 0.001, "ms": 1, "s": 1000, "m": 60000}
    return float(match.group(1)) * factor[match.group(2)] if match else None


def scheduled(scenario, port, seconds, rate):
    """Runs the lab's load generator at a rate; needs it built."""
    program = EXAMPLES / "load"
    if not program.exists():
        raise RunError("needs the lab's load generator: cargo build --release -p lab --examples")
    command = ["taskset", "-c", CLIENT_CORE, program, f"127.0.0.1:{port}", "--json"]
    command += ["--rate", rate, "-c", scenario.connections, "-d", seconds]
    done = subprocess.run(
        [str(part) for part in command], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds + 30
    )
    if done.returncode != 0:
        raise RunError(f"requests failed under scheduled load:\n{done.stdout}{done.stderr}")
    said = json.loads(done.stdout)
    latency = said["latency"]
    return Figures(
        rps=said["answered_per_second"], p50_ms=latency["p50_us"] / 1000, p99_ms=latency["p99_us"] / 1000
    )


def calibrate(bench, program):
    """A rate that keeps a balancer busy and does not drown the client's core: a third of what goes."""
    figures, _ = wrk(bench.scenario, program.port, 1)
    time.sleep(0.1)
    return round(figures.rps / 3, -2)
