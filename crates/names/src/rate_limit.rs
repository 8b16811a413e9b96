//! Response rate limiting over UDP for each network of clients, so that spoofed queries cannot flood a victim through
//! us.
//!
//! GCRA: for each network and class of answer a time is stored. Each answer adds its share of a second, and a network
//! more than a second ahead is limited. The table never grows: a network whose row is full replaces the one that was
//! silent longest.

use std::net::IpAddr;

use model::monotonic_time::MonotonicTime;

use super::turn_order::mix;

/// Networks that each thread remembers: bounds its memory.
const SLOTS: usize = 32_768;
/// Slots in the row of a network.
const SLOTS_PER_NETWORK: usize = 4;
const _: () = assert!(SLOTS.is_multiple_of(SLOTS_PER_NETWORK));
/// How far ahead a network may be: one second's answers may come at once.
const BURST_NANOS: u64 = 1_000_000_000;
/// Prefix length by which IPv4 clients are grouped.
/// The prefix that RFC 7871 §11.1 recommends.
pub const MASK4: u8 = 24;
/// Prefix length by which IPv6 clients are grouped.
/// The prefix that RFC 7871 §11.1 recommends.
pub const MASK6: u8 = 56;

/// The class of an answer: a flood of one class does not limit the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerClass {
    Data,
    /// No such name, or no records of that type.
    Nothing,
    /// A refusal or an error.
    Error,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateDecision {
    Pass,
    /// Reply with TC, so that the client uses TCP: a spoofed address cannot.
    Slip,
    Drop,
}

#[derive(Debug)]
pub struct RateLimiter {
    slots: Vec<RateSlot>,
    seed: u64,
    over_limit: u32,
    /// Networks that replaced one which was above its rate.
    pub evicted_networks: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct RateSlot {
    key: u64,
    /// When the network's rate is back below its limit, in nanoseconds.
    debt_paid_at: u64,
}

/// How many answers a client network gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerRate {
    /// Answers a second.
    pub rate: u32,
    /// One answer in this many above the rate is a TC reply; `None`: none is.
    pub slip: Option<u32>,
}

impl RateLimiter {
    /// An empty table; `seed` hides which networks share a row.
    pub fn new(seed: u64) -> RateLimiter {
        RateLimiter { slots: Vec::new(), seed, over_limit: 0, evicted_networks: 0 }
    }

    /// Counts one more answer to this client.
    pub fn check_rate(
        &mut self,
        client: IpAddr,
        class: AnswerClass,
        now: MonotonicTime,
        limit: AnswerRate,
    ) -> RateDecision {
        if self.slots.is_empty() {
            self.slots = vec![RateSlot::default(); SLOTS];
        }
        let key = mix(network_key(client) ^ mix(self.seed ^ class as u64)).max(1);
        let row = (key as usize % (SLOTS / SLOTS_PER_NETWORK)) * SLOTS_PER_NETWORK;
        let Some(row) = self.slots.get_mut(row..row + SLOTS_PER_NETWORK) else {
            return RateDecision::Pass;
        };
        let at = match row.iter().position(|slot| slot.key == key) {
            Some(at) => at,
            None => {
                let oldest = row.iter().enumerate().min_by_key(|(_, slot)| slot.debt_paid_at);
                let at = oldest.map_or(0, |(at, _)| at);
                self.evicted_networks += u64::from(row[at].debt_paid_at > now.0);
                row[at] = RateSlot { key, debt_paid_at: now.0 };
                at
            }
        };
        let slot = &mut row[at];
        let paid = slot.debt_paid_at.max(now.0);
        if paid - now.0 >= BURST_NANOS {
            self.over_limit = self.over_limit.wrapping_add(1);
            return match limit.slip {
                Some(slip) if self.over_limit.is_multiple_of(slip) => RateDecision::Slip,
                _ => RateDecision::Drop,
            };
        }
        slot.debt_paid_at = paid + BURST_NANOS / u64::from(limit.rate.max(1));
        RateDecision::Pass
    }
}

/// The network of a client as a number.
fn network_key(client: IpAddr) -> u64 {
    match client.to_canonical() {
        IpAddr::V4(v4) => u64::from(v4.to_bits() >> (32 - MASK4)),
        // No key of an IPv4 network reaches this bit.
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
        let mut limiter = RateLimiter::new(1);
        let mut ask = |client: &str, class, at: u64| {
            limiter.check_rate(
                ip(client),
                class,
                MonotonicTime(at),
                AnswerRate { rate: 10, slip: Some(2) },
            )
        };
        let start = 5_000_000_000;
        for host in 0..10 {
            assert_eq!(
                ask(&format!("192.0.2.{host}"), AnswerClass::Data, start),
                RateDecision::Pass
            );
        }
        assert_eq!(ask("192.0.2.77", AnswerClass::Data, start), RateDecision::Drop);
        assert_eq!(ask("192.0.2.77", AnswerClass::Data, start), RateDecision::Slip);
        assert_eq!(ask("192.0.2.77", AnswerClass::Nothing, start), RateDecision::Pass);
        assert_eq!(ask("192.0.3.1", AnswerClass::Data, start), RateDecision::Pass);
        assert_eq!(ask("2001:db8::1", AnswerClass::Data, start), RateDecision::Pass);
        // A tenth of a second pays for one answer.
        let later = start + 100_000_000;
        assert_eq!(ask("192.0.2.1", AnswerClass::Data, later), RateDecision::Pass);
        assert_ne!(ask("192.0.2.1", AnswerClass::Data, later), RateDecision::Pass);
    }

    #[test]
    fn over_ten_seconds_it_is_the_rate_and_one_burst() {
        let mut limiter = RateLimiter::new(7);
        let begin = MonotonicTime(1);
        let passed = (0..100_000u64)
            .filter(|at| {
                let now = begin + Duration::from_micros(100 * at);
                limiter.check_rate(
                    ip("2001:db8::1"),
                    AnswerClass::Error,
                    now,
                    AnswerRate { rate: 50, slip: None },
                ) == RateDecision::Pass
            })
            .count();
        assert!((545..=552).contains(&passed), "{passed}");
    }

    #[test]
    fn a_flood_of_networks_takes_no_more_memory_and_is_counted() {
        let mut limiter = RateLimiter::new(3);
        for net in 0..200_000u32 {
            let client = IpAddr::V4((net << 8).into());
            assert_eq!(
                limiter.check_rate(
                    client,
                    AnswerClass::Data,
                    MonotonicTime(9),
                    AnswerRate { rate: 1, slip: None }
                ),
                RateDecision::Pass
            );
        }
        assert_eq!(limiter.slots.len(), SLOTS);
        assert!(limiter.evicted_networks > 100_000, "{}", limiter.evicted_networks);
    }
}
