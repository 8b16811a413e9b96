//! How many requests one client may send over TCP: a bucket of a fixed size for each address, refilled with time.
//!
//! The caller passes the time; this module reads no clock. An IPv6 client is its /64, because one machine has all of
//! its addresses.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

/// Requests that may come at once.
/// Opening the page takes several requests at once, and several users may share an address.
pub const BURST: f64 = 300.0;
/// Requests a second that may go on for ever.
/// A page that draws each second needs a few; a tool in a loop is slowed down.
pub const RATE: f64 = 50.0;
/// A wrong token costs as many requests as this, which limits guesses to two tokens a second. A token of 256 bits
/// cannot be guessed at that rate.
pub const FAILURE_COST: f64 = 25.0;
/// Bounds the memory of clients' buckets. The client that was silent longest is evicted first.
const CLIENTS: usize = 4_096;
/// The largest debt of a bucket, so that a client is locked out for a bounded time.
const DEBT: f64 = BURST;

#[derive(Debug, Default)]
pub struct Quota(HashMap<IpAddr, RateBucket>);

#[derive(Clone, Copy, Debug)]
struct RateBucket {
    tokens: f64,
    refilled_at: Duration,
}

impl Quota {
    /// Takes one request of this client from its bucket; whether there was one. `now` is any clock that only grows.
    pub fn admit(&mut self, client: IpAddr, now: Duration) -> bool {
        let bucket = self.bucket(client, now);
        let has = bucket.tokens >= 1.0;
        if has {
            bucket.tokens -= 1.0;
        }
        has
    }

    /// Charges a client for a request that should not have been sent.
    pub fn charge(&mut self, client: IpAddr, now: Duration, requests: f64) {
        let bucket = self.bucket(client, now);
        bucket.tokens = (bucket.tokens - requests).max(-DEBT);
    }

    fn bucket(&mut self, client: IpAddr, now: Duration) -> &mut RateBucket {
        let client = network(client);
        if self.0.len() >= CLIENTS && !self.0.contains_key(&client) {
            let oldest =
                self.0.iter().min_by_key(|(_, bucket)| bucket.refilled_at).map(|(ip, _)| *ip);
            oldest.and_then(|ip| self.0.remove(&ip));
        }
        let bucket = self.0.entry(client).or_insert(RateBucket { tokens: BURST, refilled_at: now });
        let since = now.saturating_sub(bucket.refilled_at).as_secs_f64();
        bucket.tokens = (bucket.tokens + since * RATE).min(BURST);
        bucket.refilled_at = now;
        bucket
    }
}

fn network(client: IpAddr) -> IpAddr {
    match client.to_canonical() {
        IpAddr::V6(ip) => {
            let [a, b, c, d, ..] = ip.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_burst_ends_and_time_brings_more() {
        let mut quota = Quota::default();
        let client = ip("192.0.2.1");
        let first = (0..1000).filter(|_| quota.admit(client, Duration::ZERO)).count();
        assert_eq!(first, BURST as usize);
        assert!(quota.admit(ip("192.0.2.2"), Duration::ZERO), "another client has its own");
        let second = Duration::from_secs(1);
        assert_eq!((0..1000).filter(|_| quota.admit(client, second)).count(), RATE as usize);
    }

    #[test]
    fn wrong_tokens_cost_more_and_debt_has_an_end() {
        let mut quota = Quota::default();
        let client = ip("192.0.2.1");
        for _ in 0..1000 {
            quota.charge(client, Duration::ZERO, FAILURE_COST);
        }
        assert!(!quota.admit(client, Duration::from_secs(5)));
        assert!(quota.admit(client, Duration::from_secs(7)));
    }

    #[test]
    fn neighbours_of_a_64_share_and_the_table_is_bounded() {
        let mut quota = Quota::default();
        quota.charge(ip("2001:db8::1"), Duration::ZERO, BURST);
        assert!(!quota.admit(ip("2001:db8::ffff:1"), Duration::ZERO));
        assert!(quota.admit(ip("2001:db8:0:1::1"), Duration::ZERO));
        quota.charge(ip("::ffff:192.0.2.9"), Duration::ZERO, BURST);
        assert!(!quota.admit(ip("192.0.2.9"), Duration::ZERO));
        for n in 0..10_000_u32 {
            quota.admit(IpAddr::from(n.to_be_bytes()), Duration::from_secs(n.into()));
        }
        assert_eq!(quota.0.len(), CLIENTS);
    }
}
