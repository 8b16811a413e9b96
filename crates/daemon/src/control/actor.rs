//! The one task that changes anything: takes commands one after the other, owns the state, publishes snapshots.
//!
//! What follows from a change is in `reconcile`; this file has the order of the steps and of the notifications.

mod certificates;
mod error;
mod handover;
mod reports;
pub mod start;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use model::config::{CheckedConfig, ConfigDiff, diff, load};
use model::id::ServerId;
use tokio::sync::{mpsc, watch};

use super::active_config::{ActiveConfig, needs_restart};
use super::api_permissions::ApiPermissions;
use super::config_file::ConfigFileState;
use super::down_servers;
use super::server_state_file::ServerStateFile;
use super::state_events;
use crate::control::audit::AuditLog;
use crate::control::generations::{GenerationStore, NewGeneration, digest};
use crate::control::reconcile::applied_state::AppliedState;
use crate::control::reconcile::apply;
use crate::control::reconcile::listener_step;
use crate::control::reconcile::tls_materials::with_tls_materials;
use crate::control::reconcile::traffic_engine::TrafficEngine;
use crate::state::acme_proof::AcmeProof;
use crate::state::change::{
    ApplyError, ApplyOutcome, ConfigChange, PlanOutcome, RollbackError, ShutdownRequest,
};
use crate::state::handle::ControlCommand;
use crate::state::origin::{ChangeOrigin, ChangeTrigger};
use crate::state::overlay::ServerOverlay;
use crate::state::saved_state::{PredecessorState, SavedState};
use crate::state::state_snapshot::{ServerFacts, StateSnapshot};
use crate::tls::cert_store::CertificateStore;
use crate::util::event::EventLog;
use crate::util::listeners::ListenerSet;
use crate::util::wall_clock::WallClock;

/// The parts that the actor is built from.
pub struct ActorParts {
    pub engine: Arc<dyn TrafficEngine>,
    /// The listening sockets, including inherited ones.
    pub listeners: ListenerSet,
    pub workers: usize,
    /// The directory of generations and server commands; `None`: nothing is stored.
    pub state: Option<PathBuf>,
    /// The file that orders are written back to; `None`: there is none.
    pub file: Option<PathBuf>,
    /// State and generation of the previous process; `None`: there was none.
    pub predecessor: Option<PredecessorState>,
    pub events: EventLog,
}

/// The content of a stored generation, to be activated again.
pub(super) struct RepeatedGeneration {
    pub change: ConfigChange,
    /// The number of the stored generation.
    pub number: u64,
}

pub struct ControlActor {
    pub(super) engine: Arc<dyn TrafficEngine>,
    listeners: ListenerSet,
    pub(super) applied: AppliedState,
    pub(super) generations: GenerationStore,
    pub(super) state_file: ServerStateFile,
    pub(super) events: EventLog,
    pub(super) active: ActiveConfig,
    vault: CertificateStore,
    proofs: BTreeMap<String, AcmeProof>,
    pub(super) overlay: ServerOverlay,
    pub(super) audit: AuditLog,
    pub(super) sources: BTreeMap<String, String>,
    pub(super) config_file: ConfigFileState,
    pub(super) clock: WallClock,
    pub(super) permissions: ApiPermissions,
    publish: watch::Sender<Arc<StateSnapshot>>,
    inbox: mpsc::Receiver<ControlCommand>,
    pub(super) handing_over: bool,
    shutting_down: bool,
    /// A configuration was checked or replaced since the last tick.
    pub(super) has_freed_memory: bool,
}

impl ControlActor {
    /// Carries out commands until no sender is left, or the daemon has stopped.
    pub async fn run(mut self) {
        while let Some(order) = self.inbox.recv().await {
            let before = self.applied.clone();
            let mut lost: Vec<_> = down_servers::server_taken_down(&order).into_iter().collect();
            let mut next = self.apply_report(order);
            // Health reports and resolutions that have arrived meanwhile go into one snapshot.
            while next.is_none()
                && let Ok(order) = self.inbox.try_recv()
            {
                lost.extend(down_servers::server_taken_down(&order));
                next = self.apply_report(order);
            }
            self.publish_changes(&before);
            down_servers::reset_connections(
                &*self.engine,
                &self.events,
                &lost,
                &before,
                &self.applied,
            );
            if let Some(order) = next {
                self.handle_command(order).await;
            }
        }
    }

