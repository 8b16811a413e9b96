//! The places to read in a round besides the changed places. Each place has its turn, so that none is missing at the
//! other member. After the other member has joined or addresses have moved, all places are read without a pause. Pure.
//!
//! The most places that a round reads, regardless of the size of the tables.

/// Entries that a round reads: one or two milliseconds of work. Tables of the default size take a quarter of a second.
pub const LOOKS: u64 = 1 << 18;

/// Where the next round continues with changes.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScanResumePoint {
    /// The table's position in `ReplicatedTable::ALL`.
    pub table: usize,
    pub entry: u32,
}

/// The position of a scan through all tables.
#[derive(Clone, Copy, Debug, Default)]
pub struct FullScan {
    position: u64,
    /// Entries that should have been read by now.
    owed: f64,
    /// Places until everything was looked at that is to be.
    remaining: u64,
    /// The change at which a round ran out of room. The next round continues there, so that under lasting load every
    /// change is sent.
    pub resume_at: ScanResumePoint,
}

impl FullScan {
    /// Starts a scan of this many entries.
    pub fn restart(&mut self, places: u64) {
        self.remaining = places;
    }

    /// The number of entries that the next round reads, so that each entry is read once in this many rounds.
    pub fn next_round(&mut self, places: u64, rounds: f64) -> u64 {
        self.owed = (self.owed + places as f64 / rounds).min(places as f64);
        (self.owed as u64).max(self.remaining).min(LOOKS).min(places)
    }

    /// The entry at this distance from the current position.
    pub fn place(&self, more: u64, places: u64) -> u64 {
        (self.position + more) % places.max(1)
    }

    /// Advances the position; returns whether the scan is complete.
    pub fn advance(&mut self, looked: u64, places: u64) -> bool {
        self.position = self.place(looked, places);
        self.owed = (self.owed - looked as f64).max(0.0);
        let left = self.remaining.saturating_sub(looked);
        std::mem::replace(&mut self.remaining, left) > 0 && left == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACES: u64 = 3 * LOOKS + 17;

    /// Runs rounds until everything was read, each as far as `most` allows; returns how often each entry was read.
    fn pass(walk: &mut FullScan, most: impl Fn(u64) -> u64) -> (u64, Vec<u32>) {
        let mut looks = vec![0; PLACES as usize];
        walk.restart(PLACES);
        let mut rounds = 0;
        loop {
            rounds += 1;
            let want = walk.next_round(PLACES, 1_500.0);
            assert!(want <= LOOKS, "{want} places in a round");
            let looked = want.min(most(rounds));
            (0..looked).for_each(|more| looks[walk.place(more, PLACES) as usize] += 1);
            if walk.advance(looked, PLACES) {
                return (rounds, looks);
            }
        }
    }

    #[test]
    fn everything_is_looked_at_a_bounded_part_a_round() {
        let mut walk = FullScan::default();
        for _ in 0..5 {
            let want = walk.next_round(PLACES, 1_500.0);
            assert!(!walk.advance(want, PLACES), "nobody asked for everything");
        }
        let (rounds, looks) = pass(&mut walk, |_| LOOKS);
        assert_eq!((rounds, looks.iter().all(|times| *times > 0)), (4, true));
        // Packets end some rounds early, and some before they begin.
        let (rounds, looks) = pass(&mut walk, |round| round % 3 * LOOKS / 4);
        assert_eq!((rounds, looks.iter().all(|times| *times > 0)), (13, true));
    }

    #[test]
    fn each_place_has_its_turn_within_the_rounds_that_are_given() {
        let mut walk = FullScan::default();
        let mut looks = vec![0; PLACES as usize];
        for round in 0..1_500 {
            let want = walk.next_round(PLACES, 1_500.0);
            assert!(want <= PLACES / 1_500 + 1, "round {round}: {want}");
            (0..want).for_each(|more| looks[walk.place(more, PLACES) as usize] += 1);
            walk.advance(want, PLACES);
        }
        assert!(looks.iter().filter(|times| **times == 0).count() <= 1, "but for a fraction");
        assert!(looks.iter().all(|times| *times <= 1));
    }

    #[test]
    fn what_is_owed_is_no_more_than_everything() {
        let mut walk = FullScan::default();
        for _ in 0..9_000 {
            walk.next_round(LOOKS / 2, 1_500.0);
        }
        assert_eq!(walk.next_round(LOOKS / 2, 1_500.0), LOOKS / 2);
        assert_eq!(walk.next_round(0, 1_500.0), 0, "there are no tables");
        assert!(!walk.advance(0, 0));
    }
}
