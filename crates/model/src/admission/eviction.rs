//! Which connection is closed for a newcomer while a limit is reached.
//!
//! Silent connections are kept in order of arrival, so the oldest one is found at once. Connections in other phases are
//! found by a scan of all of them; one scan yields candidates for many newcomers.

use std::collections::HashMap;
use std::time::Duration;

use super::client_share::{AdmissionPhase, ClientKey};
use super::slab::{
    ConnectionHandle, ConnectionScope, EXPENDABLE_CLASS, FRESH_CLASS, IDLE_CLASS, NEW_CLASS,
};
use super::table::{AdmissionTable, ScannedConnection};
use crate::monotonic_time::MonotonicTime;

/// Above this number of connections, scans are spaced by `SCAN_INTERVAL`. Below it, a scan for each newcomer is cheap.
const MANY: usize = 4_096;
/// Bounds the processor time of scans of a large table: at most 200 scans a second.
const SCAN_INTERVAL: Duration = Duration::from_millis(5);
/// A scan keeps at least this many candidates, and otherwise one of this many connections. The candidates of a scan
/// then serve many newcomers, and the list stays a small part of the table.
const CANDIDATES_PER_SCAN: usize = 16;
/// More silent connections than one in `SILENT_RATIO`, and more than `FEW`, are expendable before their grace is over.
const SILENT_RATIO: usize = 16;
const FEW: usize = 8;
/// Bounds the candidate lists of a table: one for each scope. Scopes of clients would otherwise add up without end.
const SCOPES: usize = 64;

/// A connection that would be closed for a newcomer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvictionCandidate {
    pub slot: ConnectionHandle,
    pub phase: AdmissionPhase,
    /// The connection has been silent for long, or its handshake or head has stalled: closing it harms no client.
    pub expendable: bool,
}

impl<A> AdmissionTable<A> {
    /// The connection to close for a newcomer; `None`: every connection is in use. The caller closes it and sets its
    /// phase. `held`: how many connections a client has.
    pub fn eviction_candidate(
        &mut self,
        scope: ConnectionScope,
        now: MonotonicTime,
        held: impl Fn(ClientKey) -> u32,
    ) -> Option<EvictionCandidate> {
        if let Some(place) = self.expendable_silent(scope, now) {
            return Some(EvictionCandidate {
                slot: place,
                phase: AdmissionPhase::Silent,
                expendable: true,
            });
        }
        let place = self.next_candidate(scope, now, held)?;
        let slot = self.slab.get(place)?;
        let expendable = slot.eviction_class(now, self.grace)? < FRESH_CLASS;
        Some(EvictionCandidate { slot: place, phase: slot.phase, expendable })
    }

    /// The connection that has been silent for longest, if its grace is over or there are many silent connections.
    pub fn expendable_silent(
        &mut self,
        scope: ConnectionScope,
        now: MonotonicTime,
    ) -> Option<ConnectionHandle> {
        let (silent, oldest) = match scope {
            ConnectionScope::All => (self.all_silent_count(), self.oldest_silent(None)),
            ConnectionScope::Service(service) => {
                (self.silent_count(service), self.oldest_silent(Some(service)))
            }
            // Silent connections are ordered by service only, not by client.
            ConnectionScope::Client(_) | ConnectionScope::ClientOf(..) => return None,
        };
        let crowd = (self.slab.len() / SILENT_RATIO).max(FEW);
        let class = self.slab.get(oldest?)?.eviction_class(now, self.grace)?;
        (class == EXPENDABLE_CLASS || silent as usize > crowd).then_some(oldest?)
    }

    fn next_candidate(
        &mut self,
        scope: ConnectionScope,
        now: MonotonicTime,
        held: impl Fn(ClientKey) -> u32,
    ) -> Option<ConnectionHandle> {
        let many = self.slab.len() > MANY;
        // The newest connections are closed only if all others are in use. A small table is scanned again to check
        // that; a large one relies on its last scan.
        let last = if many { NEW_CLASS } else { IDLE_CLASS };
        if let Some(place) = self.first_candidate(scope, last, now) {
            return Some(place);
        }
        let soon = self.scanned_at.is_some_and(|at| now.since(at) < SCAN_INTERVAL);
        if many && soon {
            return None;
        }
        self.scanned_at = Some(now);
        self.scan_candidates(scope, now, held);
        self.first_candidate(scope, NEW_CLASS, now)
    }

    /// The first candidate of the last scan that is unchanged since then and whose class is at most `last`.
    fn first_candidate(
        &mut self,
        scope: ConnectionScope,
        last: u8,
        now: MonotonicTime,
    ) -> Option<ConnectionHandle> {
        let candidates = self.candidates.get_mut(&scope)?;
        while let Some(ScannedConnection { place, since }) = candidates.last().copied() {
            let slot = self.slab.get(place).filter(|slot| slot.since == since);
            let class = slot.and_then(|slot| slot.eviction_class(now, self.grace));
            if class.is_some_and(|class| class <= last) {
                return Some(place);
            }
            candidates.pop();
        }
        self.candidates.remove(&scope);
        None
    }

    /// Scans all connections of a scope and stores the best candidates, the first one last.
    fn scan_candidates(
        &mut self,
        scope: ConnectionScope,
        now: MonotonicTime,
        held: impl Fn(ClientKey) -> u32,
    ) {
        let mut counts: HashMap<ClientKey, u32> = HashMap::new();
        let mut all: Vec<((u8, u32, MonotonicTime), ConnectionHandle)> = Vec::new();
        for (place, slot) in self.slab.iter() {
            let class = slot.eviction_class(now, self.grace).filter(|_| slot.matches_scope(scope));
            let class = match (class, scope) {
                // Within one client's connections, silent ones are closed first, however new they are.
                (Some(NEW_CLASS), ConnectionScope::Client(_) | ConnectionScope::ClientOf(..)) => {
                    EXPENDABLE_CLASS
                }
                (Some(class), _) => class,
                (None, _) => continue,
            };
            let count = match slot.client {
                Some(client) => *counts.entry(client).or_insert_with(|| held(client)),
                None => 0,
            };
            // Stalled and silent connections are closed by age alone. Among idle and new ones, the client with most
            // connections loses one first.
            let held = if class >= IDLE_CLASS { u32::MAX - count } else { 0 };
            all.push(((class, held, slot.since), place));
        }
        let most = (self.slab.len() / CANDIDATES_PER_SCAN).max(CANDIDATES_PER_SCAN);
        if all.len() > most {
            all.select_nth_unstable_by_key(most, |(order, place)| (*order, place.index));
            all.truncate(most);
        }
        all.sort_unstable_by_key(|(order, place)| (*order, place.index));
        // A small table keeps the candidates of one class: a connection that arrives meanwhile may have to be closed
        // before those of the next class. A large table keeps all classes, because a scan for each newcomer would cost
        // too much.
        if self.slab.len() <= MANY
            && let Some(((first, ..), _)) = all.first().copied()
        {
            all.retain(|((class, ..), _)| *class == first);
        }
        let scanned = |((_, _, since), place)| ScannedConnection { place, since };
        let candidates = all.into_iter().rev().map(scanned).collect();
        if self.candidates.len() >= SCOPES {
            self.candidates.clear();
        }
        self.candidates.insert(scope, candidates);
    }
}
