//! Causes on long paths, before the balancer and behind it: losses, full links, long paths, and send buffers that are
//! smaller than the path. The tests need root for namespaces.

use std::net::TcpStream;
use std::time::Duration;

use lab::link_emulation::LinkShape;
use rustix::net::sockopt::set_socket_send_buffer_size;

use super::exchange_route::{ExchangeTransport, PacedRequest};
use super::loopback::CLIENTS;
use super::plant::PlantedCause;
use super::plant_run::{LinkPlace, PlantRow, by_clients, by_servers, run_plants};
use super::upstream::UpstreamTransport;

/// The delay to the far end.
const FAR: Duration = Duration::from_millis(20);

const SERVERS: [UpstreamTransport; 3] =
    [UpstreamTransport::Clear, UpstreamTransport::Tls, UpstreamTransport::Http2];

/// Clients whose losses on the way here the kernel counts.
const OVER_TCP: [ExchangeTransport; 3] =
    [ExchangeTransport::Clear, ExchangeTransport::Tls, ExchangeTransport::Http2];

fn far() -> LinkShape {
    delayed(FAR)
}

fn delayed(delay: Duration) -> LinkShape {
    LinkShape { delay, ..LinkShape::default() }
}

fn lossy() -> LinkShape {
    LinkShape { bits_per_second: 60_000_000, queue_bytes: 400_000, drop_every: 40, ..far() }
}

/// Sixteen megabits a second with a queue of a tenth of a second.
fn narrow() -> LinkShape {
    LinkShape {
        delay: Duration::from_millis(10),
        bits_per_second: 16_000_000,
        queue_bytes: 200_000,
        ..LinkShape::default()
    }
}

fn get(target: &'static str) -> PacedRequest<'static> {
    PacedRequest { target, ..PacedRequest::default() }
}

fn post(upload: usize) -> PacedRequest<'static> {
    PacedRequest { target: "/2", upload, ..PacedRequest::default() }
}

const LOSS: PlantedCause = PlantedCause { what: "", owner: "network", limits: &["LOSS"] };

#[test]
fn losses_on_the_way_to_the_client() {
    let row = PlantRow {
        cause: PlantedCause { what: "losses on the way to the client", ..LOSS },
        link: LinkPlace::BeforeBalancer([far(), lossy()]),
        request: get("/3000000"),
        wide_buffers: true,
        ..PlantRow::default()
    };
    run_plants(&by_clients(&row, &CLIENTS));
}

#[test]
fn losses_on_the_way_from_the_client() {
    let row = PlantRow {
        cause: PlantedCause { what: "losses on the way from the client", ..LOSS },
        link: LinkPlace::BeforeBalancer([lossy(), far()]),
        request: post(1_500_000),
        wide_buffers: true,
        ..PlantRow::default()
    };
    let hidden = PlantRow {
        cause: PlantedCause { owner: "unknown", limits: &["UNKNOWN"], ..row.cause },
        form: "that QUIC hides",
        client: ExchangeTransport::Http3,
        request: post(300_000),
        ..row.clone()
    };
    run_plants(&[by_clients(&row, &OVER_TCP), vec![hidden]].concat());
}

#[test]
fn losses_on_the_way_from_the_server() {
    let row = PlantRow {
        cause: PlantedCause { what: "losses on the way from the server", ..LOSS },
        link: LinkPlace::BehindBalancer([far(), lossy()]),
        request: get("/1500000"),
        wide_buffers: true,
        ..PlantRow::default()
    };
    run_plants(&by_servers(&row, &SERVERS));
}

#[test]
fn losses_on_the_way_to_the_server() {
    let row = PlantRow {
        cause: PlantedCause { what: "losses on the way to the server", ..LOSS },
        link: LinkPlace::BehindBalancer([lossy(), far()]),
        request: post(1_500_000),
        wide_buffers: true,
        ..PlantRow::default()
    };
    run_plants(&by_servers(&row, &SERVERS));
}

/// A full queue loses packets, so both are right.
const FULL_LINK: PlantedCause =
    PlantedCause { what: "", owner: "network", limits: &["LINK_RATE", "LOSS"] };

#[test]
fn a_full_link_to_the_client() {
    let row = PlantRow {
        cause: PlantedCause { what: "a full link to the client", ..FULL_LINK },
        link: LinkPlace::BeforeBalancer([delayed(narrow().delay), narrow()]),
        request: get("/1500000"),
        wide_buffers: true,
        ..PlantRow::default()
    };
    run_plants(&by_clients(&row, &CLIENTS));
}

#[test]
fn a_full_link_from_the_client() {
    let row = PlantRow {
        cause: PlantedCause { what: "a full link from the client", ..FULL_LINK },
        link: LinkPlace::BeforeBalancer([narrow(), delayed(narrow().delay)]),
        request: post(1_500_000),
        wide_buffers: true,
        ..PlantRow::default()
    };
    run_plants(&by_clients(&row, &CLIENTS));
}

