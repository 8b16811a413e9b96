//! Routers of one priority that may take the same requests. Traefik asks either of them first, as it happens to load them;
//! here it is the one that the file has first, and the user is told.

use std::collections::{HashMap, HashSet};

use crate::notes::ConversionNotes;
use crate::source::SourcePlace;

use super::routers::TrafficRouter;

/// The most pairs of routers that are compared in one conversion.
const COMPARISONS: usize = 200_000;

/// Finds routers that tie.
pub struct PriorityTies {
    /// Routers that were reported: one entry point after the other may have them.
    told: HashSet<SourcePlace>,
    comparisons_left: usize,
}

impl PriorityTies {
    pub fn new() -> PriorityTies {
        PriorityTies { told: HashSet::new(), comparisons_left: COMPARISONS }
    }

    /// Reports the routers of a listener that tie with another one. `routers`: those with the highest priority first.
    pub fn note(&mut self, routers: &[&TrafficRouter<'_>], notes: &mut ConversionNotes) {
        for tied in routers.chunk_by(|one, next| one.priority == next.priority) {
            let mut before = HostIndex::default();
            for (at, router) in tied.iter().enumerate() {
                if let Some(other) = self.find_met(router, tied, &before) {
                    self.note_pair(other, router, notes);
                }
                before.add(at, router);
            }
        }
    }

    /// The first of the routers before that may take the same requests.
    fn find_met<'r>(
        &mut self,
        router: &TrafficRouter<'_>,
        tied: &[&'r TrafficRouter<'r>],
        before: &HostIndex<'_>,
    ) -> Option<&'r TrafficRouter<'r>> {
        for at in before.candidates(router) {
            self.comparisons_left = self.comparisons_left.checked_sub(1)?;
            let other = *tied.get(at)?;
            if other.reach.meets(&router.reach) {
                return Some(other);
            }
        }
        None
    }

    fn note_pair(
        &mut self,
        first: &TrafficRouter<'_>,
        second: &TrafficRouter<'_>,
        notes: &mut ConversionNotes,
    ) {
        for [router, other] in [[first, second], [second, first]] {
            let place = router.node.place().whole();
            if self.told.insert(place) {
                let reason = format!(
                    "it has the same priority as `{}` and may take the same requests: Traefik asks either first, here the first in the file is",
                    other.name()
                );
                notes.changed(place, &router.node.text, &reason, "`priority` of the router");
            }
        }
    }
}

/// Routers by the hosts that they name.
#[derive(Default)]
struct HostIndex<'r> {
    count: usize,
    of_any_host: Vec<usize>,
    by_host: HashMap<&'r str, Vec<usize>>,
}

impl<'r> HostIndex<'r> {
    fn add(&mut self, at: usize, router: &'r TrafficRouter<'_>) {
        self.count += 1;
        match &router.reach.hosts {
            None => self.of_any_host.push(at),
            Some(hosts) => {
                for host in hosts {
                    self.by_host.entry(host).or_default().push(at);
                }
            }
        }
    }

    /// The routers that may have a host of this one.
    fn candidates(&self, router: &TrafficRouter<'_>) -> Vec<usize> {
        let Some(hosts) = &router.reach.hosts else { return (0..self.count).collect() };
        let named = hosts.iter().filter_map(|host| self.by_host.get(host.as_str())).flatten();
        self.of_any_host.iter().chain(named).copied().collect()
    }
}
