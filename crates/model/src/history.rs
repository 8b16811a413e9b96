//! The history file format: records of rates and states at a moment, one after the other, each with its checksum. Pure.
//!
//! A history file begins with `MAGIC` and holds frames: length, CRC-32 (IEEE 802.3), payload. A frame that a crash
//! truncated ends the file for a reader. This module opens no file and does not decide when a record is written.

/// The first bytes of a file: name and version.
pub const MAGIC: [u8; 8] = *b"sthist\x00\x01";
/// Bytes of one payload; longer ones are neither written nor read. Bounds the memory of a reader.
/// 20,000 rows with names and 12 numbers fit.
pub const MAX_PAYLOAD: usize = 4 << 20;
/// Bytes of a row's name: bounds the memory of a reader.
const MAX_NAME: usize = 1_024;
/// Numbers of a row: the columns of the widest kind.
pub const MAX_NUMBERS: usize = 12;

/// The state at the end of a span of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryRecord {
    /// The span's end, seconds since 1970.
    pub at: u64,
    pub span: u32,
    pub rows: Vec<MetricRow>,
}

/// The measurements of one object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetricRow {
    /// `service/shop`, `users/shop`, `packets/shop`, `server/web/a`, `process`.
    pub name: String,
    /// In the order of the columns of the kind that the name begins with.
    pub numbers: Vec<u64>,
}

/// How numbers of several spans are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeRule {
    Sum,
    Max,
}

/// A number that rows of one kind have, and how it is merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricColumn {
    pub name: &'static str,
    pub merge: MergeRule,
}

const fn column(name: &'static str, merge: MergeRule) -> MetricColumn {
    MetricColumn { name, merge }
}

/// Columns of a service.
pub const SERVICE: [MetricColumn; 9] = [
    column("connections", MergeRule::Sum),
    column("refused", MergeRule::Sum),
    column("requests", MergeRule::Sum),
    column("failed", MergeRule::Sum),
    column("server-errors", MergeRule::Sum),
    column("received-bytes", MergeRule::Sum),
    column("sent-bytes", MergeRule::Sum),
    column("open", MergeRule::Max),
    column("slowest-us", MergeRule::Max),
];

/// Columns of a server; the last ones are milliseconds in each state.
pub const SERVER: [MetricColumn; 9] = [
    column("requests", MergeRule::Sum),
    column("connect-failed", MergeRule::Sum),
    column("server-errors", MergeRule::Sum),
    column("in-flight", MergeRule::Max),
    column("up-ms", MergeRule::Sum),
    column("down-ms", MergeRule::Sum),
    column("unknown-ms", MergeRule::Sum),
    column("drain-ms", MergeRule::Sum),
    column("disabled-ms", MergeRule::Sum),
];

/// Columns of a service that forwards packets. Bytes are those of clients and of servers.
pub const PACKETS: [MetricColumn; 7] = [
    column("packets", MergeRule::Sum),
    column("dropped", MergeRule::Sum),
    column("connections", MergeRule::Sum),
    column("received-bytes", MergeRule::Sum),
    column("sent-bytes", MergeRule::Sum),
    column("open", MergeRule::Max),
    column("half-open", MergeRule::Max),
];

/// Columns of a service's SLO: operations by how they ended, and TCP errors by kind.
pub const USERS: [MetricColumn; 12] = [
    column("fast", MergeRule::Sum),
    column("slow", MergeRule::Sum),
    column("failed", MergeRule::Sum),
    column("aborted", MergeRule::Sum),
    column("refused-by-server", MergeRule::Sum),
    column("refused-by-balancer", MergeRule::Sum),
    column("timed-out", MergeRule::Sum),
    column("aborted-by-client", MergeRule::Sum),
    column("aborted-by-server", MergeRule::Sum),
    column("aborted-by-balancer", MergeRule::Sum),
    column("silent-client", MergeRule::Sum),
    column("silent-server", MergeRule::Sum),
];

pub const PROCESS: [MetricColumn; 3] = [
    column("resident-bytes", MergeRule::Max),
    column("descriptors", MergeRule::Max),
    column("connections", MergeRule::Max),
];

/// The columns of a row; empty for an unknown kind.
pub fn columns(name: &str) -> &'static [MetricColumn] {
    match name.split('/').next() {
        Some("service") => &SERVICE,
        Some("server") => &SERVER,
        Some("packets") => &PACKETS,
        Some("process") => &PROCESS,
        Some("users") => &USERS,
        _ => &[],
    }
}

