"""What is measured, against whom, and the bar for each ratio (ours divided by the peer's; less is better)."""

from dataclasses import dataclass

SMALL = 128
PAGE = 425_984


@dataclass(frozen=True)
class Scenario:
    """`bars` maps each peer to the largest ratio that is good enough, or None where the ratio is for information.

    `measure` names the figure that is compared: cpu_us (processor time of the balancer per request), p99_ms, or
    rss_mib (absolute: the bar is of our own figure). `streams`: requests at a time on one connection of HTTP/2.
    `client`: the program that asks; wrk resumes sessions of TLS, ab never does, aioquic is too slow to keep a balancer
    busy.
    """

    name: str
    title: str
    kind: str
    body: int
    connections: int
    bars: dict
    measure: str = "cpu_us"
    close: bool = False
    streams: int = 0
    client: str = "wrk"


def _page(connections):
    return Scenario(
        f"body-{connections}",
        f"{PAGE:,} B body, {connections} connections",
        "http",
        PAGE,
        connections,
        {
            "haproxy": 0.40,
            "haproxy-splice": 1.15,
            "nginx": 0.65,
            "nginx-fast": 0.75,
            "floor-splice": 1.20,
            **({"envoy": None, "traefik": None} if connections == 50 else {}),
        },
    )


SCENARIOS = [
    Scenario(
        "keepalive-128",
        f"{SMALL} B, keep-alive, 64 connections",
        "http",
        SMALL,
        64,
        {
            "haproxy": 0.80,
            "nginx": 0.90,
            "floor-blind": 1.25,
            "steelyard-unmeasured": 1.03,
            "envoy": None,
            "traefik": None,
        },
    ),
    Scenario(
        "explained-128",
        f"{SMALL} B, keep-alive, 64 connections, measured and with an objective",
        "explained",
        SMALL,
        64,
        {"steelyard-unmeasured": 1.03},
    ),
    Scenario(
        "connection-per-request",
        f"{SMALL} B, a connection per request, 64 at a time",
        "http",
        SMALL,
        64,
        {"haproxy": 0.90, "nginx": 0.90, "envoy": None, "traefik": None},
        close=True,
    ),
    *(_page(connections) for connections in (10, 50, 100)),
    Scenario(
        "https-128",
        f"HTTPS, {SMALL} B, keep-alive, 64 connections",
        "https",
        SMALL,
        64,
        {"haproxy": 0.65, "nginx": 0.70},
    ),
    Scenario(
        "https-page",
        f"HTTPS, {PAGE:,} B body, 50 connections",
        "https",
        PAGE,
        50,
        {"haproxy": 0.60, "nginx": 0.60},
    ),
    Scenario(
        "https-handshake",
        f"HTTPS, {SMALL} B, a full handshake (P-256) per request, 64 at a time",
        "https",
        SMALL,
        64,
        {"nginx": 0.60, "haproxy": None},
        close=True,
        client="ab",
    ),
    Scenario(
        "https-resumed",
        f"HTTPS, {SMALL} B, a resumed session per request, 64 at a time",
        "https",
        SMALL,
        64,
        {"nginx": None, "haproxy": None},
        close=True,
    ),
    Scenario(
        "http2-100",
        f"HTTP/2, {SMALL} B, 4 connections with 100 streams each",
        "http2",
        SMALL,
        4,
        {"haproxy": 1.00, "nginx": 1.00},
        streams=100,
        client="h2load",
    ),
    Scenario(
        "http3-10",
        f"HTTP/3, {SMALL} B, 4 connections with 10 streams each",
        "http3",
        SMALL,
        4,
        {"envoy": None, "traefik": None},
        streams=10,
        client="aioquic",
    ),
    Scenario(
        "rules-3000",
        f"{SMALL} B, keep-alive, 64 connections, the last of 3,000 rules",
        "rules",
        SMALL,
        64,
        {"steelyard-one-rule": 1.15},
    ),
    Scenario(
        "tcp-128",
        f"tcp, {SMALL} B answers, 64 connections",
        "tcp",
        SMALL,
        64,
        {"haproxy": 0.95, "nginx": 1.20, "floor-blind": None, "envoy": None},
    ),
    Scenario(
        "latency",
        f"p99 of {SMALL} B requests at an equal, scheduled rate",
        "http",
        SMALL,
        64,
        {"haproxy": 1.10, "nginx": None},
        measure="p99_ms",
    ),
    Scenario(
        "idle-5000",
        "resident memory with 5,000 idle keep-alive clients",
        "http",
        SMALL,
        5000,
        {"steelyard": 20.0, "haproxy": None, "nginx": None, "envoy": None},
        measure="rss_mib",
    ),
]

QUICK = ("keepalive-128", "body-10", "tcp-128")
QUICK_PEERS = ("haproxy", "nginx")
