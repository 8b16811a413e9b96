//! History as bytes: records of rates and states at a moment, written one after the other, each with its checksum. Pure.
//!
//! A file of history begins with `MAGIC` and holds frames: length, CRC-32 (IEEE 802.3), payload. What a crash left of
//! the last frame ends the file for a reader. It opens no file and decides not when something is kept.

/// The first bytes of a file: name and version.
pub const MAGIC: [u8; 8] = *b"sthist\x00\x01";
/// Bytes of one payload; longer ones are not written and not believed.
pub const PAYLOAD: usize = 4 << 20;
/// Bytes of a row's name.
const NAME: usize = 1_024;
/// Numbers of a row.
pub const NUMBERS: usize = 12;

/// What was at the end of a span of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// The span's end, seconds since 1970.
    pub at: u64,
    /// Its length, seconds.
    pub span: u32,
    /// What was measured, by name.
    pub rows: Vec<Row>,
}

/// One thing that was measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// `service/shop`, `users/shop`, `packets/shop`, `server/web/a`, `process`.
    pub name: String,
    /// The numbers, in the order of the kind that the name begins with.
    pub numbers: Vec<u64>,
}

/// How numbers of several spans come together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merge {
    /// Counts.
    Sum,
    /// Levels: the highest.
    Most,
}

/// What the numbers of a service are.
pub const SERVICE: [(&str, Merge); 9] = [
    ("connections", Merge::Sum),
    ("refused", Merge::Sum),
    ("requests", Merge::Sum),
    ("failed", Merge::Sum),
    ("server-errors", Merge::Sum),
    ("received-bytes", Merge::Sum),
    ("sent-bytes", Merge::Sum),
    ("open", Merge::Most),
    ("slowest-us", Merge::Most),
];

/// What the numbers of a server are; the last ones are milliseconds in each state.
pub const SERVER: [(&str, Merge); 9] = [
    ("requests", Merge::Sum),
    ("connect-failed", Merge::Sum),
    ("server-errors", Merge::Sum),
    ("in-flight", Merge::Most),
    ("up-ms", Merge::Sum),
    ("down-ms", Merge::Sum),
    ("unknown-ms", Merge::Sum),
    ("drain-ms", Merge::Sum),
    ("disabled-ms", Merge::Sum),
];

/// What the numbers of a service that forwards packets are. Bytes are those of clients and of servers.
pub const PACKETS: [(&str, Merge); 7] = [
    ("packets", Merge::Sum),
    ("dropped", Merge::Sum),
    ("connections", Merge::Sum),
    ("received-bytes", Merge::Sum),
    ("sent-bytes", Merge::Sum),
    ("open", Merge::Most),
    ("half-open", Merge::Most),
];

/// What the numbers of a service's users are: operations by how they ended, and errors of TCP by kind.
pub const USERS: [(&str, Merge); 12] = [
    ("fast", Merge::Sum),
    ("slow", Merge::Sum),
    ("failed", Merge::Sum),
    ("left", Merge::Sum),
    ("refused-by-server", Merge::Sum),
    ("refused-by-us", Merge::Sum),
    ("timed-out", Merge::Sum),
    ("aborted-by-client", Merge::Sum),
    ("aborted-by-server", Merge::Sum),
    ("aborted-by-us", Merge::Sum),
    ("silent-client", Merge::Sum),
    ("silent-server", Merge::Sum),
];

/// What the numbers of the process are.
pub const PROCESS: [(&str, Merge); 3] =
    [("resident-bytes", Merge::Most), ("descriptors", Merge::Most), ("connections", Merge::Most)];

/// What the numbers of a row are; empty for a kind that is not known.
pub fn kinds(name: &str) -> &'static [(&'static str, Merge)] {
    match name.split('/').next() {
        Some("service") => &SERVICE,
        Some("server") => &SERVER,
        Some("packets") => &PACKETS,
        Some("process") => &PROCESS,
        Some("users") => &USERS,
        _ => &[],
    }
}

