"""The configuration of each balancer for one service, as a careful administrator would write it.

All keep connections to the server open, tell it about the client, and write no access log except as their defaults
say. `setting` has: kind ("http", "https", "http2", "http3", "tcp", "rules": http with 3,000 rules, or "explained":
http where everything that tells whose time it was is on), listen and origin (ports on loopback), folder, fast (bool).
"""

# Enough for the idle scenario, within the usual limit of 20,000 descriptors per process.
CONNECTIONS = 6000


def steelyard(setting):
    forward = "tcp" if setting.kind == "tcp" else "http"
    secure = f'tls = "{setting.folder}/pair.pem"'
    fronts = {"http2": 'http2 = "always"', "https": secure, "http3": f'{secure}\nhttp3 = "on"'}
    front = fronts.get(setting.kind, "")
    # With `fast` no exchange is measured. The difference between both modes is the cost of measuring.
    measured = 'sample = "off"' if setting.fast and setting.kind != "rules" else ""
    if setting.kind == "explained" and not setting.fast:
        front = 'objective = { availability = "99.9%", latency = "300ms" }'
    if setting.kind == "rules":
        front = steelyard_rules(1 if setting.fast else 3000)
    return f"""[global]
workers = 1
{measured}
control = {{ socket = "{setting.folder}/control.sock", state = "{setting.folder}/state" }}

[service.front]
listen = "127.0.0.1:{setting.listen}"
forward = "{forward}"
pool = "origin"
{front}

[pool.origin]
servers = [{{ name = "a", address = "127.0.0.1:{setting.origin}" }}]
"""


def steelyard_rules(count):
    """So many rules, of which the last one takes every request."""
    passed = (f'{{ when = {{ host = "h{n % 50}.example", path = "/p{n}/*" }}, pool = "origin" }}' for n in range(count - 1))
    rules = [*passed, '{ when = { path = "/*" }, pool = "origin" }']
    return f"rule = [{', '.join(rules)}]"


HAPROXY_BIND = {"http2": " proto h2", "https": " ssl crt {folder}/pair.pem alpn http/1.1"}


def haproxy(setting):
    lines = [
        "global",
        "  nbthread 1",
        f"  maxconn {CONNECTIONS}",
        "defaults",
        f"  mode {'tcp' if setting.kind == 'tcp' else 'http'}",
        "  timeout connect 5s",
        "  timeout client 60s",
        "  timeout server 60s",
    ]
    if setting.kind != "tcp":
        lines += [
            "  timeout http-request 10s",
            "  timeout http-keep-alive 60s",
            "  option forwardfor",
            "  http-reuse always",
        ]
    if setting.fast:
        lines += ["  option splice-request", "  option splice-response"]
    lines += [
        "frontend front",
        f"  bind 127.0.0.1:{setting.listen}{HAPROXY_BIND.get(setting.kind, '').format(folder=setting.folder)}",
        f"  maxconn {CONNECTIONS}",
        "  default_backend back",
        "backend back",
        "  balance leastconn",
        f"  server a 127.0.0.1:{setting.origin}",
    ]
    return "\n".join(lines) + "\n"


NGINX_TOP = """user root;
worker_processes 1;
daemon off;
pid {folder}/nginx.pid;
error_log stderr error;
events {{ worker_connections 16000; multi_accept on; }}
"""

NGINX_HTTP = """http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  proxy_max_temp_file_size 0;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  keepalive_timeout 60s;
  keepalive_requests 1000000;
  sendfile on;
  tcp_nopush on;
  upstream back {{
    least_conn;
    server 127.0.0.1:{origin};
    keepalive 256;
    keepalive_requests 1000000;
  }}
  server {{
    listen 127.0.0.1:{listen} {speaks} reuseport backlog=4096;
    {secure}
    location / {{
      proxy_pass http://back;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $host;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_set_header X-Forwarded-Proto $scheme;
      {fast}
    }}
  }}
}}
"""

NGINX_STREAM = """stream {{
  upstream back {{ server 127.0.0.1:{origin}; }}
  server {{ listen 127.0.0.1:{listen} reuseport backlog=4096; proxy_pass back; tcp_nodelay on; }}
}}
"""

