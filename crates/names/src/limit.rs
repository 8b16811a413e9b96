//! How often one network of clients is answered over UDP, so that nobody can be flooded through us.
//!
//! For each network and kind of answer a debt is kept as a time (GCRA): each answer adds its share of a second, and who is
//! more than a second ahead is refused. The table never grows: a network that finds its row full takes the place of the
//! one that was silent longest.

use std::net::IpAddr;

use model::moment::Moment;

use super::chance::mix;

/// Networks that are remembered at a time, by each thread.
const SLOTS: usize = 32_768;
/// Places that one network may take.
const WAYS: usize = 4;
const _: () = assert!(SLOTS.is_multiple_of(WAYS));
/// How far ahead a network may be: a second's worth at once.
const BURST_NANOS: u64 = 1_000_000_000;
/// Bits of an IPv4 client that count.
pub const MASK4: u8 = 24;
/// Bits of an IPv6 client that count.
pub const MASK6: u8 = 56;

/// What kind of answer it is: floods of one kind leave the others alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// With records.
    Data,
    /// Without: no such name, or nothing of that type.
    Nothing,
    /// A refusal or an error.
    Error,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Answer.
    Pass,
    /// Say that it should come over TCP: who lied about its address cannot.
    Slip,
    /// Say nothing.
    Drop,
}

/// The table.
#[derive(Debug)]
pub struct Limiter {
    slots: Vec<Slot>,
    seed: u64,
    over: u32,
    /// Networks that took the place of one that still had a debt.
    pub crowded: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    key: u64,
    /// When its debt is paid, nanoseconds.
    paid: u64,
}

impl Limiter {
    /// An empty one; `seed` hides which networks share a row.
    pub fn new(seed: u64) -> Limiter {
        Limiter { slots: Vec::new(), seed, over: 0, crowded: 0 }
    }

    /// One more answer to this client. `rate`: answers a second; `slip`: one in so many above it is told.
    pub fn ask(
        &mut self,
        client: IpAddr,
        class: Class,
        now: Moment,
        (rate, slip): (u32, Option<u32>),
    ) -> Verdict {
        if self.slots.is_empty() {
            self.slots = vec![Slot::default(); SLOTS];
        }
        let key = mix(network(client) ^ mix(self.seed ^ class as u64)).max(1);
        let row = (key as usize % (SLOTS / WAYS)) * WAYS;
        let Some(row) = self.slots.get_mut(row..row + WAYS) else { return Verdict::Pass };
        let at = match row.iter().position(|slot| slot.key == key) {
            Some(at) => at,
            None => {
                let oldest = row.iter().enumerate().min_by_key(|(_, slot)| slot.paid);
                let at = oldest.map_or(0, |(at, _)| at);
                self.crowded += u64::from(row[at].paid > now.0);
                row[at] = Slot { key, paid: now.0 };
                at
            }
        };
        let slot = &mut row[at];
        let paid = slot.paid.max(now.0);
        if paid - now.0 >= BURST_NANOS {
            self.over = self.over.wrapping_add(1);
            return match slip {
                Some(slip) if self.over.is_multiple_of(slip) => Verdict::Slip,
                _ => Verdict::Drop,
            };
        }
        slot.paid = paid + BURST_NANOS / u64::from(rate.max(1));
        Verdict::Pass
    }
}

/// The bits of a client that count, as a number.
fn network(client: IpAddr) -> u64 {
    match client.to_canonical() {
        IpAddr::V4(v4) => u64::from(v4.to_bits() >> (32 - MASK4)),
        // No IPv4 network reaches these numbers.
        IpAddr::V6(v6) => (v6.to_bits() >> (128 - MASK6)) as u64 | 1 << 63,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_network_gets_its_rate_and_others_are_left_alone() {
        let mut limiter = Limiter::new(1);
        let mut ask = |client: &str, class, at: u64| {
            limiter.ask(ip(client), class, Moment(at), (10, Some(2)))
        };
        let start = 5_000_000_000;
        for host in 0..10 {
            assert_eq!(ask(&format!("192.0.2.{host}"), Class::Data, start), Verdict::Pass);
        }
        assert_eq!(ask("192.0.2.77", Class::Data, start), Verdict::Drop);
        assert_eq!(ask("192.0.2.77", Class::Data, start), Verdict::Slip);
        assert_eq!(ask("192.0.2.77", Class::Nothing, start), Verdict::Pass);
        assert_eq!(ask("192.0.3.1", Class::Data, start), Verdict::Pass);
        assert_eq!(ask("2001:db8::1", Class::Data, start), Verdict::Pass);
        // A tenth of a second pays for one.
        let later = start + 100_000_000;
        assert_eq!(ask("192.0.2.1", Class::Data, later), Verdict::Pass);
        assert_ne!(ask("192.0.2.1", Class::Data, later), Verdict::Pass);
    }

    #[test]
    fn over_ten_seconds_it_is_the_rate_and_one_burst() {
        let mut limiter = Limiter::new(7);
        let begin = Moment(1);
        let passed = (0..100_000u64)
            .filter(|at| {
                let now = begin + Duration::from_micros(100 * at);
                limiter.ask(ip("2001:db8::1"), Class::Error, now, (50, None)) == Verdict::Pass
            })
            .count();
        assert!((545..=552).contains(&passed), "{passed}");
    }

    #[test]
    fn a_flood_of_networks_takes_no_more_memory_and_is_counted() {
        let mut limiter = Limiter::new(3);
        for net in 0..200_000u32 {
            let client = IpAddr::V4((net << 8).into());
            assert_eq!(limiter.ask(client, Class::Data, Moment(9), (1, None)), Verdict::Pass);
        }
        assert_eq!(limiter.slots.len(), SLOTS);
        assert!(limiter.crowded > 100_000, "{}", limiter.crowded);
    }
}
