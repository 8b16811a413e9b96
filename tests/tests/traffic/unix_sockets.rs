//! Servers on Unix sockets: requests, tunnels, retries, full queues, health checks, and changes of the configuration.

use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use model::snapshot::ServerState;
use rustix::net::sockopt::set_socket_recv_buffer_size;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with,
};
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::dir::TestDir;
use tests::e2e::http::{HttpReader, noise};
use tests::e2e::nginx::{Nginx, PAGE};
use tests::e2e::servers;
use tests::e2e::unix_server::{UnixOrigin, address, answer_with_name};
use tests::e2e::wait;

#[test]
fn requests_share_a_connection_and_reports_show_the_path() {
    let dir = TestDir::new();
    let server = UnixOrigin::naming(dir.join("app.sock"), "app");
    let setup = BalancerConfig::http(&[]).server("a", server.address(), "").global("workers = 1");
    let balancer = TestBalancer::start(&setup);
    let mut client = balancer.client();
    for _ in 0..3 {
        let answer = client.get("/");
        assert_eq!(answer.status(), 200);
        assert_eq!(answer.text(), "app for shop.example, 0 bytes");
    }
    let body = noise(300_000);
    assert!(client.post("/", &body).text().ends_with("300000 bytes"));
    assert_eq!(server.accepted(), 1, "the connection is kept");
    let shown = balancer.server("a");
    assert_eq!((&*shown.address, shown.resolved), (&*server.address(), None));
    assert!(balancer.cli_output(&["status"]).contains(&server.address()));
    let explained = balancer.cli_output(&["explain", "request", "--url", &balancer.url("/")]);
    assert!(explained.contains(&server.address()), "{explained}");
    balancer.wait_for_log_line("its server", |line| line["server"] == "web/a");
}

#[test]
fn nginx_on_a_unix_socket_serves_pages_and_uploads() {
    let dir = TestDir::new();
    let path = dir.join("nginx.sock");
    let _nginx = Nginx::with("named", &format!("listen unix:{};", path.display()));
    let balancer =
        TestBalancer::start(&BalancerConfig::http(&[]).server("a", address(&path), "").quiet());
    let mut client = balancer.client();
    assert_eq!(client.get("/").text(), "named\n");
    assert_eq!(client.get("/page").body.len(), PAGE);
    assert_eq!(client.get("/").text(), "named\n");
    let all: Vec<_> = (0..40)
        .map(|_| {
            let mut client = balancer.client();
            std::thread::spawn(move || (0..5).all(|_| client.get("/page").body.len() == PAGE))
        })
        .collect();
    assert!(all.into_iter().all(|one| one.join().unwrap()));
}

/// A server closes after its last byte, while a part of it still waits for a client that has stopped reading. On a Unix
/// socket such a close ends both directions.
#[test]
fn what_a_server_sent_before_its_close_arrives() {
    const ALL: usize = 5_000_000;
    let dir = TestDir::new();
    let head = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
    for (forward, start) in [("http", BalancerConfig::http(&[])), ("tcp", BalancerConfig::tcp(&[]))]
    {
        let closed = Arc::new(AtomicBool::new(false));
        let done = closed.clone();
        let server = UnixOrigin::start(dir.join(forward), move |mut stream| {
            HttpReader::new(&stream).head().unwrap();
            stream.write_all(head.as_bytes()).unwrap();
            stream.write_all(&noise(ALL)).unwrap();
            drop(stream);
            done.store(true, Ordering::Relaxed);
        });
        let setup = start
            .server("a", server.address(), "")
            .service("socket = { send-buffer = \"16KiB\" }\n");
        let balancer = TestBalancer::start(&setup);
        let mut client = balancer.client();
        set_socket_recv_buffer_size(client.stream(), 16 * 1024).unwrap();
        client.send_get("/");
        let mut got = client.read_exactly(ALL - 250_000);
        wait::until("the server has closed", || closed.load(Ordering::Relaxed));
        got.extend(client.read_to_end());
        assert!(got.len() > ALL, "{forward}: {} bytes", got.len());
        if forward == "tcp" {
            assert!(got.ends_with(&noise(ALL)));
        }
        drop(client);
        let causes = balancer.report_when_idle().total.causes;
        assert!(causes.is_empty(), "{causes:?}");
    }
}

