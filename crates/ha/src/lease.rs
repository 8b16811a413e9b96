//! Leases of the witness: which member holds which name, and until when. Pure; the daemon's API and the simulation use
//! it.
//!
//! One process remembers the leases and forgets them when it ends. So a process that may follow another one grants
//! nothing new for the longest time that an earlier lease may last. Only a member that still holds a lease may renew
//! it.

use std::collections::BTreeMap;
use std::time::Duration;

use model::monotonic_time::MonotonicTime;

/// A shorter lease would end between two renewals over a busy network.
/// At a third of it, a renewal each 67 ms.
pub const SHORTEST: Duration = Duration::from_millis(200);
/// Bounds how long an address is fenced after its holder died, and how long a new process grants nothing.
pub const LONGEST: Duration = Duration::from_secs(30);
/// Names that are remembered: bounds the memory that clients of the API can use.
pub const NAMES: usize = 1024;

/// A member's request for a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseRequest<'a> {
    pub holder: &'a str,
    /// A number that grows each time this holder begins to hold. Requests with a lower one are out of date.
    pub ticket: u64,
    /// The member holds the lease of this name and renews it.
    pub is_holder: bool,
    /// The requested length; zero releases the lease.
    pub length: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LeaseError {
    #[error("{holder} holds it for {} ms more", left.as_millis())]
    Held {
        holder: String,
        /// The remaining time of that lease, at most.
        left: Duration,
    },
    /// The same holder sent a request with a higher ticket since.
    #[error("its holder has begun anew since")]
    Stale,
    /// Leases of the previous process may still be valid.
    #[error("leases of the process before may still stand, for {} ms more", .0.as_millis())]
    Young(Duration),
    /// The requested length is out of range.
    #[error("a lease is {} to {} ms long", SHORTEST.as_millis(), LONGEST.as_millis())]
    Length,
    #[error("{NAMES} names have leases already")]
    Full,
}

#[derive(Clone, Debug, Default)]
pub struct LeaseTable {
    by_name: BTreeMap<String, HeldLease>,
    /// No new lease is granted before this time.
    grants_from: MonotonicTime,
}

#[derive(Clone, Debug)]
struct HeldLease {
    holder: String,
    ticket: u64,
    until: MonotonicTime,
}

impl LeaseTable {
    /// Starts a table. `follows`: an earlier process may have granted leases.
    pub fn new(now: MonotonicTime, follows: bool) -> LeaseTable {
        let quiet = if follows { now + LONGEST } else { MonotonicTime::default() };
        LeaseTable { by_name: BTreeMap::new(), grants_from: quiet }
    }

    /// Grants a lease and returns its length, or releases it.
    ///
    /// # Errors
    /// The lease is not granted.
    pub fn request_lease(
        &mut self,
        now: MonotonicTime,
        name: &str,
        request: LeaseRequest<'_>,
    ) -> Result<Duration, LeaseError> {
        let held = self.by_name.get(name).filter(|lease| now < lease.until);
        if request.length.is_zero() {
            let ours = |lease: &HeldLease| {
                (lease.holder.as_str(), lease.ticket) == (request.holder, request.ticket)
            };
            if held.is_some_and(ours) {
                self.by_name.remove(name);
            }
            return Ok(Duration::ZERO);
        }
        if !(SHORTEST..=LONGEST).contains(&request.length) {
            return Err(LeaseError::Length);
        }
        match held {
            Some(lease) if lease.holder != request.holder => {
                let holder = lease.holder.clone();
                let left = lease.until.since(now);
                return Err(LeaseError::Held { holder, left });
            }
            Some(lease) if lease.ticket > request.ticket => return Err(LeaseError::Stale),
            None if now < self.grants_from && !request.is_holder => {
                return Err(LeaseError::Young(self.grants_from.since(now)));
            }
            _ => {}
        }
        if !self.by_name.contains_key(name) && self.by_name.len() >= NAMES {
            self.by_name.retain(|_, lease| now < lease.until);
            if self.by_name.len() >= NAMES {
                return Err(LeaseError::Full);
            }
        }
        let holder = request.holder.to_owned();
        let until = now + request.length;
        // A delayed reply must not shorten a lease that was granted since.
        let until = lease_end(self.by_name.get(name), request.holder).max(until);
        self.by_name.insert(name.to_owned(), HeldLease { holder, ticket: request.ticket, until });
        Ok(request.length)
    }
}