    async fn handle_command(&mut self, order: ControlCommand) {
        // A send fails only if the requester has stopped waiting for the answer.
        match order {
            ControlCommand::Apply(change, back) => {
                drop(back.send(self.apply_and_record(*change).await))
            }
            ControlCommand::Patch(patch, back) => drop(back.send(self.apply_patch(*patch).await)),
            ControlCommand::Plan(text, file, back) => drop(back.send(self.plan(&text, &file))),
            ControlCommand::Rollback(to, save, origin, back) => {
                drop(back.send(self.rollback_and_record(to, save, origin).await));
            }
            ControlCommand::Generations(back) => drop(back.send(self.generations.list())),
            ControlCommand::GenerationText(number, back) => {
                drop(back.send(self.generations.find(number).map(|stored| stored.text.clone())));
            }
            ControlCommand::ServerCommand(order, back) => {
                drop(back.send(self.run_server_command(*order).await))
            }
            ControlCommand::Undo(id, origin, back) => drop(back.send(self.undo(id, origin).await)),
            ControlCommand::Audit(since, back) => drop(back.send(self.audit.records_since(since))),
            ControlCommand::Discovery(discovered) => self.apply_discovery(discovered).await,
            ControlCommand::Tick => self.tick(),
            ControlCommand::ClientsGone(servers) => self.finish_quiesce(&servers),
            ControlCommand::HandOver(back) => drop(back.send(self.hand_over())),
            ControlCommand::ReloadCertificates => self.reload_certificates(),
            ControlCommand::PublishProof(key, proof, back) => {
                self.publish_proof(&key, proof).await;
                let _ = back.send(());
            }
            ControlCommand::CancelHandOver => self.handing_over = false,
            ControlCommand::Shutdown(how, back) => drop(back.send(self.begin_shutdown(how))),
            ControlCommand::HealthReport(_)
            | ControlCommand::Agent(_)
            | ControlCommand::Resolution(_)
            | ControlCommand::WeightShares(_)
            | ControlCommand::Ejections(_) => {}
        }
    }

    /// The configuration of a change that may be made now.
    pub(super) fn check_change(
        &mut self,
        change: &ConfigChange,
    ) -> Result<CheckedConfig, ApplyError> {
        self.check_changeable()?;
        if let Some(expected) = change.expect.filter(|wanted| *wanted != self.active.generation) {
            return Err(ApplyError::Stale { expected, found: self.active.generation });
        }
        self.has_freed_memory = true;
        load(&change.text, &change.file).map_err(ApplyError::Invalid)
    }

    /// Activates the configuration that `check_change` made of the change.
    pub(super) async fn apply(
        &mut self,
        change: ConfigChange,
        checked: CheckedConfig,
        repeats: Option<u64>,
    ) -> Result<ApplyOutcome, ApplyError> {
        self.check_permission(&change, &checked)?;
        let differs = diff(&self.active.checked.config, &checked.config);
        let warnings = checked.warnings.clone();
        if change.text == *self.active.text {
            self.reload_now(&checked.config)?;
            let needs_restart = needs_restart(&self.active.at_start, &checked.config);
            let generation = self.active.generation;
            let same =
                ApplyOutcome { generation, warnings, needs_restart, ..ApplyOutcome::default() };
            return Ok(ApplyOutcome { diff: differs, confirmed: true, ..same });
        }
        let now = SystemTime::now();
        let number = self.generations.number_for(&change.text);
        let overlay = self.overlay_for(&checked);
        let prepared = self.prepare(&checked.config, now)?;
        let applied =
            self.applied.with_config(overlay.apply_to(&checked), &SavedState::default(), now);
        let applied = with_tls_materials(applied, &prepared.store.materials());
        let done =
            apply::apply_change(&*self.engine, &mut self.listeners, &self.applied, applied, number)
                .await?;
        state_events::report_pools(&self.events, &self.applied, &done.state);
        self.applied = done.state;
        self.overlay = overlay;
        self.install_vault(prepared);
        if let Some(config) = &self.applied.config {
            self.active.config = Arc::clone(config);
        }
        self.generations.set_limit(self.active.config.global.control.generations);
        self.audit.set_limit(self.active.config.global.control.audit);
        self.generations.add(number, &new_generation(&change, repeats), now);
        self.active.generation = number;
        self.active.since = now;
        self.active.digest = digest(&change.text);
        self.active.snapshot = done.snapshot;
        self.active.checked = Arc::new(checked);
        self.allow_file_values(change.origin.way);
        self.active.origin = change.origin;
        self.active.text = change.text.into();
        self.active.file = change.file.into();
        self.finish_change(done.confirmed);
        Ok(ApplyOutcome {
            generation: number,
            diff: differs,
            warnings,
            needs_restart: needs_restart(&self.active.at_start, &self.active.config),
            confirmed: done.confirmed,
            ..ApplyOutcome::default()
        })
    }

    /// Removes commands that ended from disk too, publishes the new snapshot, and logs the changes.
    fn finish_change(&mut self, confirmed: bool) {
        self.save_server_state();
        self.publish();
        self.events.set_level(self.active.config.global.event_level);
        state_events::report_active_generation(&self.events, &self.active, confirmed);
        state_events::report_fewer_sockets(&self.events, &self.applied, &self.listeners);
    }

