//! Round trips by the spin bit (RFC 9000 §17.4, RFC 9312 §3.8.2): while packets flow, it changes once a round trip.
//!
//! Ends may leave it out, and then set it at random or always alike. What changes with every few packets is taken for
//! random; the shortest time between two changes is what is told, since a pause of the sender makes others longer.

/// The spin bits of one direction.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpinTracker {
    value: Option<bool>,
    edge_ns: Option<i64>,
    packets: u64,
    edges: u64,
    shortest_ns: Option<i64>,
}

/// Changes that show a round trip.
const MIN_EDGES: u64 = 4;
/// Packets between two changes, on average, below which the bits are random: two are expected of random ones.
const MIN_PACKETS_AN_EDGE: u64 = 4;

impl SpinTracker {
    pub fn add(&mut self, value: bool, time_ns: i64) {
        self.packets += 1;
        if self.value.replace(value).is_none_or(|before| before == value) {
            return;
        }
        self.edges += 1;
        if let Some(before_ns) = self.edge_ns.replace(time_ns) {
            let between_ns = time_ns - before_ns;
            self.shortest_ns = Some(self.shortest_ns.map_or(between_ns, |ns| ns.min(between_ns)));
        }
    }

    /// The shortest round trip, nanoseconds. `None`: the bit does not show one.
    pub fn round_trip_ns(&self) -> Option<i64> {
        let shown = self.edges >= MIN_EDGES
            && self.packets >= self.edges.saturating_mul(MIN_PACKETS_AN_EDGE);
        self.shortest_ns.filter(|_| shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bit_that_changes_each_round_trip_shows_it() {
        let mut spin = SpinTracker::default();
        for packet in 0..100_i64 {
            spin.add((packet / 10) % 2 == 1, packet * 5);
        }
        assert_eq!(spin.round_trip_ns(), Some(50));
    }

    #[test]
    fn bits_that_are_random_or_always_alike_show_nothing() {
        let mut alike = SpinTracker::default();
        let mut random = SpinTracker::default();
        let mut state = 1_u32;
        for packet in 0..1_000 {
            alike.add(true, packet);
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            random.add(state & 0x8000_0000 != 0, packet);
        }
        assert_eq!(alike.round_trip_ns(), None);
        assert_eq!(random.round_trip_ns(), None);
    }
}
