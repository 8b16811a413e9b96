//! One round of replication: places become records, records fill packets. It decides how much is sent, not when.

use std::sync::Arc;

use ha::keys::ClusterKeys;
use ha::replica::datagram::RecordBatch;
use ha::replica::peer::ReplicaPeer;
use l4::replica::ReplicatedTable;
use model::monotonic_time::MonotonicTime;

use super::full_scan::{FullScan, ScanResumePoint};
use super::record_codec::RecordCodec;

/// Packets of one round; more wait for the next.
/// 64 packets in 20 ms are 37 Mbit/s.
const PACKETS: usize = 64;

/// A round at work.
pub struct SendRound<'a> {
    peer: &'a mut ReplicaPeer,
    codec: &'a mut RecordCodec,
    keys: &'a ClusterKeys,
    batch: RecordBatch,
    packets: Vec<Vec<u8>>,
    now: MonotonicTime,
    tick: u32,
}

impl<'a> SendRound<'a> {
    /// An empty round. `tick`: the packet plane's clock.
    pub fn new(
        partner: &'a mut ReplicaPeer,
        carrier: &'a mut RecordCodec,
        keys: &'a ClusterKeys,
        now: MonotonicTime,
        tick: u32,
    ) -> SendRound<'a> {
        let batch = RecordBatch::default();
        let packets = Vec::new();
        SendRound { peer: partner, codec: carrier, keys, batch, packets, now, tick }
    }

    /// Builds the packets of a round: changes first, then entries of the scan, which covers everything in `rounds`
    /// rounds.
    pub fn build_packets(mut self, walk: &mut FullScan, rounds: f64) -> Vec<Vec<u8>> {
        let whole = self.add_changes(walk);
        let walked = whole && self.add_scanned(walk, rounds);
        self.packets.extend(self.peer.send_batch(self.now, self.batch, self.keys));
        if walked {
            self.peer.finish_full_scan();
        }
        if whole {
            self.peer.note_all_sent(self.now);
        }
        self.packets
    }

    /// Adds changes, from where the last round ran out of room; returns whether that is all.
    fn add_changes(&mut self, walk: &mut FullScan) -> bool {
        if !self.peer.may_send() {
            return false;
        }
        let replica = Arc::clone(&self.codec.tables().replica);
        let ScanResumePoint { table: first, entry: from } = walk.resume_at;
        for more in 0..ReplicatedTable::ALL.len() {
            let at = (first + more) % ReplicatedTable::ALL.len();
            let table = ReplicatedTable::ALL[at];
            let told = replica.take_changes(table, if more == 0 { from } else { 0 }, |place| {
                let fits = self.has_room();
                if fits {
                    self.add_record(table, place);
                }
                fits
            });
            if let Err(entry) = told {
                walk.resume_at = ScanResumePoint { table: at, entry };
                return false;
            }
        }
        true
    }

    /// Adds entries at the scan's position; returns whether everything to be sent was added.
    fn add_scanned(&mut self, walk: &mut FullScan, rounds: f64) -> bool {
        let replica = Arc::clone(&self.codec.tables().replica);
        let sizes = ReplicatedTable::ALL.map(|table| u64::from(replica.places(table)));
        let places = sizes.iter().sum();
        let want = walk.next_round(places, rounds);
        let mut looked = 0;
        while looked < want {
            let (table, place) = to_table_place(sizes, walk.place(looked, places));
            if replica.is_used(table, place) {
                if !self.has_room() || !self.peer.has_room_for_sync() {
                    break;
                }
                self.codec.forget_place(table, place);
                self.add_record(table, place);
            }
            looked += 1;
        }
        walk.advance(looked, places)
    }

    /// Whether another record fits into this round.
    fn has_room(&mut self) -> bool {
        if self.batch.is_full() {
            let batch = std::mem::take(&mut self.batch);
            self.packets.extend(self.peer.send_batch(self.now, batch, self.keys));
        }
        self.packets.len() < PACKETS && self.peer.has_room()
    }

    fn add_record(&mut self, table: ReplicatedTable, place: u32) {
        if let Some(record) = self.codec.read_place(table, place, self.tick)
            && !self.batch.push(to_global_place(table, place), &record)
        {
            // No failure is ignored here: the call counts the record and always returns `None`.
            let _ = self.codec.count_untold("two-families");
        }
    }
}

/// A place of some table as one number.
pub fn to_global_place(table: ReplicatedTable, place: u32) -> u64 {
    (table as u64) << 32 | u64::from(place)
}

/// A place of all tables, one behind the other, as one of a table.
fn to_table_place([flows, records, _]: [u64; 3], at: u64) -> (ReplicatedTable, u32) {
    match at.checked_sub(flows) {
        None => (ReplicatedTable::Flows, at as u32),
        Some(at) if at < records => (ReplicatedTable::Records, at as u32),
        Some(at) => (ReplicatedTable::Sticky, (at - records) as u32),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_all_tables_stand_one_behind_the_other() {
        let sizes = [3, 2, 4];
        let all = (0..9).map(|at| to_table_place(sizes, at));
        let [flows, records, sticky] = ReplicatedTable::ALL;
        let each = [(flows, 3), (records, 2), (sticky, 4)];
        let each =
            each.into_iter().flat_map(|(table, places)| (0..places).map(move |at| (table, at)));
        assert!(all.eq(each));
        assert_eq!(to_global_place(ReplicatedTable::Sticky, 7), 2 << 32 | 7);
    }
}