    fn plan(&self, text: &str, file: &str) -> Result<PlanOutcome, ApplyError> {
        let checked = load(text, file).map_err(ApplyError::Invalid)?;
        self.prepare(&checked.config, SystemTime::now())?;
        let diff: ConfigDiff = diff(&self.active.checked.config, &checked.config);
        let needs_restart = needs_restart(&self.active.at_start, &checked.config);
        let config = self.overlay_for(&checked).apply_to(&checked);
        let mut applied =
            self.applied.with_config(config, &SavedState::default(), SystemTime::now());
        let steps = listener_step::listener_steps(&self.applied, &mut applied);
        Ok(PlanOutcome {
            generation: self.active.generation,
            diff,
            warnings: checked.warnings,
            needs_restart,
            listeners: steps.iter().map(listener_step::ListenerStep::describe).collect(),
        })
    }

    /// A stored generation as a change.
    pub(super) fn stored_change(
        &self,
        to: Option<u64>,
        origin: ChangeOrigin,
    ) -> Result<RepeatedGeneration, RollbackError> {
        let stored = match to {
            Some(number) => {
                self.generations.find(number).ok_or_else(|| RollbackError::Unknown {
                    wanted: number,
                    kept: self.generations.list().iter().map(|record| record.number).collect(),
                })?
            }
            None => self
                .generations
                .previous(self.active.generation, &self.active.text)
                .ok_or(RollbackError::NonePrevious)?,
        };
        let origin = ChangeOrigin { way: ChangeTrigger::Rollback, ..origin };
        let change = ConfigChange::new(&*stored.text, &*stored.record.file, origin);
        Ok(RepeatedGeneration { change, number: stored.record.number })
    }

    fn begin_shutdown(&mut self, how: ShutdownRequest) -> Duration {
        let limit = how.limit.unwrap_or(self.active.config.global.drain);
        if how.handed_over {
            self.listeners.forget_all();
        }
        for (address, listener) in &self.applied.listeners {
            if !how.handed_over {
                self.listeners.release(*address);
            }
            self.engine.unlisten(listener.id, !how.handed_over);
        }
        self.save_server_state();
        self.engine.drain(limit);
        self.shutting_down = true;
        self.publish();
        limit
    }

    fn check_changeable(&self) -> Result<(), ApplyError> {
        if self.shutting_down {
            return Err(crate::state::change::DaemonStoppingError.into());
        }
        if self.handing_over { Err(ApplyError::HandingOver) } else { Ok(()) }
    }

    pub(super) fn update_server(
        &mut self,
        id: ServerId,
        change: impl FnOnce(&ServerFacts) -> ServerFacts,
    ) {
        if let Some(changed) = self.applied.change_server(id, change) {
            state_events::report_server_state(&self.events, &changed);
        }
    }

    /// Publishes the changes since `before` to workers and watchers.
    pub(super) fn publish_changes(&mut self, before: &AppliedState) {
        if !before.is_same_for_workers(&self.applied) {
            self.active.snapshot = self.applied.snapshot(self.active.generation);
            self.engine.install(Arc::clone(&self.active.snapshot));
        } else if before.has_same_facts(&self.applied) {
            return;
        }
        self.publish();
    }

    pub(super) fn publish(&mut self) {
        let failures = self.persistence_failures().iter().sum();
        let snapshot = self.active.state_snapshot(
            &self.applied,
            &self.listeners,
            failures,
            self.shutting_down,
        );
        let sources = self.sources.clone();
        let drift = self.config_file.drift();
        let unsaved = self.unsaved_now();
        let snapshot = StateSnapshot { sources, drift, unsaved, ..snapshot };
        self.publish.send_replace(Arc::new(snapshot));
    }

    /// Publishes what could not be stored, if that is news.
    pub(super) fn publish_unsaved(&mut self) {
        if self.publish.borrow().unsaved != self.unsaved_now() {
            self.publish();
        }
    }

    pub(super) fn save_server_state(&mut self) {
        let facts = self.applied.servers.values().map(|entry| &*entry.facts);
        self.state_file.save(SavedState::full(facts).with_overlay(&self.overlay));
    }

    /// Activates another server overlay; the generation stays.
    pub(super) async fn apply_overlay(&mut self, overlay: ServerOverlay) -> Result<(), ApplyError> {
        self.check_changeable()?;
        let config = overlay.apply_to(&self.active.checked);
        let applied = self.applied.with_config(config, &SavedState::default(), SystemTime::now());
        let number = self.active.generation;
        let done =
            apply::apply_change(&*self.engine, &mut self.listeners, &self.applied, applied, number)
                .await?;
        state_events::report_pools(&self.events, &self.applied, &done.state);
        self.applied = done.state;
        self.overlay = overlay;
        if let Some(config) = &self.applied.config {
            self.active.config = Arc::clone(config);
        }
        self.active.snapshot = done.snapshot;
        self.save_server_state();
        self.publish();
        Ok(())
    }
}

fn new_generation(change: &ConfigChange, repeats: Option<u64>) -> NewGeneration<'_> {
    NewGeneration { text: &change.text, file: &change.file, origin: &change.origin, repeats }
}
