//! Whether a shared address answers elsewhere while this member has it: when to ask, and what to make of what is heard. Pure.
//!
//! A member that takes over announces the address too, and we hear of it by its advertisement, which may come after that.
//! So who says that an address is at another link is believed when it says so again after an interval, having been asked.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use model::moment::Moment;

use crate::frame::Link;

/// The first question after the address was taken.
const FIRST: Duration = Duration::from_secs(1);
/// We announce the address again when somebody else says it has it, and no more often (RFC 5227 §1.1, `DEFEND_INTERVAL`).
const DEFEND: Duration = Duration::from_secs(10);

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The address is at another link too.
    Doubled(IpAddr, Link),
    /// It was, and is not heard of any more.
    Sole(IpAddr),
    /// Announce it again.
    Defend,
}

#[derive(Clone, Copy, Debug)]
struct Other {
    link: Link,
    first: Moment,
    last: Moment,
    believed: bool,
}

/// What an active member knows of others that have its addresses.
#[derive(Clone, Debug, Default)]
pub struct Doubles {
    /// Between two questions; `None`: none are asked.
    every: Option<Duration>,
    /// So long after it was heard first it is believed.
    confirm: Duration,
    next: Option<Moment>,
    others: BTreeMap<IpAddr, Other>,
    defended_at: Option<Moment>,
    /// Times that it was asked.
    pub asked: u64,
    /// Times that an address was found at another link.
    pub found: u64,
    /// Times that ours were to be announced because of that.
    pub defended: u64,
}

impl Doubles {
    /// The addresses are here from now on.
    pub fn begin(&mut self, now: Moment, every: Option<Duration>, confirm: Duration) {
        (self.every, self.confirm) = (every, confirm);
        self.next = every.map(|every| now + every.min(FIRST));
        self.others.clear();
    }

    /// They are not.
    pub fn end(&mut self) {
        self.next = None;
        self.others.clear();
    }

    /// When `ask` is to be called next.
    pub fn due(&self) -> Moment {
        self.next.unwrap_or(Moment::NEVER)
    }

    /// Where else addresses are.
    pub fn others(&self) -> impl Iterator<Item = (IpAddr, Link)> {
        self.others.iter().filter(|(_, one)| one.believed).map(|(ip, one)| (*ip, one.link))
    }

    /// Whether it is time to ask.
    pub fn ask(&mut self, now: Moment, out: &mut Vec<Found>) -> bool {
        let (Some(every), true) = (self.every, now >= self.due()) else { return false };
        self.next = Some(now + every);
        self.asked += 1;
        // Asked twice since, and silent.
        let gone = |one: &Other| now.since(one.last) > every * 2;
        self.others.retain(|ip, one| {
            let gone = gone(one);
            if gone && one.believed {
                out.push(Found::Sole(*ip));
            }
            !gone
        });
        true
    }

    /// Somebody at another link says that it has the address.
    pub fn hear(&mut self, now: Moment, ip: IpAddr, link: Link, out: &mut Vec<Found>) {
        if self.next.is_none() {
            return;
        }
        let new = Other { link, first: now, last: now, believed: false };
        let known = self.others.entry(ip).or_insert(new);
        if known.link != link {
            *known = new;
        }
        known.last = now;
        if !known.believed && now.since(known.first) >= self.confirm {
            known.believed = true;
            self.found += 1;
            out.push(Found::Doubled(ip, link));
        } else if !known.believed {
            self.next = self.next.map(|next| next.min(known.first + self.confirm));
        }
        let quiet = self.defended_at.is_some_and(|at| now.since(at) < DEFEND);
        if known.believed && !quiet {
            self.defended_at = Some(now);
            self.defended += 1;
            out.push(Found::Defend);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);
    const IP: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 10));
    const LINK: Link = [2, 0, 0, 0, 0, 9];

    fn at(ms: u32) -> Moment {
        Moment(1_000_000_000) + Duration::from_millis(1) * ms
    }

    fn begun() -> Doubles {
        let mut doubles = Doubles::default();
        doubles.begin(at(0), Some(S * 10), Duration::from_millis(300));
        doubles
    }

    #[test]
    fn it_asks_soon_and_then_at_its_interval() {
        let (mut doubles, mut out) = (begun(), Vec::new());
        assert_eq!(doubles.due(), at(1_000));
        assert!(!doubles.ask(at(999), &mut out) && doubles.ask(at(1_000), &mut out));
        assert_eq!((doubles.due(), doubles.asked, out.len()), (at(11_000), 1, 0));
        doubles.end();
        assert_eq!(doubles.due(), Moment::NEVER);
        doubles.begin(at(0), None, S);
        assert_eq!(doubles.due(), Moment::NEVER);
        doubles.hear(at(0), IP, LINK, &mut out);
        assert!(out.is_empty(), "nobody wants to know");
    }

    #[test]
    fn who_says_it_again_after_a_question_is_believed_until_it_is_silent() {
        let (mut doubles, mut out) = (begun(), Vec::new());
        doubles.hear(at(100), IP, LINK, &mut out);
        assert_eq!((out.len(), doubles.due()), (0, at(400)), "it may be taking over");
        doubles.hear(at(200), IP, LINK, &mut out);
        assert!(out.is_empty() && doubles.ask(at(400), &mut out));
        doubles.hear(at(401), IP, LINK, &mut out);
        assert_eq!(out, [Found::Doubled(IP, LINK), Found::Defend]);
        assert_eq!(doubles.others().collect::<Vec<_>>(), [(IP, LINK)]);
        doubles.hear(at(9_000), IP, LINK, &mut out);
        assert_eq!(out.len(), 2, "told and defended not long ago");
        doubles.hear(at(10_500), IP, LINK, &mut out);
        assert_eq!(out[2..], [Found::Defend]);
        for ms in [10_400, 20_400, 30_400] {
            assert!(doubles.ask(at(ms), &mut out));
        }
        assert_eq!(out.len(), 3);
        assert!(doubles.ask(at(40_400), &mut out));
        assert_eq!(out[3..], [Found::Sole(IP)]);
        assert_eq!((doubles.found, doubles.others().count()), (1, 0));
    }

    #[test]
    fn another_link_is_another_one() {
        let (mut doubles, mut out) = (begun(), Vec::new());
        doubles.hear(at(0), IP, LINK, &mut out);
        doubles.hear(at(500), IP, [4; 6], &mut out);
        assert!(out.is_empty());
        doubles.hear(at(800), IP, [4; 6], &mut out);
        assert_eq!(out[0], Found::Doubled(IP, [4; 6]));
    }
}
