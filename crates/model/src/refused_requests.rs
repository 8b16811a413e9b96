//! The last requests that were rejected for their form, in bounded memory: the client, the request, and the violated
//! rule.
//!
//! Texts are escaped and truncated. Each client has a limited share, so that one with many rejections does not displace
//! all others; displaced requests are counted. It reads no clock and writes no file.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

use crate::admission::ClientKey;
use crate::cause::Cause;

/// Limit for stored requests: bounds the memory of the log.
/// The page shows the last ones; the access log has all.
pub const CAPACITY: usize = 256;

/// Limit for requests of one client: an IPv4 address, or a /64 of IPv6.
/// A quarter, so that one client's errors do not hide those of others.
pub const CLIENT_SHARE: usize = CAPACITY / 4;

// A share of 0 would store nothing; the whole capacity would let one client push out all others.
const _: () = assert!(CLIENT_SHARE > 0 && CLIENT_SHARE < CAPACITY);

/// Whether a request with this cause was rejected for its form, and not for lack of a resource.
pub fn is_refusal(cause: Cause) -> bool {
    use Cause::{AmbiguousPath, AmbiguousRequest, BadRequest, BodyTooLarge, HeadTooLarge};
    use Cause::{Misdirected, PlainOnTls, TargetTooLong};
    matches!(cause, BadRequest | AmbiguousPath | AmbiguousRequest)
        || matches!(cause, HeadTooLarge | TargetTooLong | BodyTooLarge)
        || matches!(cause, Misdirected | PlainOnTls)
}

/// A rejected request. Texts are escaped: printable ASCII, other bytes as `\xNN`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedRequestRecord {
    /// Milliseconds since 1970.
    pub unix_ms: u64,
    /// The id of the request, as in the access log.
    pub id: String,
    pub service: String,
    pub client: SocketAddr,
    pub protocol: &'static str,
    /// The method; empty: not recognized.
    pub method: String,
    /// The requested host; empty: none was named.
    pub host: String,
    /// The target, or the whole first line if it has no method.
    pub target: String,
    pub cause: Cause,
    /// The violated rule.
    pub defect: Option<&'static str>,
    pub field: String,
    /// The offset of the defect, bytes.
    pub at: Option<u64>,
    pub found: String,
    /// The status of the local reply; 0: none was sent.
    pub status: u16,
}

#[derive(Debug, Default)]
pub struct RefusedRequestRing {
    requests: VecDeque<RefusedRequestRecord>,
    per_client: HashMap<ClientKey, usize>,
    lost: LostRefusals,
}

/// Requests that are no longer stored, since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostRefusals {
    /// Displaced by newer requests.
    pub evicted: u64,
    /// Displaced because their client had reached its share.
    pub over_share: u64,
}

impl RefusedRequestRing {
    /// Stores a request. If its client has reached its share, the client's oldest is removed; otherwise the oldest of
    /// all if the log is full.
    pub fn add(&mut self, request: RefusedRequestRecord) {
        let client = ClientKey::from_address(request.client.ip());
        if self.per_client.get(&client).is_some_and(|count| *count >= CLIENT_SHARE) {
            let of_client = |record: &RefusedRequestRecord| {
                ClientKey::from_address(record.client.ip()) == client
            };
            if let Some(oldest) = self.requests.iter().position(of_client) {
                self.remove(oldest);
                self.lost.over_share += 1;
            }
        } else if self.requests.len() >= CAPACITY {
            self.remove(0);
            self.lost.evicted += 1;
        }
        *self.per_client.entry(client).or_default() += 1;
        self.requests.push_back(request);
    }

    fn remove(&mut self, at: usize) {
        let Some(gone) = self.requests.remove(at) else { return };
        let client = ClientKey::from_address(gone.client.ip());
        if let Some(count) = self.per_client.get_mut(&client) {
            *count -= 1;
            if *count == 0 {
                self.per_client.remove(&client);
            }
        }
    }

