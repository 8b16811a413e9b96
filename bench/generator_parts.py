"""What benchmarks of the generator share: a server on one core, commands on the other."""

import os
import resource
import subprocess
from pathlib import Path

from measure import RunError
from processes import Program, free_ports

TOP = Path(__file__).resolve().parent.parent
SERVER_CORE, CLIENT_CORE = 0, 1


def timed(command, good=(0,)):
    """Runs a command on the client's core: its output and the processor time it used. `good`: codes it may end with."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, {CLIENT_CORE}),
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in good:
        raise RunError(f"{command}: exit code {done.returncode}\n{done.stdout[-800:]}{done.stderr[-800:]}")
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.stdout, used


def nginx(folder):
    (port,) = free_ports(1)
    conf = folder / "nginx.conf"
    conf.write_text(
        f"user root; worker_processes 1; daemon off; pid {folder}/pid; error_log stderr error;\n"
        "events { worker_connections 4096; }\n"
        f"http {{ access_log off; keepalive_requests 100000000; client_body_temp_path {folder}/b;\n"
        f"  proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;\n"
        f"  server {{ listen 127.0.0.1:{port}; location / {{ return 200 \"{'x' * 128}\"; }} }} }}\n"
    )
    return Program(["/usr/sbin/nginx", "-p", folder, "-c", conf], SERVER_CORE, folder, port)
