//! Duplicate address detection while this member holds an address: when to probe, and how to read the replies. Pure.
//!
//! A member that takes over announces the address too, and its advertisement may arrive after the announcement. So a
//! duplicate is reported only when the other link claims the address again in reply to a later probe.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use model::monotonic_time::MonotonicTime;

use crate::frame::MacAddress;

/// The longest delay between a takeover and the first probe, also with a longer probe interval. The initial delay of
/// RFC 5227 §1.1 (PROBE_WAIT).
const FIRST: Duration = Duration::from_secs(1);
/// The shortest time between two announcements that defend an address against another claimant (RFC 5227 §1.1,
/// `DEFEND_INTERVAL`).
const DEFEND: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DuplicateEvent {
    /// Another link claims the address too.
    Duplicate(IpAddr, MacAddress),
    /// The other link no longer claims the address.
    Cleared(IpAddr),
    Defend,
}

#[derive(Clone, Copy, Debug)]
struct DuplicateHolder {
    link: MacAddress,
    first: MonotonicTime,
    last: MonotonicTime,
    confirmed: bool,
}

/// Detects other links that claim the addresses of an active member.
#[derive(Clone, Debug, Default)]
pub struct DuplicateDetector {
    /// Time between two probes; `None`: no probes are sent.
    probe_interval: Option<Duration>,
    /// A duplicate is confirmed when it was first seen this long ago.
    confirm_after: Duration,
    next: Option<MonotonicTime>,
    holders: BTreeMap<IpAddr, DuplicateHolder>,
    defended_at: Option<MonotonicTime>,
    pub probes_sent: u64,
    /// Duplicates confirmed at another link.
    pub duplicates_found: u64,
    /// Announcements requested to defend an address.
    pub defenses: u64,
}

impl DuplicateDetector {
    /// Starts probing: this member holds the addresses from now on.
    pub fn start(&mut self, now: MonotonicTime, every: Option<Duration>, confirm: Duration) {
        self.probe_interval = every;
        self.confirm_after = confirm;
        self.next = every.map(|every| now + every.min(FIRST));
        self.holders.clear();
    }

    pub fn stop(&mut self) {
        self.next = None;
        self.holders.clear();
    }

    /// When `take_probe` is to be called next.
    pub fn next_probe(&self) -> MonotonicTime {
        self.next.unwrap_or(MonotonicTime::NEVER)
    }

    /// Confirmed duplicates: each address with its other link.
    pub fn duplicate_holders(&self) -> impl Iterator<Item = (IpAddr, MacAddress)> {
        self.holders.iter().filter(|(_, one)| one.confirmed).map(|(ip, one)| (*ip, one.link))
    }

    /// Whether a probe is due.
    pub fn take_probe(&mut self, now: MonotonicTime, out: &mut Vec<DuplicateEvent>) -> bool {
        let (Some(every), true) = (self.probe_interval, now >= self.next_probe()) else {
            return false;
        };
        self.next = Some(now + every);
        self.probes_sent += 1;
        // The last two probes were not answered.
        let gone = |one: &DuplicateHolder| now.since(one.last) > every * 2;
        self.holders.retain(|ip, one| {
            let gone = gone(one);
            if gone && one.confirmed {
                out.push(DuplicateEvent::Cleared(*ip));
            }
            !gone
        });
        true
    }

    /// Another link claims the address.
    pub fn receive_claim(
        &mut self,
        now: MonotonicTime,
        ip: IpAddr,
        link: MacAddress,
        out: &mut Vec<DuplicateEvent>,
    ) {
        if self.next.is_none() {
            return;
        }
        let new = DuplicateHolder { link, first: now, last: now, confirmed: false };
        let known = self.holders.entry(ip).or_insert(new);
        if known.link != link {
            *known = new;
        }
        known.last = now;
        if !known.confirmed && now.since(known.first) >= self.confirm_after {
            known.confirmed = true;
            self.duplicates_found += 1;
            out.push(DuplicateEvent::Duplicate(ip, link));
        } else if !known.confirmed {
            self.next = self.next.map(|next| next.min(known.first + self.confirm_after));
        }
        let quiet = self.defended_at.is_some_and(|at| now.since(at) < DEFEND);
        if known.confirmed && !quiet {
            self.defended_at = Some(now);
            self.defenses += 1;
            out.push(DuplicateEvent::Defend);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);
    const IP: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 10));
    const LINK: MacAddress = [2, 0, 0, 0, 0, 9];

    fn at(ms: u32) -> MonotonicTime {
        MonotonicTime(1_000_000_000) + Duration::from_millis(1) * ms
    }

    fn begun() -> DuplicateDetector {
        let mut doubles = DuplicateDetector::default();
        doubles.start(at(0), Some(S * 10), Duration::from_millis(300));
        doubles
    }

    #[test]
    fn it_asks_soon_and_then_at_its_interval() {
        let mut doubles = begun();
        let mut out = Vec::new();
        assert_eq!(doubles.next_probe(), at(1_000));
        assert!(!doubles.take_probe(at(999), &mut out) && doubles.take_probe(at(1_000), &mut out));
        assert_eq!((doubles.next_probe(), doubles.probes_sent, out.len()), (at(11_000), 1, 0));
        doubles.stop();
        assert_eq!(doubles.next_probe(), MonotonicTime::NEVER);
        doubles.start(at(0), None, S);
        assert_eq!(doubles.next_probe(), MonotonicTime::NEVER);
        doubles.receive_claim(at(0), IP, LINK, &mut out);
        assert!(out.is_empty(), "nobody wants to know");
    }

    #[test]
    fn a_duplicate_is_confirmed_by_a_second_claim_and_cleared_by_silence() {
        let mut doubles = begun();
        let mut out = Vec::new();
        doubles.receive_claim(at(100), IP, LINK, &mut out);
        assert_eq!((out.len(), doubles.next_probe()), (0, at(400)), "it may be taking over");
        doubles.receive_claim(at(200), IP, LINK, &mut out);
        assert!(out.is_empty() && doubles.take_probe(at(400), &mut out));
        doubles.receive_claim(at(401), IP, LINK, &mut out);
        assert_eq!(out, [DuplicateEvent::Duplicate(IP, LINK), DuplicateEvent::Defend]);
        assert_eq!(doubles.duplicate_holders().collect::<Vec<_>>(), [(IP, LINK)]);
        doubles.receive_claim(at(9_000), IP, LINK, &mut out);
        assert_eq!(out.len(), 2, "told and defended not long ago");
        doubles.receive_claim(at(10_500), IP, LINK, &mut out);
        assert_eq!(out[2..], [DuplicateEvent::Defend]);
        for ms in [10_400, 20_400, 30_400] {
            assert!(doubles.take_probe(at(ms), &mut out));
        }
        assert_eq!(out.len(), 3);
        assert!(doubles.take_probe(at(40_400), &mut out));
        assert_eq!(out[3..], [DuplicateEvent::Cleared(IP)]);
        assert_eq!((doubles.duplicates_found, doubles.duplicate_holders().count()), (1, 0));
    }

    #[test]
    fn another_link_is_another_one() {
        let mut doubles = begun();
        let mut out = Vec::new();
        doubles.receive_claim(at(0), IP, LINK, &mut out);
        doubles.receive_claim(at(500), IP, [4; 6], &mut out);
        assert!(out.is_empty());
        doubles.receive_claim(at(800), IP, [4; 6], &mut out);
        assert_eq!(out[0], DuplicateEvent::Duplicate(IP, [4; 6]));
    }
}