    /// Whether no request is stored or lost.
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty() && self.lost == LostRefusals::default()
    }

    /// Moves all records of another ring into this one.
    pub fn merge_from(&mut self, other: &mut RefusedRequestRing) {
        let other = std::mem::take(other);
        self.lost.evicted += other.lost.evicted;
        self.lost.over_share += other.lost.over_share;
        other.requests.into_iter().for_each(|request| self.add(request));
    }

    pub fn newest(&self) -> impl Iterator<Item = &RefusedRequestRecord> {
        self.requests.iter().rev()
    }

    pub fn lost_counts(&self) -> LostRefusals {
        self.lost
    }
}

/// Rejected requests of all workers. Each worker fills its own ring and merges it from time to time, so that no request
/// waits for this lock.
#[derive(Debug, Default)]
pub struct RefusedRequestLog(Mutex<RefusedRequestRing>);

impl RefusedRequestLog {
    /// Merges the ring of a worker.
    pub fn merge_from(&self, worker: &mut RefusedRequestRing) {
        self.with_ring(|ring| ring.merge_from(worker));
    }

    /// Gives access to the stored requests.
    pub fn with_ring<T>(&self, at: impl FnOnce(&mut RefusedRequestRing) -> T) -> T {
        at(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use proptest::prelude::*;

    use super::*;

    fn request(client: &str, unix_ms: u64) -> RefusedRequestRecord {
        RefusedRequestRecord {
            unix_ms,
            id: String::new(),
            service: "shop".into(),
            client: client.parse().unwrap(),
            protocol: "HTTP/1.1",
            method: String::new(),
            host: String::new(),
            target: String::new(),
            cause: Cause::BadRequest,
            defect: None,
            field: String::new(),
            at: None,
            found: String::new(),
            status: 400,
        }
    }

    #[test]
    fn one_client_pushes_out_its_own_and_nobody_elses() {
        let mut ring = RefusedRequestRing::default();
        ring.add(request("192.0.2.1:1", 1));
        for n in 0..1_000 {
            // A whole network is one client.
            ring.add(request(&format!("[2001:db8::{:x}]:1", n + 1), 2 + n));
        }
        assert_eq!(ring.newest().count(), 1 + CLIENT_SHARE);
        assert_eq!(ring.newest().last().unwrap().unix_ms, 1);
        assert_eq!(ring.newest().next().unwrap().unix_ms, 1_001, "the newest is there");
        assert_eq!(
            ring.lost_counts(),
            LostRefusals { evicted: 0, over_share: 1_000 - CLIENT_SHARE as u64 }
        );
    }

    #[test]
    fn what_another_one_has_and_lost_is_taken_once() {
        let mut all = RefusedRequestRing::default();
        let mut worker = RefusedRequestRing::default();
        for n in 0..300u32 {
            worker.add(request(&format!("10.0.{}.{}:1", n / 250, n % 250), u64::from(n)));
        }
        all.merge_from(&mut worker);
        assert!(worker.is_empty() && !all.is_empty());
        all.merge_from(&mut worker);
        assert_eq!(
            (all.newest().count(), all.lost_counts().evicted),
            (CAPACITY, 300 - CAPACITY as u64)
        );
    }

    proptest! {
        #[test]
        fn refused_requests_are_stored_or_counted(clients in prop::collection::vec(0u8..6, 0..800)) {
            let mut ring = RefusedRequestRing::default();
            for (at, client) in clients.iter().enumerate() {
                ring.add(request(&format!("192.0.2.{client}:1"), at as u64));
                let LostRefusals { evicted, over_share } = ring.lost_counts();
                let stored = ring.newest().count();
                prop_assert_eq!(stored as u64 + evicted + over_share, at as u64 + 1);
                prop_assert!(stored <= CAPACITY);
                prop_assert!(ring.newest().all(|record| record.client.ip().is_ipv4()));
                let mut of = [0_usize; 256];
                for record in ring.newest() {
                    if let IpAddr::V4(ip) = record.client.ip() {
                        of[usize::from(ip.octets()[3])] += 1;
                    }
                }
                prop_assert!(of.iter().all(|count| *count <= CLIENT_SHARE));
                prop_assert_eq!(ring.per_client.values().sum::<usize>(), stored);
            }
        }
    }
}
