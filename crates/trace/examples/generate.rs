//! Writes a large capture for measuring: `cargo run -p trace --example generate FILE [CONNECTIONS [EXCHANGES]]`.
//!
//! Connections with requests and responses of realistic lengths, interleaved as on a busy server's link. Nothing is
//! random.

use std::fs::File;
use std::io::{BufWriter, Result, Write};

/// Connections, and exchanges of each.
const CONNECTIONS: u32 = 1_112;
const EXCHANGES: u32 = 12;
/// Packets of an answer.
const PACKETS: u32 = 10;
const SEGMENT: usize = 1_460;

/// A connection of the generated capture, and its next packet.
struct SyntheticConnection {
    number: u32,
    step: u32,
    exchanges: u32,
    client_seq: u32,
    server_seq: u32,
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "large.pcap".to_owned());
    let mut number = |usual| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let connections = number(CONNECTIONS);
    let exchanges = number(EXCHANGES);
    let mut out = BufWriter::with_capacity(1 << 20, File::create(name)?);
    for value in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 1] {
        out.write_all(&value.to_le_bytes())?;
    }
    let mut talkers: Vec<SyntheticConnection> = (0..connections)
        .map(|number| SyntheticConnection {
            number,
            step: 0,
            exchanges,
            client_seq: 1_000,
            server_seq: 9_000,
        })
        .collect();
    let mut micros = 0_u64;
    while !talkers.is_empty() {
        // A few packets of each in turn: trains, as links carry them.
        for talker in &mut talkers {
            for _ in 0..4 {
                micros += 7;
                if let Some(frame) = talker.next() {
                    record(&mut out, micros, &frame)?;
                }
            }
        }
        talkers.retain(|talker| talker.step <= talker.last());
    }
    out.flush()
}

fn record(out: &mut impl Write, micros: u64, frame: &[u8]) -> Result<()> {
    let seconds = 1_700_000_000 + u32::try_from(micros / 1_000_000).unwrap_or(0);
    let fraction = u32::try_from(micros % 1_000_000).unwrap_or(0);
    let length = u32::try_from(frame.len()).unwrap_or(0);
    for value in [seconds, fraction, length, length] {
        out.write_all(&value.to_le_bytes())?;
    }
    out.write_all(frame)
}

/// Packets of an exchange: the request, its acknowledgement, and an acknowledgement for each packet of the response.
const TURN: u32 = 2 + 2 * PACKETS;

impl SyntheticConnection {
    /// Behind its last step.
    fn last(&self) -> u32 {
        3 + self.exchanges * TURN
    }

    fn next(&mut self) -> Option<Vec<u8>> {
        let step = self.step;
        self.step += 1;
        let (client, flags, payload): (bool, u8, Vec<u8>) = match step {
            0 => (true, 2, Vec::new()),
            1 => (false, 18, Vec::new()),
            2 => (true, 16, Vec::new()),
            _ if step >= self.last() => return None,
            _ => match (step - 3) % TURN {
                0 => (true, 24, request(self.number)),
                1 => (false, 16, Vec::new()),
                at if at % 2 == 0 => (false, 16, answer(at == 2)),
                _ => (true, 16, Vec::new()),
            },
        };
        let frame = self.frame(client, flags, &payload);
        let sent = u32::try_from(payload.len()).unwrap_or(0) + u32::from(flags & 2 != 0);
        let seq = if client { &mut self.client_seq } else { &mut self.server_seq };
        *seq = seq.wrapping_add(sent);
        Some(frame)
    }

    fn frame(&self, client: bool, flags: u8, payload: &[u8]) -> Vec<u8> {
        let [_, b, c, d] = self.number.to_be_bytes();
        let ends = [([10, b, c, d], 20_000 + (self.number % 40_000) as u16), ([192, 0, 2, 80], 80)];
        let ((from, from_port), (to, to_port)) =
            if client { (ends[0], ends[1]) } else { (ends[1], ends[0]) };
        let (seq, ack) = if client {
            (self.client_seq, self.server_seq)
        } else {
            (self.server_seq, self.client_seq)
        };
        let options: &[u8] = if flags & 2 != 0 {
            &[2, 4, 5, 180, 1, 3, 3, 7]
        } else {
            &[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 1]
        };
        let header = 20 + options.len();
        let total = u16::try_from(20 + header + payload.len()).unwrap_or(u16::MAX);
        let mut out = Vec::with_capacity(14 + usize::from(total));
        out.extend([2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0]);
        out.extend(total.to_be_bytes());
        // Identifications count the packets of a connection.
        out.extend((self.step as u16).to_be_bytes());
        out.extend([0x40, 0, 64, 6, 0, 0]);
        out.extend(from);
        out.extend(to);
        out.extend(from_port.to_be_bytes());
        out.extend(to_port.to_be_bytes());
        out.extend(seq.to_be_bytes());
        out.extend((if flags & 16 != 0 { ack } else { 0 }).to_be_bytes());
        out.extend([(header as u8 / 4) << 4, flags, 0x20, 0, 0, 0, 0, 0]);
        out.extend(options);
        out.extend(payload);
        out
    }
}

fn request(number: u32) -> Vec<u8> {
    format!("GET /orders/{number} HTTP/1.1\r\nHost: shop.example\r\nAccept: */*\r\n\r\n")
        .into_bytes()
}

/// A packet of a response; the first one contains the head.
fn answer(first: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(SEGMENT);
    if first {
        let head = |bytes: usize| format!("HTTP/1.1 200 OK\r\nContent-Length: {bytes:06}\r\n\r\n");
        let length = SEGMENT * PACKETS as usize - head(0).len();
        out.extend(head(length).into_bytes());
    }
    out.resize(SEGMENT, b'x');
    out
}