# The cheapest of the tested settings for bodies of several hundred kilobytes on loopback.
NGINX_FAST = (
    "proxy_buffering off; proxy_buffer_size 128k; proxy_buffers 8 128k; proxy_busy_buffers_size 128k;"
)


def nginx(setting):
    body = NGINX_STREAM if setting.kind == "tcp" else NGINX_HTTP
    pair = f"{setting.folder}/pair.pem"
    values = {
        "folder": setting.folder,
        "origin": setting.origin,
        "listen": setting.listen,
        "fast": NGINX_FAST if setting.fast else "",
        "speaks": {"http2": "http2", "https": "ssl"}.get(setting.kind, ""),
        "secure": f"ssl_certificate {pair}; ssl_certificate_key {pair}; ssl_protocols TLSv1.2 TLSv1.3;" if setting.kind == "https" else "",
    }
    return (NGINX_TOP + body).format(**values)


ENVOY = """static_resources:
  listeners:
  - address: {{socket_address: {{address: 127.0.0.1, port_value: {listen}}}}}
    filter_chains:
    - filters:
{filters}
  clusters:
  - name: back
    type: STATIC
    connect_timeout: 5s
    lb_policy: LEAST_REQUEST
    circuit_breakers: {{thresholds: [{{max_connections: 6000, max_pending_requests: 6000, max_requests: 6000}}]}}
    load_assignment:
      cluster_name: back
      endpoints:
      - lb_endpoints:
        - endpoint: {{address: {{socket_address: {{address: 127.0.0.1, port_value: {origin}}}}}}}
"""

ENVOY_HTTP = """      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: front
          use_remote_address: true
          route_config:
            virtual_hosts:
            - name: all
              domains: ["*"]
              routes: [{match: {prefix: "/"}, route: {cluster: back}}]
          http_filters:
          - name: envoy.filters.http.router
            typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}"""

ENVOY_TCP = """      - name: envoy.filters.network.tcp_proxy
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy
          stat_prefix: front
          cluster: back"""


# The listener over QUIC: each text and its replacement.
ENVOY_HTTP3 = [
    (
        "socket_address: {address: 127.0.0.1,",
        "socket_address: {protocol: UDP, address: 127.0.0.1,",
    ),
    (
        "    filter_chains:\n    - filters:\n",
        """    udp_listener_config: {quic_options: {}, downstream_socket_config: {prefer_gro: true}}
    filter_chains:
    - transport_socket:
        name: envoy.transport_sockets.quic
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.transport_sockets.quic.v3.QuicDownstreamTransport
          downstream_tls_context:
            common_tls_context:
              tls_certificates:
              - certificate_chain: {filename: FOLDER/cert.pem}
                private_key: {filename: FOLDER/key.pem}
      filters:
""",
    ),
    ("          stat_prefix: front\n", "          stat_prefix: front\n          codec_type: HTTP3\n"),
]


def envoy(setting):
    filters = ENVOY_TCP if setting.kind == "tcp" else ENVOY_HTTP
    text = ENVOY.format(listen=setting.listen, origin=setting.origin, filters=filters)
    for before, after in ENVOY_HTTP3 if setting.kind == "http3" else []:
        text = text.replace(before, after.replace("FOLDER", str(setting.folder)), 1)
    return text


TRAEFIK = {
    "http": """http:
  routers:
    front:
      entryPoints: [front]
      rule: "PathPrefix(`/`)"
      service: back
  services:
    back:
      loadBalancer:
        servers:
        - url: "http://127.0.0.1:{origin}"
""",
    "tcp": """tcp:
  routers:
    front:
      entryPoints: [front]
      rule: "HostSNI(`*`)"
      service: back
  services:
    back:
      loadBalancer:
        servers:
        - address: "127.0.0.1:{origin}"
""",
}


TRAEFIK["http3"] = (
    TRAEFIK["http"].replace("      service: back\n", "      service: back\n      tls: {{}}\n", 1)
    + """tls:
  certificates:
  - certFile: {folder}/cert.pem
    keyFile: {folder}/key.pem
"""
)


def traefik(setting):
    return TRAEFIK[setting.kind].format(origin=setting.origin, folder=setting.folder)
