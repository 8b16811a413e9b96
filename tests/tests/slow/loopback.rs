//! Causes without a long path: clients and servers that think, send or read slowly, in the clear, over TLS, HTTP/2 and
//! HTTP/3.

use std::net::TcpStream;
use std::time::Duration;

use rustix::net::sockopt::set_socket_recv_buffer_size;

use super::exchange_route::{ExchangeTransport, PacedRequest};
use super::plant::PlantedCause;
use super::plant_run::{PlantRow, by_clients, by_servers, run_plants};
use super::upstream::{ReadingPace, UpstreamTransport};

use ExchangeTransport::{Clear, Http2, Http3, Tls};

pub const CLIENTS: [ExchangeTransport; 4] = [Clear, Tls, Http2, Http3];
/// Servers other than in the clear.
pub const OTHER_SERVERS: [UpstreamTransport; 2] =
    [UpstreamTransport::Tls, UpstreamTransport::Http2];

fn with_all(row: &PlantRow) -> Vec<PlantRow> {
    [by_clients(row, &CLIENTS), by_servers(row, &OTHER_SERVERS)].concat()
}

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

#[test]
fn a_server_that_thinks() {
    let row = PlantRow {
        cause: PlantedCause {
            what: "a server that thinks",
            owner: "server",
            limits: &["SERVER_THINK"],
        },
        request: PacedRequest { target: "/100/250", ..PacedRequest::default() },
        ..PlantRow::default()
    };
    run_plants(&with_all(&row));
}

#[test]
fn a_server_that_dribbles() {
    let row = PlantRow {
        cause: PlantedCause {
            what: "a server that dribbles",
            owner: "server",
            limits: &["APP_SENDER"],
        },
        request: PacedRequest { target: "/200000/0/20", ..PacedRequest::default() },
        ..PlantRow::default()
    };
    run_plants(&with_all(&row));
}

#[test]
fn a_client_that_reads_slowly() {
    let cause = PlantedCause {
        what: "a client that reads slowly",
        owner: "client",
        limits: &["RWND", "ZERO_WINDOW", "STREAM_WINDOW"],
    };
    let slow = PacedRequest {
        target: "/12000000",
        read_pause: ms(5),
        receive_buffer: 64 * 1024,
        ..PacedRequest::default()
    };
    let row = PlantRow { cause, request: slow, ..PlantRow::default() };
    let request = PacedRequest { target: "/1200000", read_pause: ms(20), ..slow };
    let http3 = PlantRow { request, client: Http3, ..row.clone() };
    run_plants(&[by_clients(&row, &[Clear, Tls, Http2]), vec![http3]].concat());
}

#[test]
fn a_client_that_sends_slowly() {
    let cause = PlantedCause {
        what: "a client that sends slowly",
        owner: "client",
        limits: &["APP_SENDER"],
    };
    let request = PacedRequest {
        target: "/9",
        upload: 100_000,
        send_piece: 10_000,
        send_pause: ms(25),
        ..PacedRequest::default()
    };
    let row = PlantRow { cause, request, ..PlantRow::default() };
    run_plants(&with_all(&row));
}

#[test]
fn a_client_that_sends_its_head_slowly() {
    let cause = PlantedCause {
        what: "a client that pauses within its head",
        owner: "client",
        limits: &["APP_SENDER"],
    };
    let request = PacedRequest { target: "/9", head_pause: ms(250), ..PacedRequest::default() };
    run_plants(&by_clients(&PlantRow { cause, request, ..PlantRow::default() }, &[Clear, Tls]));
}

#[test]
fn a_server_that_reads_an_upload_slowly() {
    let cause = PlantedCause {
        what: "a server that reads an upload slowly",
        owner: "server",
        limits: &["RWND", "ZERO_WINDOW", "STREAM_WINDOW"],
    };
    let row = PlantRow {
        cause,
        request: PacedRequest { target: "/2", upload: 6_000_000, ..PacedRequest::default() },
        pace: ReadingPace { pause: ms(15), ..ReadingPace::default() },
        prepare_server: read_little,
        pool: "limit.idle = 0\n",
        ..PlantRow::default()
    };
    // On a busy machine a client of QUIC is no faster than that server: which of them waits is then not planted.
    let over_quic = PlantRow {
        client: Http3,
        pace: ReadingPace { pause: ms(45), ..ReadingPace::default() },
        ..row.clone()
    };
    let others = by_clients(&row, &[Clear, Tls, Http2]);
    run_plants(&[others, by_servers(&row, &OTHER_SERVERS), vec![over_quic]].concat());
}

fn read_little(stream: &TcpStream) {
    set_socket_recv_buffer_size(stream, 64 * 1024).unwrap();
}

/// The request fits into the balancer's send buffer, so only the kernel knows that it waits there.
#[test]
fn a_server_that_reads_slowly_what_our_buffer_holds() {
    let cause = PlantedCause {
        what: "a server that reads slowly what our buffer holds",
        owner: "server",
        limits: &["RWND", "ZERO_WINDOW"],
    };
    let row = PlantRow {
        cause,
        request: PacedRequest { target: "/2", upload: 1_000_000, ..PacedRequest::default() },
        pace: ReadingPace { pause: ms(40), ..ReadingPace::default() },
        prepare_server: read_little,
        pool: "limit.idle = 0\n",
        ..PlantRow::default()
    };
    run_plants(&by_servers(&row, &[UpstreamTransport::Clear, UpstreamTransport::Tls]));
}

/// The windows of HTTP/2 are full, the connection's or the stream's.
#[test]
fn a_server_of_http_2_whose_window_is_full() {
    let cause = PlantedCause { what: "a full window", owner: "server", limits: &["STREAM_WINDOW"] };
    let pace = ReadingPace { pause: ms(15), ..ReadingPace::default() };
    let row = PlantRow {
        cause,
        form: "of a stream",
        server: UpstreamTransport::Http2,
        request: PacedRequest { target: "/2", upload: 2_000_000, ..PacedRequest::default() },
        pace: ReadingPace { stream_window: 65_535, ..pace },
        pool: "limit.idle = 0\n",
        ..PlantRow::default()
    };
    let connection = PlantRow {
        form: "of the connection",
        pace: ReadingPace { connection_window: 65_535, ..pace },
        ..row.clone()
    };
    run_plants(&[row, connection]);
}

#[test]
fn a_server_that_is_slow_in_its_handshake() {
    let cause = PlantedCause {
        what: "a server that is slow in its handshake",
        owner: "server",
        limits: &["TLS"],
    };
    let row = PlantRow {
        cause,
        server: UpstreamTransport::Tls,
        request: PacedRequest { target: "/9", ..PacedRequest::default() },
        pace: ReadingPace { handshake_pause: ms(250), ..ReadingPace::default() },
        pool: "limit.idle = 0\n",
        ..PlantRow::default()
    };
    run_plants(&[row]);
}