/// Merges another span's numbers of the same object.
pub fn merge_rows(into: &mut MetricRow, other: &MetricRow) {
    let kinds = columns(&into.name);
    for (at, number) in other.numbers.iter().enumerate() {
        match (into.numbers.get_mut(at), kinds.get(at)) {
            (Some(mine), Some(MetricColumn { merge: MergeRule::Max, .. })) => {
                *mine = (*mine).max(*number)
            }
            (Some(mine), _) => *mine = mine.saturating_add(*number),
            (None, _) => into.numbers.push(*number),
        }
    }
}

/// A record as a frame; `None`: it is too large.
pub fn encode_frame(record: &HistoryRecord) -> Option<Vec<u8>> {
    let mut payload = Vec::with_capacity(record.rows.len() * 32 + 16);
    write_number(record.at, &mut payload);
    write_number(u64::from(record.span), &mut payload);
    write_number(record.rows.len() as u64, &mut payload);
    for row in &record.rows {
        if row.name.len() > MAX_NAME || row.numbers.len() > MAX_NUMBERS {
            return None;
        }
        write_number(row.name.len() as u64, &mut payload);
        payload.extend_from_slice(row.name.as_bytes());
        write_number(row.numbers.len() as u64, &mut payload);
        row.numbers.iter().for_each(|value| write_number(*value, &mut payload));
    }
    if payload.len() > MAX_PAYLOAD {
        return None;
    }
    let mut out = Vec::with_capacity(payload.len() + 8);
    out.extend_from_slice(&u32::try_from(payload.len()).ok()?.to_le_bytes());
    out.extend_from_slice(&checksum(&payload).to_le_bytes());
    out.extend_from_slice(&payload);
    Some(out)
}

/// The readable part of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecodedHistory {
    pub records: Vec<HistoryRecord>,
    /// Bytes after the last good frame.
    pub damaged_bytes: usize,
}

/// Reads a file up to its first damage; records from before `since` are left out.
pub fn read_records(bytes: &[u8], since: u64) -> DecodedHistory {
    let Some(mut rest) = bytes.strip_prefix(&MAGIC) else {
        return DecodedHistory { records: Vec::new(), damaged_bytes: bytes.len() };
    };
    let mut records = Vec::new();
    while let Some((record, behind)) = read_record(rest) {
        if record.at >= since {
            records.push(record);
        }
        rest = behind;
    }
    DecodedHistory { records, damaged_bytes: rest.len() }
}

fn read_record(bytes: &[u8]) -> Option<(HistoryRecord, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (sum, rest) = rest.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_le_bytes(*length))
        .ok()
        .filter(|length| *length <= MAX_PAYLOAD)?;
    let payload = rest.get(..length)?;
    let rest = rest.get(length..)?;
    if checksum(payload) != u32::from_le_bytes(*sum) {
        return None;
    }
    Some((parse_record(payload)?, rest))
}

fn parse_record(payload: &[u8]) -> Option<HistoryRecord> {
    let mut from = payload;
    let at = read_number(&mut from)?;
    let span = u32::try_from(read_number(&mut from)?).ok()?;
    let count = read_number(&mut from)?;
    let mut rows = Vec::new();
    for _ in 0..count {
        let length =
            usize::try_from(read_number(&mut from)?).ok().filter(|length| *length <= MAX_NAME)?;
        let name = std::str::from_utf8(from.get(..length)?).ok()?.to_owned();
        from = from.get(length..)?;
        let many = read_number(&mut from).filter(|count| *count <= MAX_NUMBERS as u64)?;
        let numbers = (0..many).map(|_| read_number(&mut from)).collect::<Option<Vec<u64>>>()?;
        rows.push(MetricRow { name, numbers });
    }
    from.is_empty().then_some(HistoryRecord { at, span, rows })
}

/// A number in base 128, the lowest digits first; all but the last byte have their highest bit set (LEB128).
fn write_number(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn read_number(from: &mut &[u8]) -> Option<u64> {
    let mut value: u64 = 0;
    for at in 0..10 {
        let (byte, rest) = from.split_first()?;
        *from = rest;
        let digits = u64::from(byte & 0x7f);
        if at == 9 && digits > 1 {
            return None;
        }
        value |= digits << (7 * at);
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

const TABLE: [u32; 256] = crc_table();

const fn crc_table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        let mut value = at as u32;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 { value >> 1 ^ 0xEDB8_8320 } else { value >> 1 };
            bit += 1;
        }
        table[at] = value;
        at += 1;
    }
    table
}

fn checksum(bytes: &[u8]) -> u32 {
    let step = |sum: u32, byte: &u8| sum >> 8 ^ TABLE[usize::from(sum as u8 ^ byte)];
    !bytes.iter().fold(u32::MAX, step)
}

#[cfg(test)]
mod tests;
