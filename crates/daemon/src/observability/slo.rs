//! Service level objectives: how much of the error budget is left, and how quickly it burns.
//!
//! Workers count outcomes; they are read here and kept in bounded memory: a ledger for each service with an objective.
//! What was before the start comes from the history.

mod alarm_event;
mod hour_window;
mod ledger;
mod objective;
mod objective_report;
pub mod past_outcomes;
pub mod summary;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use api::types::SloExplained;
use model::id::ServiceId;
use model::snapshot::{ServiceView, WorkerSnapshot};

use crate::util::event::EventLog;
use ledger::SloLedger;
use past_outcomes::UserHistory;
use summary::SloSummary;

#[derive(Debug, Default)]
pub struct SloLedgers {
    ledgers: Mutex<HashMap<ServiceId, SloLedger>>,
    summary: Mutex<Arc<SloSummary>>,
}

impl SloLedgers {
    /// Services that promise something and have no ledger.
    pub fn services_without_ledger(&self, snapshot: &WorkerSnapshot) -> Vec<Arc<ServiceView>> {
        let kept = self.lock_ledgers();
        let promises = |view: &&Arc<ServiceView>| view.slo.is_some();
        let new = snapshot.services.values().filter(promises);
        new.filter(|view| !kept.contains_key(&view.id)).cloned().collect()
    }

    /// Adds a ledger for each service, with its outcomes before the start.
    pub fn add_ledgers(&self, new: &[Arc<ServiceView>], past: &UserHistory) {
        let mut kept = self.lock_ledgers();
        for view in new {
            let before = past.get(&view.config.name).map_or(&[][..], Vec::as_slice);
            if let Some(ledger) = SloLedger::new(view, before) {
                kept.insert(view.id, ledger);
            }
        }
    }

    /// Reads the workers' counts and logs alarms; `now`: seconds since 1970.
    pub fn update(&self, snapshot: &WorkerSnapshot, events: &EventLog, now: u64) {
        let mut kept = self.lock_ledgers();
        let mut shown = HashMap::new();
        let mut gone: HashSet<ServiceId> = kept.keys().copied().collect();
        for (id, ledger) in kept.iter_mut() {
            let view = snapshot.services.get(id).filter(|view| view.slo.is_some());
            let Some(view) = view else { continue };
            gone.remove(id);
            ledger.update(view, now).into_iter().for_each(|said| said.emit(events));
            shown.insert(*id, ledger.summary(view, now));
        }
        for ledger in gone.iter().filter_map(|id| kept.remove(id)) {
            ledger.close().into_iter().for_each(|said| said.emit(events));
        }
        *self.summary.lock().unwrap_or_else(PoisonError::into_inner) =
            Arc::new(SloSummary::new(shown));
    }

    /// Whether no service has an objective.
    pub fn is_empty(&self) -> bool {
        self.lock_ledgers().is_empty()
    }

    pub fn summary(&self) -> Arc<SloSummary> {
        Arc::clone(&self.summary.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// SLO outcomes of one service or of all; `now_unix_ms`: milliseconds since 1970.
    ///
    /// # Errors
    /// There is no such service, or it promises nothing.
    pub fn explain(
        &self,
        snapshot: &WorkerSnapshot,
        service: Option<&str>,
        now_unix_ms: u64,
    ) -> Result<SloExplained, String> {
        let kept = self.lock_ledgers();
        let mut views: Vec<_> = snapshot.services.values().collect();
        views.sort_by(|a, b| a.config.name.cmp(&b.config.name));
        if let Some(name) = service {
            let known: Vec<&str> = views.iter().map(|view| view.config.name.as_str()).collect();
            let Some(view) = views.iter().find(|view| view.config.name == name) else {
                return Err(format!(
                    "there is no service '{name}'; there are {}",
                    known.join(", ")
                ));
            };
            if view.slo.is_none() {
                return Err(format!(
                    "service '{name}' has no objective: write `objective = \"99.9%\"` in [service.{name}]"
                ));
            }
            views.retain(|view| view.config.name == name);
        }
        let now = now_unix_ms / 1000;
        let services = views.into_iter().filter_map(|view| kept.get(&view.id)?.explain(view, now));
        Ok(SloExplained { now_unix_ms, services: services.collect() })
    }

    fn lock_ledgers(&self) -> MutexGuard<'_, HashMap<ServiceId, SloLedger>> {
        self.ledgers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
