//! The number of connections of each client, recounted by the sweep, because the datapath only adds new ones. Pure,
//! except for the table in shared memory.

use bpf::MappedArray;

use crate::abi;

/// Words of a bucket: as many hashes as words.
const BUCKET: usize = 2 * abi::WAYS_IN_BUCKET as usize;
/// Ticks after which an entry without an update expires even if it has connections: several sweeps.
/// At 0.27 s a tick, 11 s.
const RETENTION_TICKS: u32 = 40;
/// Attempts at an entry that the datapath changes at the same time: bounds the wait.
const TRIES: u32 = 8;
/// The bits of an owner note that name the client: 1 + its entry.
const PLACE: u32 = 0xf_ffff;

/// A client of the table and its connections.
#[derive(Clone, Copy, Debug)]
struct TrackedClient {
    /// The position of its word in the table.
    word: usize,
    /// The low half of its word when the sweep began: its connections.
    before: u32,
    /// Connections found since the sweep began.
    held: u32,
}

/// Clients with their counts when the sweep began, and the connections found since.
#[derive(Debug, Default)]
pub struct ClientConnections {
    /// By entry; `None` for free entries.
    clients: Vec<Option<TrackedClient>>,
    any: bool,
}

impl ClientConnections {
    /// Reads the clients in the table.
    pub fn from_table(table: &MappedArray) -> ClientConnections {
        let mut clients = ClientConnections::default();
        for bucket in (0..table.word_count()).step_by(BUCKET) {
            for at in bucket..bucket + BUCKET / 2 {
                let word = at + BUCKET / 2;
                let client = (table.load(at) > 1).then(|| TrackedClient {
                    word,
                    before: table.load(word) as u32,
                    held: 0,
                });
                clients.any |= client.is_some();
                clients.clients.push(client);
            }
        }
        clients
    }

    pub fn is_empty(&self) -> bool {
        !self.any
    }

    /// Counts a connection with this owner note.
    pub fn count_connection(&mut self, note: u32) {
        let entry = ((note & PLACE) as usize).checked_sub(1);
        if let Some(Some(client)) = entry.and_then(|entry| self.clients.get_mut(entry)) {
            client.held += 1;
        }
    }

    /// Writes the counts, plus the connections added during the sweep.
    pub fn write_counts(&self, table: &MappedArray, tick: u32) {
        for TrackedClient { word, before, held } in self.clients.iter().flatten() {
            for _ in 0..TRIES {
                let old = table.load(*word);
                if table.compare_exchange(*word, old, corrected_word(old, *before, *held, tick)) {
                    break;
                }
            }
        }
    }
}

/// The new word of a client with `before` connections at the start of the sweep and `held` counted connections.
fn corrected_word(old: u64, before: u32, held: u32, tick: u32) -> u64 {
    let entered = (old as u32).wrapping_sub(before);
    // Less than before: the entry has become another client's.
    let entered = if entered > u32::MAX / 2 { 0 } else { entered };
    let now = held.saturating_add(entered);
    let upper_half = old & !u64::from(u32::MAX) | u64::from(now);
    if now == 0 {
        return upper_half;
    }
    u64::from(tick.wrapping_add(RETENTION_TICKS)) << 40 | upper_half & ((1 << 40) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(deadline: u64, tag: u64, count: u64) -> u64 {
        deadline << 40 | tag << 32 | count
    }

    #[test]
    fn connections_added_during_the_count_stay() {
        let rows = [
            ("the same", word(50, 7, 3), 3, 3, word(140, 7, 3)),
            ("two ended", word(50, 7, 3), 3, 1, word(140, 7, 1)),
            ("one began meanwhile", word(50, 7, 4), 3, 3, word(140, 7, 4)),
            ("all ended: its time runs out", word(50, 7, 3), 3, 0, word(50, 7, 0)),
            ("another's by now", word(50, 8, 1), 9, 9, word(140, 8, 9)),
        ];
        for (text, old, before, held, new) in rows {
            assert_eq!(corrected_word(old, before, held, 100), new, "{text}");
        }
        assert_eq!(
            corrected_word(word(0, 1, 1), 1, 1, 0xff_ffff) >> 40,
            39,
            "deadlines have 24 bits"
        );
    }
}
