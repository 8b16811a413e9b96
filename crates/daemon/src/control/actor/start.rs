//! Applies the first configuration, and starts the actor with what the predecessor left.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use model::config::{CheckedConfig, load};

use super::super::active_config::ActiveConfig;
use super::super::api_permissions::ApiPermissions;
use super::super::config_file::ConfigFileState;
use super::super::server_state_file::ServerStateFile;
use super::super::state_events;
use super::{ActorParts, ControlActor, new_generation};
use crate::control::audit::AuditLog;
use crate::control::generations::{GenerationStore, digest};
use crate::control::reconcile::applied_state::AppliedState;
use crate::control::reconcile::apply::{self, AppliedChange};
use crate::control::reconcile::tls_materials::with_tls_materials;
use crate::state::change::{ApplyError, ConfigChange};
use crate::state::handle::{ControlChannels, ControlHandle};
use crate::state::saved_state::PredecessorState;
use crate::tls::cert_store::{CertificateStore, PreparedStore};
use crate::util::monotonic_clock::monotonic_now;
use crate::util::wall_clock::WallClock;

/// The actor with the first configuration applied, ready to run.
pub struct StartedControl {
    pub control: ControlHandle,
    pub actor: ControlActor,
}

impl ControlActor {
    /// Applies the first configuration.
    ///
    /// # Errors
    /// As `ControlHandle::apply`; on failure everything that was opened is closed.
    pub async fn start(
        parts: ActorParts,
        mut change: ConfigChange,
    ) -> Result<StartedControl, ApplyError> {
        let ActorParts { engine, mut listeners, workers, state, file, predecessor: before, events } =
            parts;
        let checked = load(&change.text, &change.file).map_err(ApplyError::Invalid)?;
        let control = &checked.config.global.control;
        let mut generations =
            GenerationStore::open(state.as_deref(), control.generations, events.clone());
        let state_file = ServerStateFile::open(state.as_deref(), events.clone());
        before
            .as_ref()
            .map_or_else(|| crate::util::bpf_pins::refuse_foreign(&checked.config), |_| Ok(()))?;
        let PredecessorState { generation: at_least, saved: memory } =
            before.unwrap_or_else(|| PredecessorState {
                generation: 0,
                saved: state_file.saved_state().clone(),
            });
        generations.reserve_below(at_least);
        let audit = AuditLog::open(state.as_deref(), control.audit, events.clone());
        let overlay = memory.overlay.for_config(&checked);
        let now = SystemTime::now();
        let number = generations.number_for(&change.text).max(at_least).max(1);
        let empty = AppliedState::empty(workers);
        let prepared = CertificateStore::new(state.clone()).prepare(&checked.config, now)?;
        let PreparedStore { store: mut vault, warnings, .. } = prepared;
        let applied = with_tls_materials(
            empty.with_config(overlay.apply_to(&checked), &memory, now),
            &vault.materials(),
        );
        let done = apply::apply_change(&*engine, &mut listeners, &empty, applied, number).await?;
        let reached = ApiPermissions::new(&checked);
        generations.add(number, &new_generation(&change, None), now);
        state_events::report_file_warnings(&events, &warnings, &mut vault.cookies.warnings);
        let base = change.base.take();
        let active = first_active(number, now, change, checked, &done, &vault);
        let applied = done.state;
        let failures = generations.failures() + state_file.failures() + audit.failures();
        let first = active.state_snapshot(&applied, &listeners, failures, false);
        let ControlChannels { handle: control, commands: inbox, snapshots: publish } =
            ControlChannels::new(Arc::new(first), events.clone());
        let mut actor = ControlActor {
            engine,
            listeners,
            applied,
            generations,
            state_file,
            events,
            active,
            vault,
            proofs: BTreeMap::new(),
            overlay,
            audit,
            sources: BTreeMap::new(),
            config_file: ConfigFileState::new(file, state, None),
            clock: WallClock::new(now, monotonic_now()),
            permissions: reached,
            publish,
            inbox,
            handing_over: false,
            shutting_down: false,
            has_freed_memory: true,
        };
        actor.adopt_file_text(base);
        actor.vault.begin_fetching();
        actor.finish_change(done.confirmed);
        actor.tick();
        Ok(StartedControl { control, actor })
    }
}

/// The first configuration as the active one.
fn first_active(
    number: u64,
    now: SystemTime,
    change: ConfigChange,
    checked: CheckedConfig,
    done: &AppliedChange,
    vault: &CertificateStore,
) -> ActiveConfig {
    let config = done.state.config.clone().unwrap_or_else(|| Arc::new(checked.config.clone()));
    ActiveConfig {
        generation: number,
        since: now,
        started: now,
        digest: digest(&change.text),
        origin: change.origin,
        text: change.text.into(),
        file: change.file.into(),
        checked: Arc::new(checked),
        at_start: Arc::clone(&config),
        config,
        snapshot: Arc::clone(&done.snapshot),
        certificates: Arc::new(vault.certificates()),
    }
}
