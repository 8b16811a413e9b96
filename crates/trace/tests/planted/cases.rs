//! Slow transfers with a planted cause, in clear and under TLS, with loss and without, captured at either end, in the
//! middle of the path, or from the middle on.

use crate::capture::{PlantedPacket, SYN};
use crate::host::HostSettings;
use crate::model::{ModelSettings, PlannedExchange, PlannedPiece, TcpModel};

/// What a case plants, and the first causes that are right.
pub struct CauseRow {
    pub name: &'static str,
    pub causes: &'static [&'static str],
    /// Right as well where the handshake is not captured, so that no window can be read.
    pub partial: &'static [&'static str],
    pub plan: fn(&mut ModelSettings),
}

/// One case of the exam.
pub struct ModelCase {
    pub name: String,
    pub causes: Vec<&'static str>,
    pub packets: Vec<PlantedPacket>,
}

fn exchange(request: usize, think_ms: i64, answer: usize) -> PlannedExchange {
    let piece = |bytes| vec![PlannedPiece { wait_ms: 0, bytes }];
    PlannedExchange { pause_ms: 0, request: piece(request), think_ms, answer: piece(answer) }
}

fn pieces(count: usize, wait_ms: i64, bytes: usize) -> Vec<PlannedPiece> {
    vec![PlannedPiece { wait_ms, bytes }; count]
}

pub const ROWS: &[CauseRow] = &[
    CauseRow {
        name: "the server thinks",
        causes: &["SERVER_THINK server"],
        partial: &[],
        plan: |of| of.exchanges = vec![exchange(300, 400, 5_000); 4],
    },
    CauseRow {
        name: "one answer of one packet, four seconds late",
        causes: &["SERVER_THINK server"],
        partial: &[],
        plan: |of| of.exchanges = vec![exchange(300, 4_000, 700)],
    },
    CauseRow {
        name: "the server's program sends in pieces",
        causes: &["APP_SENDER server"],
        partial: &[],
        plan: |of| {
            let answer = pieces(25, 60, 3_000);
            of.exchanges = vec![PlannedExchange { answer, ..exchange(300, 0, 0) }];
        },
    },
    CauseRow {
        name: "the client's program sends in pieces",
        causes: &["APP_SENDER client"],
        partial: &[],
        plan: |of| {
            let request = pieces(25, 60, 3_000);
            of.exchanges = vec![PlannedExchange { request, ..exchange(0, 0, 500) }];
        },
    },
    CauseRow {
        name: "a small window of the client",
        causes: &["RWND client"],
        partial: &["SEND_BUFFER server"],
        plan: |of| {
            of.hosts[0].window = 24_576;
            of.exchanges = vec![exchange(300, 0, 1_000_000)];
        },
    },
    CauseRow {
        name: "a small window of the server",
        causes: &["RWND server"],
        partial: &["SEND_BUFFER client"],
        plan: |of| {
            of.hosts[1].window = 24_576;
            of.exchanges = vec![exchange(800_000, 0, 300)];
        },
    },
    CauseRow {
        name: "a client that does not read for three seconds",
        causes: &["ZERO_WINDOW client"],
        partial: &[],
        plan: |of| {
            of.hosts[0].window = 65_536;
            of.hosts[0].reads_from_ms = 3_000;
            of.exchanges = vec![exchange(300, 0, 400_000)];
        },
    },
    CauseRow {
        name: "a client that reads slowly",
        causes: &["RWND client", "ZERO_WINDOW client"],
        partial: &["SEND_BUFFER server"],
        plan: |of| {
            of.hosts[0].window = 65_536;
            of.hosts[0].read_rate = 150_000;
            of.exchanges = vec![exchange(300, 0, 600_000)];
        },
    },
    CauseRow {
        name: "a small send buffer of the server",
        causes: &["SEND_BUFFER server"],
        partial: &[],
        plan: |of| {
            of.hosts[1].send_buffer = 24_000;
            of.exchanges = vec![exchange(300, 0, 1_000_000)];
        },
    },
    CauseRow {
        name: "a slow link",
        causes: &["LINK_RATE network"],
        partial: &[],
        plan: |of| {
            of.rate = 400_000;
            of.exchanges = vec![exchange(300, 0, 1_200_000)];
        },
    },
    CauseRow {
        name: "loss",
        causes: &["LOSS network"],
        partial: &[],
        plan: |of| {
            of.lose_every = 30;
            of.exchanges = vec![exchange(300, 0, 600_000)];
        },
    },
    CauseRow {
        name: "Nagle's algorithm against delayed acknowledgements",
        causes: &["NAGLE_DELAYED_ACK server"],
        partial: &[],
        plan: |of| {
            of.hosts[0].nagle = true;
            of.hosts[1].delayed_ack_ms = 200;
            let request = pieces(2, 0, 200);
            of.exchanges = vec![PlannedExchange { request, ..exchange(0, 0, 500) }; 6];
        },
    },
    CauseRow {
        name: "Nagle's algorithm alone",
        causes: &["NAGLE client"],
        partial: &[],
        plan: |of| {
            of.hosts[0].nagle = true;
            let request = pieces(2, 0, 200);
            of.exchanges = vec![PlannedExchange { request, ..exchange(0, 0, 500) }; 8];
        },
    },
    CauseRow {
        name: "many short turns over a long path",
        causes: &["LATENCY network"],
        partial: &[],
        plan: |of| of.exchanges = vec![exchange(300, 0, 600); 40],
    },
    CauseRow {
        name: "a client that pauses",
        causes: &["", "LATENCY network", "CONNECT network"],
        partial: &[],
        plan: |of| {
            of.exchanges = vec![PlannedExchange { pause_ms: 2_000, ..exchange(300, 0, 600) }; 8];
        },
    },
];

