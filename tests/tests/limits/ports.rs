//! Exhausted source ports towards one server.

use std::net::SocketAddr;

use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::cli_environment::CliEnvironment;
use tests::e2e::client::HttpClient;
use tests::e2e::namespace::TestNamespace;
use tests::e2e::servers::{echo, origin, reserve_port};
use tests::e2e::wait;
use tests::skip::skip;

use crate::holding_server::HoldingServer;

/// The port range, and its size.
const RANGE: &str = "20000 20039";
const PORTS: usize = 40;
/// The source addresses towards the server.
const SOURCES: [&str; 2] = ["127.0.0.10", "127.0.0.11"];
/// The number of requests beyond the ports' limit.
const BEYOND: usize = 10;

#[test]
fn without_source_ports_what_can_be_served_is_served_and_the_rest_is_reported() {
    in_a_namespace(|| run(BalancerConfig::http, is_told));
}

#[test]
fn without_source_ports_tcp_connections_go_elsewhere_or_are_reset() {
    in_a_namespace(|| run(BalancerConfig::tcp, is_reset));
}

#[test]
fn ports_that_rest_are_in_use_and_warned_of_before_none_is_left() {
    in_a_namespace(rest);
}

/// Connections that the balancer closes first, one after the other: none is open, and their ports are in TIME-WAIT.
fn rest() {
    let server = echo("a");
    let front = reserve_port();
    let at = front.address();
    let metrics = reserve_port();
    // Clients use ports outside the range, so their closed connections do not occupy it.
    let setup = BalancerConfig::tcp(&[server.address()])
        .listen(vec![front])
        .global(&format!("workers = 2\nmetrics = \"{}\"", metrics.address()))
        .pool("source = \"127.0.0.10\"");
    std::fs::write("/proc/sys/net/ipv4/ip_local_port_range", RANGE).unwrap();
    std::fs::write("/proc/sys/net/ipv4/tcp_tw_reuse", "0").unwrap();
    let place = CliEnvironment::new(&setup);
    let process = place.start();
    let used = |place: &CliEnvironment| {
        let row = place.report().ports.into_iter().next();
        row.map_or((0, 0, PORTS as u32), |row| (row.in_use, row.time_wait, row.free))
    };
    let alarms = |place: &CliEnvironment| {
        let events = place.events().events.into_iter();
        let of = events.filter(|it| it.kind == "alarm-on" && it.text.contains("source ports"));
        of.map(|it| it.text).collect::<Vec<_>>()
    };
    // Leaves a few ports. A server that closes at the same moment leaves a port free, so that another connection may be
    // needed.
    let wanted = PORTS * 9 / 10;
    let mut sources = 30_000u16..;
    let mut connect = || sources.next().into_iter().for_each(|from| closed_by_us(at, from));
    (0..wanted).for_each(|_| connect());
    let mut spare = PORTS - wanted - 1;
    wait::until("ports rest", || {
        let enough = used(&place).1 as usize >= wanted;
        if !enough && spare > 0 {
            spare -= 1;
            connect();
        }
        enough
    });
    let (in_use, resting, left) = used(&place);
    assert_eq!((in_use, in_use + left), (resting, PORTS as u32), "nothing is open");
    wait::until("the alarm", || !alarms(&place).is_empty());
    wait::until("the warning", || !warnings(&place).is_empty());
    assert_eq!(place.count_of("no-source-port"), 0, "all that before any failed");
    let shown = place.run_verb_ok(&["report"]).stdout;
    assert!(shown.contains("RESTING"), "{shown}");
    let scraped = HttpClient::connect(metrics.address()).get("/metrics").text();
    assert!(
        scraped.lines().any(|line| line.starts_with("steelyard_source_ports_time_wait{")),
        "{scraped}"
    );
    drop(process);
}

/// A connection that the balancer closes first towards the server, because the client has shut down its sending side.
fn closed_by_us(front: SocketAddr, from: u16) {
    use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&socket, &SocketAddr::from(([127, 0, 0, 1], from))).unwrap();
    connect(&socket, &front).unwrap();
    let stream = std::net::TcpStream::from(socket);
    stream.set_read_timeout(Some(std::time::Duration::from_secs(10))).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut rest = Vec::new();
    std::io::Read::read_to_end(&mut &stream, &mut rest).unwrap();
}

fn is_told(front: SocketAddr) {
    let answer = asking(front).read_answer();
    assert_eq!(answer.status(), 503, "{answer:?}");
    assert_eq!(answer.field("x-steelyard-cause").as_deref(), Some("no-source-port"));
}

fn is_reset(front: SocketAddr) {
    // The reset may arrive before `connect` returns.
    let reset = HttpClient::try_connect(front).and_then(|mut client| client.read_to_end_or_reset());
    let error = reset.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{error}");
}