fn lease_end(lease: Option<&HeldLease>, holder: &str) -> MonotonicTime {
    lease
        .filter(|lease| lease.holder == holder)
        .map_or(MonotonicTime::default(), |lease| lease.until)
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    fn at(s: u32) -> MonotonicTime {
        MonotonicTime(1_000_000_000) + S * s
    }

    fn asks(holder: &str, ticket: u64) -> LeaseRequest<'_> {
        LeaseRequest { holder, ticket, is_holder: false, length: S * 3 }
    }

    #[test]
    fn one_holds_it_until_it_is_over_or_given_back() {
        let mut leases = LeaseTable::new(at(0), false);
        assert_eq!(leases.request_lease(at(0), "a", asks("left", 1)), Ok(S * 3));
        let why = leases.request_lease(at(1), "a", asks("right", 9)).unwrap_err();
        assert_eq!(why.to_string(), "left holds it for 2000 ms more");
        assert_eq!(leases.request_lease(at(1), "b", asks("right", 9)), Ok(S * 3), "another name");
        assert_eq!(leases.request_lease(at(2), "a", asks("left", 1)), Ok(S * 3));
        assert!(leases.request_lease(at(4), "a", asks("right", 9)).is_err());
        assert_eq!(leases.request_lease(at(5), "a", asks("right", 9)), Ok(S * 3), "it is over");
        let back = |holder, ticket| LeaseRequest { length: Duration::ZERO, ..asks(holder, ticket) };
        for (holder, ticket) in [("left", 9), ("right", 8)] {
            assert_eq!(leases.request_lease(at(5), "a", back(holder, ticket)), Ok(Duration::ZERO));
            assert!(
                leases.request_lease(at(5), "a", asks("left", 2)).is_err(),
                "not theirs to give back"
            );
        }
        assert_eq!(leases.request_lease(at(5), "a", back("right", 9)), Ok(Duration::ZERO));
        assert_eq!(leases.request_lease(at(5), "a", asks("left", 2)), Ok(S * 3));
    }

    #[test]
    fn a_request_with_an_old_ticket_is_refused() {
        let mut leases = LeaseTable::new(at(0), false);
        assert!(leases.request_lease(at(0), "a", asks("left", 5)).is_ok());
        assert!(leases.request_lease(at(1), "a", asks("left", 7)).is_ok());
        assert_eq!(leases.request_lease(at(1), "a", asks("left", 5)), Err(LeaseError::Stale));
        assert!(leases.request_lease(at(4), "a", asks("left", 5)).is_ok(), "it is over");
    }

    #[test]
    fn a_following_process_renews_leases_and_grants_no_new_ones() {
        let mut leases = LeaseTable::new(at(0), true);
        assert!(matches!(
            leases.request_lease(at(29), "a", asks("right", 1)),
            Err(LeaseError::Young(_))
        ));
        let on = LeaseRequest { is_holder: true, ..asks("left", 1) };
        assert_eq!(leases.request_lease(at(1), "a", on), Ok(S * 3));
        assert!(matches!(
            leases.request_lease(at(2), "a", asks("right", 1)),
            Err(LeaseError::Held { .. })
        ));
        assert_eq!(leases.request_lease(at(30), "a", asks("right", 1)), Ok(S * 3));
    }

    #[test]
    fn lengths_and_names_have_limits() {
        let mut leases = LeaseTable::new(at(0), false);
        let long = LeaseRequest { length: LONGEST + S, ..asks("left", 1) };
        assert_eq!(leases.request_lease(at(0), "a", long), Err(LeaseError::Length));
        for one in 0..NAMES {
            assert!(leases.request_lease(at(0), &one.to_string(), asks("left", 1)).is_ok());
        }
        assert_eq!(leases.request_lease(at(0), "more", asks("left", 1)), Err(LeaseError::Full));
        assert!(leases.request_lease(at(0), "7", asks("left", 1)).is_ok());
        assert!(
            leases.request_lease(at(9), "more", asks("left", 1)).is_ok(),
            "those that are over make room"
        );
    }
}