#[test]
fn tunnels_end_one_direction_at_a_time() {
    let dir = TestDir::new();
    let server = UnixOrigin::start(dir.join("echo.sock"), |mut stream| {
        let mut got = Vec::new();
        stream.write_all(b"first,").unwrap();
        stream.read_to_end(&mut got).unwrap();
        stream.write_all(format!("after {} bytes", got.len()).as_bytes()).unwrap();
    });
    let balancer = TestBalancer::start(&BalancerConfig::tcp(&[]).server("a", server.address(), ""));
    let mut client = balancer.client();
    client.send(noise(1_000_000)).shut_down_write();
    assert_eq!(client.read_to_end(), b"first,after 1000000 bytes");
    let causes = balancer.report_when_idle().total.causes;
    assert!(causes.is_empty(), "{causes:?}");
}

#[test]
fn an_upgraded_connection_goes_to_a_unix_socket() {
    let dir = TestDir::new();
    let server = UnixOrigin::start(dir.join("ws.sock"), |stream| {
        let mut reader = HttpReader::new(&stream);
        let request = reader.head().unwrap().unwrap();
        assert_eq!(request.field("upgrade").as_deref(), Some("bytes"));
        let answer =
            b"HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: bytes\r\n\r\nfirst,";
        (&stream).write_all(answer).unwrap();
        let got = reader.read_to_end().unwrap().len();
        (&stream).write_all(format!("after {got} bytes").as_bytes()).unwrap();
    });
    let balancer =
        TestBalancer::start(&BalancerConfig::http(&[]).server("a", server.address(), ""));
    let mut client = balancer.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: bytes\r\n\r\n");
    assert_eq!(client.read_answer_head().status(), 101);
    client.send(noise(100_000)).shut_down_write();
    assert_eq!(client.read_to_end(), b"first,after 100000 bytes");
}

#[test]
fn a_missing_socket_is_a_refused_connection() {
    let dir = TestDir::new();
    let path = dir.join("late.sock");
    let alone = BalancerConfig::http(&[]).server("a", address(&path), "");
    let balancer = TestBalancer::start(&alone);
    assert_eq!(balancer.client().get("/").status(), 502);
    let line = balancer.wait_for_log_line("the failure", |line| line.to_string().contains("502"));
    assert!(line.to_string().contains("server-refused"), "{line}");
    let _server = UnixOrigin::naming(path.clone(), "late");
    wait::until("it answers", || balancer.client().get("/").status() == 200);

    let origin = servers::origin("other");
    let both = BalancerConfig::http(&[origin.address()])
        .server("gone", address(&dir.join("none.sock")), "")
        .pool("balance = \"round-robin\"\n");
    let balancer = TestBalancer::start(&both);
    for _ in 0..6 {
        assert_eq!(balancer.client().get("/").status(), 200, "retried at the other server");
    }
}

/// A socket whose queue holds one connection that nobody has accepted yet.
fn listen_with_short_queue(path: &std::path::Path) -> UnixListener {
    let flags = SocketFlags::CLOEXEC;
    let socket: OwnedFd =
        socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap();
    bind(&socket, &SocketAddrUnix::new(path).unwrap()).unwrap();
    listen(&socket, 0).unwrap();
    UnixListener::from(socket)
}

#[test]
fn clients_wait_while_the_queue_of_the_socket_is_full() {
    let dir = TestDir::new();
    let path = dir.join("busy.sock");
    let listener = listen_with_short_queue(&path);
    let setup = BalancerConfig::http(&[])
        .server("a", address(&path), "")
        .pool("timeout = { connect = \"60s\" }\n");
    let balancer = TestBalancer::start(&setup);
    let clients: Vec<_> = (0..12)
        .map(|_| {
            let mut client = balancer.client();
            std::thread::spawn(move || client.get("/").status())
        })
        .collect();
    wait::until("all are waited for", || balancer.server("a").in_flight == 12);
    let _server = UnixOrigin::accepting(path, listener, |stream| answer_with_name(&stream, "busy"));
    for client in clients {
        assert_eq!(client.join().unwrap(), 200);
    }
}

#[test]
fn a_full_queue_ends_at_the_connect_timeout() {
    let dir = TestDir::new();
    let path = dir.join("full.sock");
    let _listener = listen_with_short_queue(&path);
    let setup = BalancerConfig::http(&[])
        .server("a", address(&path), "")
        .pool("retries = 0\ntimeout = { connect = \"200ms\" }\n");
    let balancer = TestBalancer::start(&setup);
    let _first = std::os::unix::net::UnixStream::connect(&path).unwrap();
    assert_eq!(balancer.client().get("/").status(), 504);
    let line = balancer.wait_for_log_line("the failure", |line| line.to_string().contains("504"));
    assert!(line.to_string().contains("connect-timeout"), "{line}");
}

