"""Servers of Python: say of each request to which area its path leads, by each way in which programs look at it.

`wsgi`: the library's WSGI server. `params`: a server that strips path parameters, in the order of servlet containers.
"""
import http.server
import posixpath
import re
import sys
import urllib.parse
import wsgiref.simple_server


def area(path):
    for name in ("admin", "public"):
        if path.startswith(f"/{name}/"):
            return name
    return "other"


def said(ways):
    return " ".join(f"{way}={area(path)}" for way, path in ways.items())


def normal(path):
    """As a file system sees it."""
    path = posixpath.normpath(path) + "/"
    return re.sub("^/+", "/", path)


def application(environ, start):
    path = environ["PATH_INFO"]
    ways = {
        "path": path,
        "normal": normal(path),
        "twice": normal(urllib.parse.unquote(path)),
        "no-zero": path.split("\0")[0],
        "split": urllib.parse.urlsplit(path).path,
        "ascii": normal(path.encode("latin-1").decode("utf-8", "ignore")),
    }
    start("200 OK", [("X-Areas", said(ways)), ("Content-Length", "0")])
    return [b""]


class Quiet(wsgiref.simple_server.WSGIRequestHandler):
    def log_message(self, *_):
        pass


class Params(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        raw = self.path.split("?")[0]
        stripped = re.sub(";[^/]*", "", raw)
        decoded = urllib.parse.unquote(stripped)
        late = re.sub(";[^/]*", "", urllib.parse.unquote(raw))
        ways = {
            # Parameters off, decoded, backslashes are slashes, resolved: Tomcat.
            "servlet": normal(decoded.replace("\\", "/")),
            # Resolved before parameters go.
            "early": re.sub(";[^/]*", "", normal(raw)),
            # Decoded before parameters go.
            "late": normal(late),
            # The whole rest is a parameter.
            "rest": normal(raw.split(";")[0]),
        }
        self.send_response(200)
        self.send_header("X-Areas", said(ways))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


if sys.argv[1] == "wsgi":
    server = wsgiref.simple_server.make_server("127.0.0.1", 0, application, handler_class=Quiet)
else:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Params)
print(f"listens {server.server_address[1]}", flush=True)
server.serve_forever()
