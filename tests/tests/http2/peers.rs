//! HTTP/2 with common servers: nginx, Apache httpd, Go, Node, hypercorn and Envoy, over TLS and by prior knowledge.

use std::fs::Permissions;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::certificate::{CertificateAuthority, certificate_for};
use tests::e2e::dir::TestDir;
use tests::e2e::h2client::{self, H2Request, H2Response};
use tests::e2e::nginx::Nginx;
use tests::e2e::process::ChildProcess;
use tests::e2e::servers;
use tests::e2e::target::tool;
use tests::e2e::tools::program;
use tests::e2e::wait;

/// The common prefix of Envoy's type names.
const ENVOY_TYPES: &str = "type.googleapis.com/envoy.extensions";
const LARGE: usize = 1_000_000;

/// A server and its capabilities.
struct Http2Peer {
    address: SocketAddr,
    /// The server returns the request's body.
    echoes: bool,
    trails: bool,
    _process: Box<dyn std::any::Any>,
}

/// The file with certificate and key. `None` means HTTP/2 by prior knowledge.
type PeerKeyPair<'a> = Option<&'a Path>;

fn nginx(pair: PeerKeyPair) -> Http2Peer {
    let directives = "add_header X-Host $host always; add_header X-Protocol $server_protocol always;\n\
        location = /hello { return 200 hello; }\n\
        location = /echo { return 200; }\n\
        location = /large { alias ROOT; }";
    let large = TestDir::new();
    let root = large.write("large", "x".repeat(LARGE));
    let mut directives = directives.replace("ROOT", &root.display().to_string());
    let server = match pair {
        None => Nginx::prior_knowledge("nginx", &directives),
        Some(pair) => {
            let pair = pair.display();
            directives += &format!("\nssl_certificate {pair}; ssl_certificate_key {pair};");
            Nginx::http2("nginx", &directives)
        }
    };
    let address = server.address();
    Http2Peer { address, echoes: false, trails: false, _process: Box::new((server, large)) }
}

