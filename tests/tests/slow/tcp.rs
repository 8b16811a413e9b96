//! Services that forward TCP: what is asked and answered is unknown, and the causes are the same.

use std::net::TcpStream;
use std::time::Duration;

use lab::link_emulation::LinkShape;
use rustix::net::sockopt::set_socket_recv_buffer_size;

use super::exchange_route::{ExchangeTransport, PacedRequest};
use super::plant::PlantedCause;
use super::plant_run::{LinkPlace, PlantRow, by_clients, run_plants};
use super::upstream::ReadingPace;

/// In the clear, and with TLS that the balancer ends.
const FORMS: [ExchangeTransport; 2] = [ExchangeTransport::Clear, ExchangeTransport::Tls];

fn forwarded(cause: PlantedCause, request: PacedRequest<'static>) -> PlantRow {
    PlantRow { cause, request, form: "of TCP", is_tcp: true, ..PlantRow::default() }
}

fn get(target: &'static str) -> PacedRequest<'static> {
    PacedRequest { target, ..PacedRequest::default() }
}

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn delayed(milliseconds: u64) -> LinkShape {
    LinkShape { delay: ms(milliseconds), ..LinkShape::default() }
}

#[test]
fn a_server_of_tcp_that_thinks_or_dribbles() {
    let cause =
        PlantedCause { what: "a server that thinks", owner: "server", limits: &["SERVER_THINK"] };
    let thinks = forwarded(cause, get("/100/250"));
    let cause = PlantedCause { what: "a server that dribbles", limits: &["APP_SENDER"], ..cause };
    let dribbles = forwarded(cause, get("/200000/0/20"));
    run_plants(&[by_clients(&thinks, &FORMS), by_clients(&dribbles, &FORMS)].concat());
}

#[test]
fn a_client_of_tcp_that_reads_or_sends_slowly() {
    let cause = PlantedCause {
        what: "a client that reads slowly",
        owner: "client",
        limits: &["RWND", "ZERO_WINDOW"],
    };
    let request = PacedRequest { read_pause: ms(5), receive_buffer: 64 * 1024, ..get("/12000000") };
    let reads = forwarded(cause, request);
    let cause =
        PlantedCause { what: "a client that sends slowly", limits: &["APP_SENDER"], ..cause };
    let request =
        PacedRequest { upload: 100_000, send_piece: 10_000, send_pause: ms(25), ..get("/9") };
    let sends = forwarded(cause, request);
    run_plants(&[by_clients(&reads, &FORMS), by_clients(&sends, &FORMS)].concat());
}

#[test]
fn a_server_of_tcp_that_reads_slowly() {
    let cause = PlantedCause {
        what: "a server that reads an upload slowly",
        owner: "server",
        limits: &["RWND", "ZERO_WINDOW"],
    };
    let row = PlantRow {
        pace: ReadingPace { pause: ms(15), ..ReadingPace::default() },
        prepare_server: |stream: &TcpStream| {
            set_socket_recv_buffer_size(stream, 64 * 1024).unwrap();
        },
        ..forwarded(cause, PacedRequest { upload: 6_000_000, ..get("/2") })
    };
    run_plants(&by_clients(&row, &FORMS));
}

#[test]
fn a_path_of_tcp_that_loses_packets_or_is_full() {
    let cause = PlantedCause { what: "", owner: "network", limits: &["LOSS"] };
    let lossy = LinkShape {
        bits_per_second: 60_000_000,
        queue_bytes: 400_000,
        drop_every: 40,
        ..delayed(20)
    };
    let full = LinkShape { bits_per_second: 16_000_000, queue_bytes: 200_000, ..delayed(10) };
    let row = |what, link, request| PlantRow {
        link,
        wide_buffers: true,
        ..forwarded(PlantedCause { what, ..cause }, request)
    };
    let rows = [
        row(
            "losses on the way to the client",
            LinkPlace::BeforeBalancer([delayed(20), lossy.clone()]),
            get("/3000000"),
        ),
        row(
            "losses on the way from the server",
            LinkPlace::BehindBalancer([delayed(20), lossy]),
            get("/1500000"),
        ),
        row(
            "a full link to the client",
            LinkPlace::BeforeBalancer([delayed(10), full.clone()]),
            get("/1500000"),
        ),
        row(
            "a full link from the server",
            LinkPlace::BehindBalancer([delayed(10), full]),
            get("/1500000"),
        ),
    ];
    let fills = |row: &PlantRow| row.cause.what.starts_with("a full link");
    let rows = rows.map(|row| match fills(&row) {
        true => {
            PlantRow { cause: PlantedCause { limits: &["LINK_RATE", "LOSS"], ..row.cause }, ..row }
        }
        false => row,
    });
    run_plants(&rows);
}

#[test]
fn connections_of_tcp_that_take_long_to_open() {
    let cause = PlantedCause {
        what: "connections that take long to open",
        owner: "network",
        limits: &["CONNECT", "LATENCY"],
    };
    let row = PlantRow {
        link: LinkPlace::BehindBalancer([delayed(80), delayed(80)]),
        ..forwarded(cause, get("/99"))
    };
    run_plants(&by_clients(&row, &FORMS));
}