/// Takes another span's numbers of the same thing in.
pub fn merge(into: &mut Row, other: &Row) {
    let kinds = kinds(&into.name);
    for (at, number) in other.numbers.iter().enumerate() {
        match (into.numbers.get_mut(at), kinds.get(at)) {
            (Some(mine), Some((_, Merge::Most))) => *mine = (*mine).max(*number),
            (Some(mine), _) => *mine = mine.saturating_add(*number),
            (None, _) => into.numbers.push(*number),
        }
    }
}

/// A record as a frame; `None`: it is too large.
pub fn frame(record: &Record) -> Option<Vec<u8>> {
    let mut payload = Vec::with_capacity(record.rows.len() * 32 + 16);
    number(record.at, &mut payload);
    number(u64::from(record.span), &mut payload);
    number(record.rows.len() as u64, &mut payload);
    for row in &record.rows {
        if row.name.len() > NAME || row.numbers.len() > NUMBERS {
            return None;
        }
        number(row.name.len() as u64, &mut payload);
        payload.extend_from_slice(row.name.as_bytes());
        number(row.numbers.len() as u64, &mut payload);
        row.numbers.iter().for_each(|value| number(*value, &mut payload));
    }
    if payload.len() > PAYLOAD {
        return None;
    }
    let mut out = Vec::with_capacity(payload.len() + 8);
    out.extend_from_slice(&u32::try_from(payload.len()).ok()?.to_le_bytes());
    out.extend_from_slice(&checksum(&payload).to_le_bytes());
    out.extend_from_slice(&payload);
    Some(out)
}

/// What could be read of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Its records, in order.
    pub records: Vec<Record>,
    /// Bytes behind the last good frame.
    pub torn: usize,
}

/// Reads a file up to its first damage; records of moments before `since` are left out.
pub fn read(bytes: &[u8], since: u64) -> Reading {
    let Some(mut rest) = bytes.strip_prefix(&MAGIC) else {
        return Reading { records: Vec::new(), torn: bytes.len() };
    };
    let mut records = Vec::new();
    while let Some((record, behind)) = one(rest) {
        if record.at >= since {
            records.push(record);
        }
        rest = behind;
    }
    Reading { records, torn: rest.len() }
}

fn one(bytes: &[u8]) -> Option<(Record, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (sum, rest) = rest.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok().filter(|it| *it <= PAYLOAD)?;
    let (payload, rest) = (rest.get(..length)?, rest.get(length..)?);
    if checksum(payload) != u32::from_le_bytes(*sum) {
        return None;
    }
    Some((parse(payload)?, rest))
}

fn parse(payload: &[u8]) -> Option<Record> {
    let mut from = payload;
    let at = take(&mut from)?;
    let span = u32::try_from(take(&mut from)?).ok()?;
    let count = take(&mut from)?;
    let mut rows = Vec::new();
    for _ in 0..count {
        let length = usize::try_from(take(&mut from)?).ok().filter(|it| *it <= NAME)?;
        let name = std::str::from_utf8(from.get(..length)?).ok()?.to_owned();
        from = from.get(length..)?;
        let many = take(&mut from).filter(|it| *it <= NUMBERS as u64)?;
        let numbers = (0..many).map(|_| take(&mut from)).collect::<Option<Vec<u64>>>()?;
        rows.push(Row { name, numbers });
    }
    from.is_empty().then_some(Record { at, span, rows })
}

/// A number in base 128, the lowest digits first; all but the last byte have their highest bit set.
fn number(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn take(from: &mut &[u8]) -> Option<u64> {
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

const TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
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

/// CRC-32 as of IEEE 802.3.
fn checksum(bytes: &[u8]) -> u32 {
    let step = |sum: u32, byte: &u8| sum >> 8 ^ TABLE[usize::from(sum as u8 ^ byte)];
    !bytes.iter().fold(u32::MAX, step)
}

#[cfg(test)]
mod tests;