pub fn settings() -> ModelSettings {
    ModelSettings {
        hosts: [HostSettings::default(), HostSettings::default()],
        one_way_ns: 20_000_000,
        jitter_ns: 0,
        rate: 0,
        lose_every: 0,
        lose_before_capture: false,
        capture_percent: 100,
        exchanges: Vec::new(),
        is_tls: false,
        has_stamps: false,
        connection: 1,
        start_ms: 0,
    }
}

/// The settings of a row; under TLS with its handshake before.
pub fn planned(row: &CauseRow, is_tls: bool) -> ModelSettings {
    let mut settings = settings();
    (row.plan)(&mut settings);
    if is_tls {
        settings.is_tls = true;
        let hello = exchange(517, 0, 3_200);
        settings.exchanges.insert(0, hello);
        // The client's last handshake message goes with its first request.
        settings.exchanges[1].request[0].bytes += 80;
    }
    settings
}

/// Every case: rows by clear or TLS, loss, place and completeness of the capture.
pub fn all_cases() -> Vec<ModelCase> {
    let mut cases = Vec::new();
    for row in ROWS {
        for is_tls in [false, true] {
            for lossy in [false, true] {
                for capture_percent in [0, 50, 100] {
                    let mut settings = planned(row, is_tls);
                    settings.capture_percent = capture_percent;
                    if lossy && settings.lose_every == 0 {
                        settings.lose_every = 400;
                    }
                    // Loss lies between the server and the capture, or behind it.
                    settings.lose_before_capture = capture_percent < 100;
                    let packets = TcpModel::run(&settings);
                    for is_partial in [false, true] {
                        cases.push(planted_case(row, &settings, lossy, is_partial, &packets));
                    }
                }
            }
        }
    }
    cases
}

fn planted_case(
    row: &CauseRow,
    settings: &ModelSettings,
    lossy: bool,
    is_partial: bool,
    packets: &[PlantedPacket],
) -> ModelCase {
    let words = [
        row.name,
        if settings.is_tls { "TLS" } else { "clear" },
        if lossy { "loss" } else { "no loss" },
        match settings.capture_percent {
            0 => "at the client",
            100 => "at the server",
            _ => "in the middle",
        },
        if is_partial { "partial" } else { "whole" },
    ];
    let mut causes = row.causes.to_vec();
    let mut packets = packets.to_vec();
    packets.sort_by_key(|packet| packet.time_ns);
    if is_partial {
        causes.extend(row.partial);
        let syns = packets.iter().filter(|packet| packet.flags & SYN != 0).count();
        packets.drain(..=syns);
    }
    ModelCase { name: words.join(", "), causes, packets }
}