fn in_a_namespace(run: fn()) {
    if !rustix::process::geteuid().is_root() {
        return skip("a namespace of its own needs root");
    }
    match TestNamespace::new() {
        Ok(namespace) => namespace.run_inside(run),
        Err(reason) => skip(&format!("no namespace can be made: {reason}")),
    }
}

fn run(setup: fn(&[SocketAddr]) -> BalancerConfig, refused: fn(SocketAddr)) {
    // Listeners bind before the port range is reduced. Clients use several frontends because their ports are limited
    // too.
    let holding = HoldingServer::start();
    let spare = origin("spare");
    let fronts: Vec<_> = (0..4).map(|_| reserve_port()).collect();
    let at: Vec<SocketAddr> = fronts.iter().map(|front| front.address()).collect();
    let metrics = reserve_port();
    let setup = setup(&[holding.address()])
        .listen(fronts)
        .global(&format!("workers = 2\nmetrics = \"{}\"", metrics.address()))
        .pool(&format!("source = {SOURCES:?}"));
    std::fs::write("/proc/sys/net/ipv4/ip_local_port_range", RANGE).unwrap();
    let place = CliEnvironment::new(&setup);
    let process = place.start();

    // Uses every port of both sources; warnings precede the exhaustion.
    let all = SOURCES.len() * PORTS;
    let mut held: Vec<HttpClient> = (0..all).map(|number| asking(at[number % at.len()])).collect();
    wait::until("every port used", || holding.held() == all);
    assert_eq!(place.count_of("no-source-port"), 0);
    is_shown(&place, metrics.address());

    // Further requests fail at once with the cause, while the held requests wait.
    for number in 0..BEYOND {
        refused(at[number % at.len()]);
    }
    assert_eq!(holding.held(), all);
    wait::until("counted", || place.count_of("no-source-port") == BEYOND as u64);
    assert!(warnings(&place).iter().any(|text| text.starts_with("no source port is left")));
    let log = place.dir().join("access.log");
    let logged = || std::fs::read_to_string(&log).unwrap_or_default();
    wait::until("in the log", || logged().matches("\"no-source-port\"").count() == BEYOND);

    // With a second server, requests are served there.
    let file = place.write(&setup.server("b", spare.address(), "")).display().to_string();
    place.run_verb_ok(&["apply", &file]);
    for number in 0..BEYOND {
        let answer = HttpClient::connect(at[number % at.len()]).get("/");
        assert_eq!((answer.status(), answer.field("x-origin").as_deref()), (200, Some("spare")));
    }
    assert_eq!(place.count_of("no-source-port"), BEYOND as u64);

    // The held requests are answered, and their ports become free.
    holding.release();
    for client in &mut held {
        assert_eq!(client.read_answer().status(), 200);
    }
    drop(held);
    // Ports of connections that the balancer closed first stay in TIME-WAIT for a second, and so do the clients' ports.
    wait::until("the first server serves again", || {
        let client = HttpClient::try_connect(at[0]);
        client.is_ok_and(|mut client| client.get("/").field("x-origin").as_deref() == Some("held"))
    });
    drop(process);
}

fn warnings(place: &CliEnvironment) -> Vec<String> {
    let events = place.events().events.into_iter();
    events.filter(|it| it.kind == "source-ports-low").map(|it| it.text).collect()
}

/// With every port in use, the status warns, and the report and the metrics show the ports.
fn is_shown(place: &CliEnvironment, metrics: SocketAddr) {
    for source in SOURCES {
        let all = warnings(place).into_iter();
        let of: Vec<_> = all.filter(|text| text.contains(source)).collect();
        assert_eq!(of.len(), 2, "one at 80 %, one at 95 %: {of:?}");
    }
    let report = place.report();
    let rows: Vec<_> = report.ports.iter().map(|row| (row.in_use as usize, row.free)).collect();
    assert_eq!(rows, [(PORTS, 0); 2], "{:?}", report.ports);
    assert!(place.run_verb_ok(&["report"]).stdout.contains(SOURCES[0]), "shown to people too");
    let scraped = HttpClient::connect(metrics).get("/metrics").text();
    let left = scraped.lines().filter(|line| line.starts_with("steelyard_source_ports_free{"));
    let values: Vec<f64> = left.filter_map(|line| line.split(' ').nth(1)?.parse().ok()).collect();
    assert_eq!(values, [0.0; 2], "{scraped}");
}

fn asking(front: SocketAddr) -> HttpClient {
    let client = HttpClient::connect(front);
    client.send("GET / HTTP/1.1\r\nHost: shop.example\r\n\r\n");
    client
}
