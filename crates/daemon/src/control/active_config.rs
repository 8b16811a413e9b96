//! The active configuration beside servers and listeners, and the state snapshot of all of it. This module changes
//! nothing.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use model::config::{AccessLogTarget, CheckedConfig, Config, GlobalConfig, TelemetryConfig};
use model::snapshot::WorkerSnapshot;

use crate::control::reconcile::applied_state::AppliedState;
use crate::state::origin::ChangeOrigin;
use crate::state::state_snapshot::{CertificatesByService, ListenerFacts, StateSnapshot};
use crate::util::listeners::ListenerSet;

/// The active configuration and its data.
pub(super) struct ActiveConfig {
    pub generation: u64,
    pub since: SystemTime,
    /// When the process began.
    pub started: SystemTime,
    /// Digest of the text.
    pub digest: String,
    pub origin: ChangeOrigin,
    pub text: Arc<str>,
    /// The path that it was read from.
    pub file: Arc<str>,
    pub checked: Arc<CheckedConfig>,
    /// The configuration, sharing unchanged parts with the previous one.
    pub config: Arc<Config>,
    /// The configuration at the start of the process. Settings that need a restart are compared with it.
    pub at_start: Arc<Config>,
    /// The snapshot that workers use.
    pub snapshot: Arc<WorkerSnapshot>,
    /// The certificates of services.
    pub certificates: Arc<CertificatesByService>,
}

impl ActiveConfig {
    pub fn state_snapshot(
        &self,
        applied: &AppliedState,
        listeners: &ListenerSet,
        state_failures: u64,
        leaving: bool,
    ) -> StateSnapshot {
        let open = applied.listeners.iter().filter(|_| !leaving).map(|(address, listener)| {
            let sockets = listeners.open_at(*address);
            let id = listener.id;
            let service = listener.service;
            let service_name = listener.service_name.clone();
            (*address, ListenerFacts { id, service, service_name, sockets })
        });
        let servers = applied.servers.iter().map(|(id, entry)| (*id, Arc::clone(&entry.facts)));
        StateSnapshot {
            generation: self.generation,
            since: self.since,
            started: self.started,
            digest: self.digest.clone(),
            origin: self.origin.clone(),
            text: Arc::clone(&self.text),
            file: Arc::clone(&self.file),
            checked: Arc::clone(&self.checked),
            config: Arc::clone(&self.config),
            snapshot: Arc::clone(&self.snapshot),
            certificates: Arc::clone(&self.certificates),
            servers: servers.collect(),
            listeners: open.collect(),
            workers: applied.worker_count(),
            needs_restart: needs_restart(&self.at_start, &self.config),
            shutting_down: leaving,
            state_failures,
            unsaved: Vec::new(),
            sources: BTreeMap::new(),
            drift: None,
        }
    }
}

/// Settings that differ from those at the start and require a restart.
pub(super) fn needs_restart(first: &Config, now: &Config) -> Vec<String> {
    // Every field is named, so that a new one cannot be forgotten here. Fields that are not compared take effect at
    // once.
    let GlobalConfig {
        workers,
        connections,
        access_log,
        control,
        metrics: _,
        telemetry,
        drain: _,
        sample,
        sticky_secret_file: _,
        certificate_warning: _,
        event_level: _,
        hooks: _,
        history: _,
    } = &first.global;
    let new = &now.global;
    let traces = |telemetry: &Option<TelemetryConfig>| {
        telemetry.as_ref().is_some_and(|telemetry| telemetry.traces)
    };
    let off = |target: &AccessLogTarget| *target == AccessLogTarget::Off;
    let differ = [
        ("workers", *workers != new.workers),
        ("connections", *connections != new.connections),
        ("sample", *sample != new.sample),
        ("telemetry.traces", traces(telemetry) != traces(&new.telemetry)),
        ("access-log.all", access_log.all != new.access_log.all),
        ("access-log.format", access_log.format != new.access_log.format),
        ("access-log.sample", access_log.sample != new.access_log.sample),
        ("access-log.fields", access_log.fields != new.access_log.fields),
        ("access-log.target", off(&access_log.target) != off(&new.access_log.target)),
        ("control.socket", control.socket != new.control.socket),
        ("control.mode", control.mode != new.control.mode),
        ("control.state", control.state != new.control.state),
    ];
    let keys = differ.into_iter().filter(|(_, differs)| *differs);
    let threads = &first.name_server;
    let wanted = &now.name_server;
    let fewer = !threads.listen.is_empty() && threads.threads != wanted.threads;
    let names = fewer.then(|| "names.threads".to_owned());
    keys.map(|(key, _)| format!("global.{key}")).chain(names).collect()
}
