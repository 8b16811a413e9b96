//! What one round tells: places become records, records fill packets. It decides how much is told, and nothing of when.

use std::sync::Arc;

use ha::keys::Keys;
use ha::replica::datagram::Batch;
use ha::replica::partner::Partner;
use l4::replica::Table;
use model::moment::Moment;

use super::carry::Carrier;
use super::walk::Walk;

/// Packets of one round; more wait for the next.
const PACKETS: usize = 64;

/// A round at work.
pub struct Telling<'a> {
    partner: &'a mut Partner,
    carrier: &'a mut Carrier,
    keys: &'a Keys,
    batch: Batch,
    packets: Vec<Vec<u8>>,
    now: Moment,
    tick: u32,
}

impl<'a> Telling<'a> {
    /// Nothing is told yet. `tick`: the plane's clock.
    pub fn new(
        partner: &'a mut Partner,
        carrier: &'a mut Carrier,
        keys: &'a Keys,
        (now, tick): (Moment, u32),
    ) -> Telling<'a> {
        let (batch, packets) = (Batch::default(), Vec::new());
        Telling { partner, carrier, keys, batch, packets, now, tick }
    }

    /// What is to be sent: what changed, and then what `walk` comes to, in `rounds` rounds everything.
    pub fn told(mut self, walk: &mut Walk, rounds: f64) -> Vec<Vec<u8>> {
        let whole = self.changes(walk);
        let walked = whole && self.walk(walk, rounds);
        self.packets.extend(self.partner.send(self.now, self.batch, self.keys));
        if walked {
            self.partner.noted();
        }
        if whole {
            self.partner.emptied(self.now);
        }
        self.packets
    }

    /// Tells what changed, from where the last round had no more room; whether that is all.
    fn changes(&mut self, walk: &mut Walk) -> bool {
        if !self.partner.may_send() {
            return false;
        }
        let replica = Arc::clone(&self.carrier.tables().replica);
        let (first, from) = walk.full;
        for more in 0..Table::ALL.len() {
            let at = (first + more) % Table::ALL.len();
            let table = Table::ALL[at];
            let told = replica.changes(table, if more == 0 { from } else { 0 }, |place| {
                let fits = self.fits();
                if fits {
                    self.tell(table, place);
                }
                fits
            });
            if let Err(place) = told {
                walk.full = (at, place);
                return false;
            }
        }
        true
    }

    /// Tells what stands where the walk comes by; whether everything that was to be told has been.
    fn walk(&mut self, walk: &mut Walk, rounds: f64) -> bool {
        let replica = Arc::clone(&self.carrier.tables().replica);
        let sizes = Table::ALL.map(|table| u64::from(replica.places(table)));
        let places = sizes.iter().sum();
        let want = walk.round(places, rounds);
        let mut looked = 0;
        while looked < want {
            let (table, place) = standing(sizes, walk.place(looked, places));
            if replica.is_used(table, place) {
                if !self.fits() || !self.partner.has_room_for_old() {
                    break;
                }
                self.carrier.forget_place(table, place);
                self.tell(table, place);
            }
            looked += 1;
        }
        walk.went(looked, places)
    }

    /// Whether another record may be told in this round.
    fn fits(&mut self) -> bool {
        if self.batch.is_full() {
            let batch = std::mem::take(&mut self.batch);
            self.packets.extend(self.partner.send(self.now, batch, self.keys));
        }
        self.packets.len() < PACKETS && self.partner.has_room()
    }

    fn tell(&mut self, table: Table, place: u32) {
        if let Some(record) = self.carrier.read(table, place, self.tick)
            && !self.batch.push(place_of(table, place), &record)
        {
            let _ = self.carrier.cannot("two-families");
        }
    }
}

/// A place of some table as one number.
pub fn place_of(table: Table, place: u32) -> u64 {
    (table as u64) << 32 | u64::from(place)
}

/// A place of all tables, one behind the other, as one of a table.
fn standing([flows, records, _]: [u64; 3], at: u64) -> (Table, u32) {
    match at.checked_sub(flows) {
        None => (Table::Flows, at as u32),
        Some(at) if at < records => (Table::Records, at as u32),
        Some(at) => (Table::Sticky, (at - records) as u32),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_all_tables_stand_one_behind_the_other() {
        let sizes = [3, 2, 4];
        let all = (0..9).map(|at| standing(sizes, at));
        let [flows, records, sticky] = Table::ALL;
        let each = [(flows, 3), (records, 2), (sticky, 4)];
        let each =
            each.into_iter().flat_map(|(table, places)| (0..places).map(move |at| (table, at)));
        assert!(all.eq(each));
        assert_eq!(place_of(Table::Sticky, 7), 2 << 32 | 7);
    }
}
