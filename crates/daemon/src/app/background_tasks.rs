//! The tasks that run as long as the app: which there are, and what each gets.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::task::JoinSet;

use super::clock;
use crate::control::actor::ControlActor;
use crate::discovery;
use crate::discovery::resolve;
use crate::health::adaptive_balancing;
use crate::health::health_check;
use crate::observability::access_log;
use crate::observability::alarms;
use crate::observability::exchange_collector;
use crate::observability::history::HistoryRecorder;
use crate::observability::hook;
use crate::observability::report::report_sources::ReportSources;
use crate::observability::slo_collector;
use crate::observability::telemetry;
use crate::planes::draining_clients;
use crate::planes::vrrp;
use crate::state::ControlHandle;
use crate::tls;
use crate::tls::acme;

/// Starts the tasks that change state, and those that check servers and adjust weights.
pub(super) fn spawn_control_tasks(
    control: &ControlHandle,
    actor: ControlActor,
    pulse: vrrp::ControlPulse,
    prober: health_check::Prober,
    vitals: &ReportSources,
) -> JoinSet<()> {
    let board = Arc::clone(&vitals.evidence);
    let weighed = Arc::clone(&vitals.balancing_decisions);
    let mut tasks = JoinSet::new();
    tasks.spawn(actor.run());
    tasks.spawn(pulse.run(control.watch()));
    tasks.spawn(prober.run(control.clone()));
    tasks.spawn(adaptive_balancing::run(control.clone(), board, weighed, vitals.packets.clone()));
    tasks
}

/// Starts the tasks that only follow snapshots or poll; no other task waits for them.
pub(super) fn spawn_observers(
    tasks: &mut JoinSet<()>,
    control: &ControlHandle,
    vitals: &Arc<ReportSources>,
    state: Option<PathBuf>,
    annals: &Arc<HistoryRecorder>,
) {
    tasks.spawn(acme::run(control.clone(), Arc::clone(&vitals.certificate_orders), state));
    let weighed = Arc::clone(&vitals.balancing_decisions);
    tasks.spawn(adaptive_balancing::ejection::run(
        control.clone(),
        weighed,
        vitals.activity.follow(),
        crate::util::random_seed::random_seed(),
    ));
    tasks.spawn(resolve::run(control.clone()));
    tasks.spawn(clock::run(control.clone()));
    tasks.spawn(discovery::run(control.clone()));
    tasks.spawn(hook::run(control.clone()));
    tasks.spawn(alarms::run(Arc::clone(vitals)));
    tasks.spawn(Arc::clone(annals).run(Arc::clone(vitals)));
    tasks.spawn(tls::cert_watch::run(control.clone()));
    tasks.spawn(access_log::follow_config(control.clone(), Arc::clone(&vitals.access)));
    tasks.spawn(exchange_collector::run(Arc::clone(vitals)));
    tasks.spawn(telemetry::exporter::run(control.clone(), Arc::clone(&vitals.telemetry)));
    let sources = Arc::clone(vitals);
    tasks.spawn(draining_clients::run(
        control.clone(),
        vitals.packets.clone(),
        move || (sources.read_open_counts)().now,
        Arc::clone(&vitals.draining_clients),
    ));
    tasks.spawn(slo_collector::run(control.clone(), Arc::clone(&vitals.slo), Arc::clone(annals)));
    tasks.spawn(Arc::clone(vitals).run_sampler());
    tasks.spawn(Arc::clone(&vitals.activity).run());
}