#[test]
fn health_checks_reach_unix_sockets() {
    let dir = TestDir::new();
    for probe in ["\"/healthz\"", "{ tcp = true }"] {
        let path = dir.join(if probe.contains("tcp") { "tcp.sock" } else { "http.sock" });
        let server = UnixOrigin::naming(path.clone(), "checked");
        let kind = if probe.contains("tcp") { "" } else { "http = " };
        let probe = probe.trim_start_matches("{ ").trim_end_matches(" }");
        let setup = BalancerConfig::http(&[]).server("a", server.address(), "").pool(&format!(
            "probe = {{ {kind}{probe}, interval = \"200ms\" }}\ninitial = \"down\"\n"
        ));
        let balancer = TestBalancer::start(&setup);
        wait::until("up", || balancer.server("a").state == ServerState::Up);
        let reason = balancer.server("a").reason;
        let asked = reason.check.and_then(|seen| seen.probe).unwrap_or_default();
        assert!(asked.contains(&server.address()), "{asked}");
        drop(server);
        wait::until("down, with the reason", || {
            let shown = balancer.server("a");
            shown.state == ServerState::Down
                && shown.reason.text.contains("the server has not created the socket")
        });
        let _server = UnixOrigin::naming(path, "again");
        wait::until("up again", || balancer.server("a").state == ServerState::Up);
        assert_eq!(balancer.client().get("/").status(), 200);
    }
}

#[test]
fn a_reload_changes_paths() {
    let dir = TestDir::new();
    let old = UnixOrigin::naming(dir.join("old.sock"), "old");
    let new = UnixOrigin::naming(dir.join("new.sock"), "new");
    let setup = |server: &UnixOrigin| BalancerConfig::http(&[]).server("a", server.address(), "");
    let first = setup(&old);
    let mut balancer = TestBalancer::start(&first);
    let mut client = balancer.client();
    assert!(client.get("/").text().starts_with("old"));
    let second = first.clone().without_server("a").server("a", new.address(), "");
    balancer.reload(&second);
    assert!(client.get("/").text().starts_with("new"));
    let origin = servers::origin("tcp");
    balancer.reload(&second.without_server("a").server("a", origin.address(), ""));
    assert_eq!(client.get("/").field("x-origin").as_deref(), Some("tcp"));
}

#[test]
fn a_server_on_a_unix_socket_learns_the_client_from_send_proxy() {
    let dir = TestDir::new();
    let server = UnixOrigin::start(dir.join("proxied.sock"), |mut stream| {
        let mut reader = HttpReader::new(&stream);
        let header = reader.read_exactly(28).unwrap();
        let request = reader.head().unwrap().unwrap();
        let known =
            header.starts_with(b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\x7f\0\0\x01\x7f\0\0\x01");
        let text = format!("{known} {}", request.start);
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{text}", text.len());
        stream.write_all(answer.as_bytes()).unwrap();
    });
    let setup =
        BalancerConfig::http(&[]).server("a", server.address(), "").pool("send-proxy = \"v2\"\n");
    let balancer = TestBalancer::start(&setup);
    assert_eq!(balancer.client().get("/x").text(), "true GET /x HTTP/1.1");
}

#[test]
fn abstract_sockets_are_reached() {
    let name = format!("steelyard-test-{}", std::process::id());
    let socket =
        socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
    bind(&socket, &SocketAddrUnix::new_abstract_name(name.as_bytes()).unwrap()).unwrap();
    listen(&socket, 16).unwrap();
    let listener = UnixListener::from(socket);
    let setup = BalancerConfig::http(&[]).server("a", format!("unix:@{name}"), "");
    let balancer = TestBalancer::start(&setup);
    let mut client = balancer.client();
    client.send_get("/");
    let (stream, _) = listener.accept().unwrap();
    std::thread::spawn(move || answer_with_name(&stream, "abstract"));
    assert!(client.read_answer().text().starts_with("abstract"));
}

#[test]
fn servers_on_unix_sockets_are_not_added_at_run_time() {
    let origin = servers::origin("a");
    let balancer = TestBalancer::start(&BalancerConfig::http(&[origin.address()]));
    let mut command = std::process::Command::new(tests::e2e::balancer::program());
    command.args(["server", "add", "web", "unix:/run/other.sock", "--name", "b"]);
    let output = command.arg("--socket").arg(balancer.dir().join("sock")).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && text.contains("is a Unix socket"), "{text}");
}
