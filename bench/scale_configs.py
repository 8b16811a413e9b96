"""Large configurations of Steelyard, HAProxy and nginx for `scale`, and how one route is changed in each peer."""

import socket
import time

PEER_PORT = 18099
# Nothing listens there, and nothing asks: health checks are off.
ORIGIN = "127.100.0.1"


def address(number):
    """A loopback address for each service, so that none needs a free port of another."""
    return f"127.{1 + number // 62500}.{number // 250 % 250}.{number % 250 + 1}"


def head(folder, workers):
    lines = ["[global]", f"workers = {workers}", "[global.control]"]
    return "\n".join([*lines, f'socket = "{folder}/control.sock"', f'state = "{folder}"', ""])


def large(count):
    """One service with as many rules as pools, and pools of two servers each."""
    text = ["[service.web]", 'listen = "127.0.0.1:18098"', 'forward = "http"', 'pool = "p0"']
    for n in range(count):
        text += ["[[service.web.rule]]", f'name = "r{n}"', f'when = {{ host = "h{n}.example" }}', f'pool = "p{n}"']
    for n in range(count):
        text += [f"[pool.p{n}]", 'probe = "off"', "servers = ["]
        for at, name in enumerate("ab"):
            text.append(f'  {{ name = "{name}", address = "{ORIGIN}:{10000 + 2 * n + at}", weight = 1 }},')
        text.append("]")
    return "\n".join([*text, ""])


def routes(count):
    """One service with as many routes by host and path to one of two pools: about 560 kB for 5,000."""
    text = ["[service.web]", 'listen = "127.0.0.1:18098"', 'forward = "http"', 'pool = "p"']
    for n in range(count):
        when = f'{{ host = "tenant-{n:04}.example.com", path = "/at/{n}/*" }}'
        text += ["", "[[service.web.rule]]", f'name = "r{n}"', f"when = {when}", 'pool = "p"']
    for name in "pq":
        text += [f"[pool.{name}]", 'probe = "off"', f'servers = ["{ORIGIN}:10000"]']
    return "\n".join([*text, ""])


def services(count):
    text = []
    for n in range(count):
        text += [f"[service.s{n}]", f'listen = "{address(n)}:8080"', 'forward = "http"', f'pool = "p{n}"']
        servers = ", ".join(f'"{ORIGIN}:{10000 + 3 * n + at}"' for at in range(3))
        text += [f"[pool.p{n}]", 'probe = "off"', f"servers = [{servers}]"]
    return "\n".join([*text, ""])


def haproxy_routes(program, folder, count):
    (folder / "routes.map").write_text("".join(f"tenant-{n:04}.example.com p\n" for n in range(count)))
    lines = ["global", "  nbthread 1", f"  stats socket {folder}/control.sock level admin", "defaults", "  mode http"]
    lines += [f"  timeout {name} 60s" for name in ("client", "server", "connect")]
    lines += ["frontend web", f"  bind 127.0.0.1:{PEER_PORT}", "  http-request return status 200 if { path / }"]
    lines += [f"  use_backend %[req.hdr(host),lower,map_str({folder}/routes.map,p)]"]
    for name in "pq":
        lines += [f"backend {name}", f"  server a {ORIGIN}:10000"]
    path = folder / "haproxy.cfg"
    path.write_text("\n".join([*lines, ""]))
    return [program, "-db", "-f", path]


def nginx_routes(program, folder, count):
    text = [f"daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log stderr crit;"]
    text += ["events { worker_connections 1024; }", "http { access_log off; server_names_hash_max_size 65536;"]
    for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"):
        text.append(f"{name}_temp_path {folder}/{name};")
    text.append(f"server {{ listen 127.0.0.1:{PEER_PORT} default_server; location / {{ return 200; }} }}")
    for n in range(count):
        place = f"location /at/{n}/ {{ proxy_pass http://{ORIGIN}:10000; }}"
        text.append(f"server {{ listen 127.0.0.1:{PEER_PORT}; server_name tenant-{n:04}.example.com; {place} }}")
    path = folder / "nginx.conf"
    path.write_text("\n".join([*text, "}", ""]))
    return [program, "-p", folder, "-c", path]


def change_haproxy(folder, program, processor_s, settle, changes=100):
    """Seconds of processor time of one route changed through the runtime interface: an entry of the map."""
    before = processor_s(program)
    for at in range(changes):
        with socket.socket(socket.AF_UNIX) as control:
            control.connect(str(folder / "control.sock"))
            control.sendall(f"set map {folder}/routes.map tenant-{at:04}.example.com q\n".encode())
            control.recv(4096)
    settle(program)
    return (processor_s(program) - before) / changes


def change_nginx(folder, program, processor_s, settle, changes=5):
    """Seconds of processor time of one route changed by a reload, its new workers included."""
    path = folder / "nginx.conf"
    before = processor_s(program)
    for at in range(changes):
        path.write_text(path.read_text().replace(f"location /at/{at}/ ", f"location /at/other-{at}/ "))
        program.child.send_signal(1)
        time.sleep(0.2)
        settle(program)
    # What ended workers had used is gone from /proc, but in what the parent says of its children.
    ended = open(f"/proc/{program.child.pid}/stat").read().rpartition(")")[2].split()[13:15]
    return (processor_s(program) - before) / changes + sum(map(int, ended)) / 100 / changes


PEER_CHANGES = {"haproxy": change_haproxy, "nginx": change_nginx}