fn apache(pair: PeerKeyPair) -> Http2Peer {
    let dir = TestDir::new();
    let port = servers::reserve_port();
    std::fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
    // Apache's workers run as the user `nobody` and need world-readable files.
    for file in [dir.write("large", "x".repeat(LARGE)), dir.write("hello", "hello")] {
        std::fs::set_permissions(file, Permissions::from_mode(0o644)).unwrap();
    }
    let echo =
        dir.write("echo", "#!/bin/sh\nprintf 'Content-Type: text/plain\\r\\n\\r\\n'\nexec cat\n");
    std::fs::set_permissions(echo, Permissions::from_mode(0o755)).unwrap();
    let mut modules = vec!["mpm_event", "authz_core", "headers", "http2", "cgid"];
    let tls = match pair {
        None => "Protocols h2c http/1.1\n".to_owned(),
        Some(pair) => {
            modules.extend(["socache_shmcb", "ssl"]);
            let pair = pair.display();
            format!(
                "Protocols h2 http/1.1\nSSLEngine on\nSSLCertificateFile {pair}\nSSLCertificateKeyFile {pair}\n"
            )
        }
    };
    let load: String = modules
        .iter()
        .map(|name| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n"))
        .collect();
    let at = dir.path().display();
    let text = format!(
        "ServerRoot {at}\nServerName shop.example\nPidFile {at}/pid\nListen {}\nErrorLog {at}/error\n{load}\
         User nobody\nGroup nogroup\nServerLimit 1\nStartServers 1\nThreadsPerChild 16\nMaxRequestWorkers 16\n\
         ScriptSock {at}/cgi\nDocumentRoot {at}\n{tls}\
         <Directory {at}>\nRequire all granted\n</Directory>\n\
         <Files echo>\nSetHandler cgi-script\nOptions +ExecCGI\n</Files>\n\
         Header always set X-Host expr=%{{HTTP_HOST}}\nHeader always set X-Protocol expr=%{{SERVER_PROTOCOL}}\n",
        port.address(),
    );
    let mut command = Command::new(program("apache2"));
    command.args(["-DFOREGROUND", "-f"]).arg(dir.write("httpd.conf", text));
    let mut process = ChildProcess::start(command);
    let address = port.address();
    wait::until("apache2 accepts", || {
        assert!(process.try_wait().is_none(), "apache2 ended: {}", process.output());
        std::net::TcpStream::connect(address).is_ok()
    });
    Http2Peer { address, echoes: true, trails: false, _process: Box::new((process, port, dir)) }
}

/// Envoy responds as soon as it has the request's head, and ignores the rest of the body.
fn envoy(pair: PeerKeyPair) -> Http2Peer {
    let dir = TestDir::new();
    let port = servers::reserve_port();
    let large = dir.write("large", "x".repeat(LARGE));
    let answer = |path: &str, body: String| {
        format!("{{match: {{path: {path}}}, direct_response: {{status: 200{body}}}}}")
    };
    let routes = [
        answer("/hello", ", body: {inline_string: hello}".to_owned()),
        answer("/large", format!(", body: {{filename: {large:?}}}")),
        answer("/echo", String::new()),
    ];
    let added = |name: &str, value: &str| format!("{{header: {{key: {name}, value: '{value}'}}}}");
    let fields = [added("x-host", "%REQ(:AUTHORITY)%"), added("x-protocol", "%PROTOCOL%")];
    let secure = pair.map_or_else(String::new, |pair| {
        format!(
            ", transport_socket: {{name: tls, typed_config: {{'@type': {ENVOY_TYPES}.transport_sockets.tls.v3.\
             DownstreamTlsContext, common_tls_context: {{alpn_protocols: [h2], tls_certificates: [{{certificate_chain: \
             {{filename: {pair:?}}}, private_key: {{filename: {pair:?}}}}}]}}}}}}"
        )
    });
    let text = format!(
        "static_resources: {{listeners: [{{address: {{socket_address: {{address: 127.0.0.1, port_value: {port}}}}}, \
         filter_chains: [{{filters: [{{name: http, typed_config: {{'@type': {ENVOY_TYPES}.filters.network.\
         http_connection_manager.v3.HttpConnectionManager, codec_type: HTTP2, stat_prefix: test, route_config: \
         {{max_direct_response_body_size_bytes: {LARGE}, response_headers_to_add: [{fields}], virtual_hosts: [{{name: \
         all, domains: ['*'], routes: [{routes}]}}]}}, http_filters: [{{name: router, typed_config: {{'@type': \
         {ENVOY_TYPES}.filters.http.router.v3.Router}}}}]}}}}]{secure}}}]}}]}}",
        port = port.address().port(),
        fields = fields.join(", "),
        routes = routes.join(", "),
    );
    let mut command = Command::new(tool("venv/bin/envoy"));
    command.arg("-c").arg(dir.write("envoy.yaml", text));
    command.args(["--concurrency", "1", "--disable-hot-restart", "-l", "error"]);
    let mut process = ChildProcess::start(command);
    let address = port.address();
    wait::until("envoy accepts", || {
        assert!(process.try_wait().is_none(), "envoy ended: {}", process.output());
        std::net::TcpStream::connect(address).is_ok()
    });
    Http2Peer { address, echoes: false, trails: false, _process: Box::new((process, port, dir)) }
}

/// A project program based on a library. The program prints its listen address.
fn program_of_ours(mut command: Command, pair: PeerKeyPair) -> Http2Peer {
    command.args(pair);
    let mut process = ChildProcess::start(command);
    let port = wait::until_some("a server that listens", || {
        assert!(process.try_wait().is_none(), "{}", process.output());
        process.output().lines().find_map(|line| line.strip_prefix("listens ")?.parse().ok())
    });
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    wait::until("it accepts", || std::net::TcpStream::connect(address).is_ok());
    Http2Peer { address, echoes: true, trails: true, _process: Box::new(process) }
}

fn script(interpreter: PathBuf, name: &str) -> Command {
    let mut command = Command::new(interpreter);
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/http2/peers").join(name));
    command
}

fn go(pair: PeerKeyPair) -> Http2Peer {
    program_of_ours(Command::new(tool("http2-of-go")), pair)
}

fn node(pair: PeerKeyPair) -> Http2Peer {
    program_of_ours(script(program("node"), "server.js"), pair)
}

fn hypercorn(pair: PeerKeyPair) -> Http2Peer {
    program_of_ours(script(tool("venv/bin/python3"), "server.py"), pair)
}

/// Sends every supported request to a server, with TLS and by prior knowledge.
fn both_ways(start: fn(PeerKeyPair) -> Http2Peer) {
    let authority = CertificateAuthority::new("test authority");
    let dir = TestDir::new();
    let ca = authority.write(dir.join("ca.pem"));
    let pair = authority.pair(dir.join("server.pem"), &certificate_for(&["backend.example"]));
    std::fs::set_permissions(&pair, Permissions::from_mode(0o644)).unwrap();
    let tls = format!("tls = {{ name = \"backend.example\", ca = {ca:?} }}\n");
    for (pair, lines) in [(None, ""), (Some(&*pair), tls.as_str())] {
        let peer = start(pair);
        let setup = BalancerConfig::http(&[peer.address]).service("http2 = \"always\"\n");
        asks(&peer, &TestBalancer::start(&setup.pool(&format!("http2 = \"only\"\n{lines}"))));
    }
}

fn asks(peer: &Http2Peer, balancer: &TestBalancer) {
    let ask = |asked: H2Request| -> H2Response {
        let answer = h2client::send_all(balancer.front(), &[asked]).remove(0);
        assert_eq!(answer.error, None);
        answer
    };
    let hello = ask(H2Request::get("/hello"));
    assert_eq!((hello.status, hello.body.as_slice()), (200, &b"hello"[..]), "{hello:?}");
    assert_eq!(hello.field("x-host").as_deref(), Some("shop.example"));
    let protocol = hello.field("x-protocol").unwrap_or_default();
    assert!(protocol.starts_with("HTTP/2"), "{protocol}");
    let head = ask(H2Request { method: "HEAD", ..H2Request::get("/hello") });
    assert_eq!((head.status, head.body.len()), (200, 0), "{head:?}");
    assert_eq!(ask(H2Request::get("/nothing")).status, 404);
    let large = ask(H2Request::get("/large"));
    assert!(
        large.status == 200 && large.body == "x".repeat(LARGE).into_bytes(),
        "{}",
        large.status
    );
    for size in [5, 300_000] {
        let body = vec![b'y'; size];
        let te = vec![("te", "trailers".to_owned())];
        let echo = ask(H2Request { fields: te, ..H2Request::post("/echo", &body) });
        assert_eq!(echo.status, 200, "{size}: {:?}", echo.fields);
        assert!(!peer.echoes || echo.body == body, "{size}: {}", echo.body.len());
        let trailer = echo.trailers.get("x-length").and_then(|value| value.to_str().ok());
        assert_eq!(trailer, peer.trails.then_some(size.to_string().as_str()));
    }
    let empty = ask(H2Request { body: None, ..H2Request::post("/echo", b"") });
    assert_eq!((empty.status, empty.body.len()), (200, 0));
    // HTTP/1.1 clients too, whose requests have a Host field.
    let mut client = balancer.client();
    assert_eq!(client.get("/hello").body, b"hello");
    assert_eq!(client.post("/echo", b"body").status(), 200);
    drop(client);
    assert_eq!(balancer.report_when_settled().total.requests.unaccounted, 0);
}

#[test]
fn nginx_answers() {
    both_ways(nginx);
}

#[test]
fn apache_answers() {
    both_ways(apache);
}

#[test]
fn go_answers() {
    both_ways(go);
}

#[test]
fn node_answers() {
    both_ways(node);
}

#[test]
fn hypercorn_answers() {
    both_ways(hypercorn);
}

#[test]
fn envoy_answers() {
    both_ways(envoy);
}