#[test]
fn a_full_link_from_the_server() {
    let row = PlantRow {
        cause: PlantedCause { what: "a full link from the server", ..FULL_LINK },
        link: LinkPlace::BehindBalancer([delayed(narrow().delay), narrow()]),
        request: get("/1500000"),
        wide_buffers: true,
        pool: "limit.idle = 0\n",
        ..PlantRow::default()
    };
    run_plants(&by_servers(&row, &SERVERS));
}

#[test]
fn a_full_link_to_the_server() {
    let row = PlantRow {
        cause: PlantedCause { what: "a full link to the server", ..FULL_LINK },
        link: LinkPlace::BehindBalancer([narrow(), delayed(narrow().delay)]),
        request: post(1_500_000),
        wide_buffers: true,
        pool: "limit.idle = 0\n",
        ..PlantRow::default()
    };
    run_plants(&by_servers(&row, &SERVERS));
}

/// Each way of a path on which a single round trip is slow.
fn slow_path() -> [LinkShape; 2] {
    [(); 2].map(|()| delayed(Duration::from_millis(80)))
}

#[test]
fn connections_that_take_long_to_open() {
    let row = PlantRow {
        cause: PlantedCause {
            what: "connections that take long to open",
            owner: "network",
            limits: &["CONNECT"],
        },
        link: LinkPlace::BehindBalancer(slow_path()),
        request: get("/99"),
        pool: "limit.idle = 0\n",
        ..PlantRow::default()
    };
    // Over HTTP/2 the preface is part of it.
    run_plants(&by_servers(&row, &[UpstreamTransport::Tls]));
}

#[test]
fn a_long_path_to_the_server() {
    let row = PlantRow {
        cause: PlantedCause {
            what: "a long path to the server",
            owner: "network",
            limits: &["LATENCY"],
        },
        link: LinkPlace::BehindBalancer(slow_path()),
        request: get("/99"),
        warm_up: true,
        ..PlantRow::default()
    };
    run_plants(
        &[by_servers(&row, &SERVERS), by_clients(&row, &[ExchangeTransport::Http2])].concat(),
    );
}

#[test]
fn a_long_path_of_a_clients_handshake() {
    let cause = PlantedCause {
        what: "a handshake over a long path to the client",
        owner: "network",
        limits: &["TLS"],
    };
    let row = PlantRow {
        cause,
        link: LinkPlace::BeforeBalancer(slow_path()),
        request: get("/99"),
        ..PlantRow::default()
    };
    // An exchange of HTTP/3 begins with its stream.
    run_plants(&by_clients(&row, &[ExchangeTransport::Tls]));
}

const OUR_BUFFER: PlantedCause =
    PlantedCause { what: "", owner: "balancer", limits: &["SEND_BUFFER"] };

// Rows: D15
#[test]
fn a_send_buffer_of_ours_that_is_smaller_than_the_path() {
    let row = PlantRow {
        cause: PlantedCause {
            what: "a send buffer of ours that is smaller than the path to the client",
            ..OUR_BUFFER
        },
        link: LinkPlace::BeforeBalancer([far(), far()]),
        request: get("/600000"),
        service: "socket.send-buffer = \"16KiB\"\n",
        http3: ", send-buffer = \"64KiB\"",
        ..PlantRow::default()
    };
    run_plants(&by_clients(&row, &CLIENTS));
}

#[test]
fn a_send_buffer_of_ours_that_is_smaller_than_the_path_to_the_server() {
    let row = PlantRow {
        cause: PlantedCause {
            what: "a send buffer of ours that is smaller than the path to the server",
            ..OUR_BUFFER
        },
        link: LinkPlace::BehindBalancer([far(), far()]),
        request: post(600_000),
        pool: "socket.send-buffer = \"16KiB\"\n",
        ..PlantRow::default()
    };
    run_plants(&by_servers(&row, &SERVERS));
}

#[test]
fn a_send_buffer_of_the_servers_that_is_smaller_than_the_path() {
    let row = PlantRow {
        cause: PlantedCause {
            what: "a send buffer of the server's that is smaller than the path",
            owner: "server",
            limits: &["APP_SENDER"],
        },
        link: LinkPlace::BehindBalancer([far(), far()]),
        request: get("/700000"),
        prepare_server: buffer_little,
        pool: "limit.idle = 0\n",
        ..PlantRow::default()
    };
    run_plants(&by_servers(&row, &SERVERS));
}

fn buffer_little(stream: &TcpStream) {
    set_socket_send_buffer_size(stream, 16 * 1024).unwrap();
}
