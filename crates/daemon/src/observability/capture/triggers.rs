//! Which captures are called for: rules, exchanges that were measured, and what was counted go in; what is to be watched
//! and what is to be taken comes out. Pure.
//!
//! Conditions are `model::capture`'s. Packets are not known here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use model::capture::{CaptureReason, CaptureTrigger, FailureCounts};
use model::client_address::display_client;
use model::exchange_error::ErrorTally;
use model::snapshot::{PoolView, ServerView, ServiceView};
use model::time_attribution::{ExchangeMeasurement, attribute_time};

use super::ring::{AnnotatedFlow, CaptureFlow};
use crate::state::StateSnapshot;

/// The interval between checks of counters, nanoseconds.
const COUNT: u64 = 1_000_000_000;

/// The traffic to capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchedTraffic {
    /// Ports of services and servers; none: nothing is watched.
    pub ports: BTreeSet<u16>,
    /// Bytes stored beyond the headers of packets that begin an HTTP/1 head.
    pub payload: u32,
    /// Bytes held in memory.
    pub size: u64,
}

/// A capture to start or extend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureJob {
    pub rule: String,
    /// The reason of a new capture; `None`: it extends a running one.
    pub reason: Option<String>,
    pub flows: Vec<AnnotatedFlow>,
    pub time: Duration,
    pub size: u64,
    /// The number of files to store.
    pub max_files: usize,
}

#[derive(Debug, Default)]
pub struct CaptureTriggers {
    triggers: BTreeMap<String, CaptureTrigger>,
    watch: WatchedTraffic,
    state: Option<Arc<StateSnapshot>>,
    counted: u64,
}

impl CaptureTriggers {
    /// Follows a snapshot; returns the traffic to capture if it has changed.
    pub fn follow(&mut self, snapshot: &Arc<StateSnapshot>) -> Option<WatchedTraffic> {
        if self.state.as_ref().is_some_and(|seen| Arc::ptr_eq(seen, snapshot)) {
            return None;
        }
        self.state = Some(Arc::clone(snapshot));
        let captures = &snapshot.config.captures;
        self.triggers.retain(|name, _| captures.contains_key(name));
        for (name, config) in captures {
            match self.triggers.get_mut(name) {
                Some(trigger) => trigger.update_config(config),
                None => drop(self.triggers.insert(name.clone(), CaptureTrigger::new(config))),
            }
        }
        let watch = self.watched_traffic(snapshot);
        (watch != self.watch).then(|| {
            self.watch = watch.clone();
            watch
        })
    }

    fn watched_traffic(&self, snapshot: &StateSnapshot) -> WatchedTraffic {
        let mut watch = WatchedTraffic::default();
        for trigger in self.triggers.values() {
            let config = trigger.config();
            watch.payload = watch.payload.max(config.payload);
            watch.size = watch.size.max(config.size);
            for service in services(snapshot, trigger) {
                let all = endpoints(snapshot, service);
                watch.ports.extend(all.iter().map(|flow| flow.port));
            }
        }
        watch
    }

    /// The captures that these exchanges and the counters trigger; `now`: nanoseconds on the workers' clock.
    pub fn evaluate(&mut self, facts: &[ExchangeMeasurement], now: u64) -> Vec<CaptureJob> {
        let Some(snapshot) = self.state.clone() else { return Vec::new() };
        let mut takes = Vec::new();
        for facts in facts {
            let service = snapshot.snapshot.services.values().find(|it| it.id.0 == facts.service);
            let Some(service) = service else { continue };
            let bars = attribute_time(facts);
            for trigger in self.triggers.values_mut() {
                if !about(trigger, service) {
                    continue;
                }
                let begins = trigger.check_exchange(facts, &bars, now);
                let goes_on = begins.is_none() && trigger.is_active(now);
                let why = begins
                    .clone()
                    .or_else(|| trigger.match_exchange(facts, &bars).filter(|_| goes_on));
                let Some(why) = why else { continue };
                let note = note(&snapshot, service, facts, &why);
                let about = begins.map(|why| format!("{}: {why}; {note}", trigger.config().name));
                takes.push(capture_job(trigger, about, flows(&snapshot, facts, &note)));
            }
        }
        if now.saturating_sub(self.counted) >= COUNT {
            self.counted = now;
            takes.extend(self.evaluate_counts(&snapshot, now));
        }
        takes
    }

    fn evaluate_counts(&mut self, snapshot: &StateSnapshot, now: u64) -> Vec<CaptureJob> {
        let mut takes = Vec::new();
        for trigger in self.triggers.values_mut().filter(|it| it.config().errors.is_some()) {
            let of: Vec<&ServiceView> = services(snapshot, trigger).collect();
            let sums = of.iter().fold(FailureCounts::default(), |sums, view| sum(sums, view));
            if let Some(why) = trigger.check_failure_rate(sums, now) {
                takes.push(capture_services(snapshot, trigger, &of, &why));
            }
        }
        takes
    }

    /// Takes everything that a rule is about, now, whether it waits or not; `None`: there is no such rule.
    pub fn trigger_manually(&mut self, rule: &str, by: &str, now: u64) -> Option<CaptureJob> {
        let snapshot = self.state.clone()?;
        let trigger = self.triggers.get_mut(rule)?;
        trigger.record_capture(now);
        let of: Vec<&ServiceView> = services(&snapshot, trigger).collect();
        Some(capture_services(&snapshot, trigger, &of, &CaptureReason::Requested(by.to_owned())))
    }

    pub fn rules(&self) -> &BTreeMap<String, CaptureTrigger> {
        &self.triggers
    }
}

fn capture_job(
    trigger: &CaptureTrigger,
    about: Option<String>,
    flows: Vec<AnnotatedFlow>,
) -> CaptureJob {
    let config = trigger.config();
    let rule = config.name.clone();
    let time = config.time;
    CaptureJob { rule, reason: about, flows, time, size: config.size, max_files: config.keep }
}

fn capture_services(
    snapshot: &StateSnapshot,
    trigger: &CaptureTrigger,
    of: &[&ServiceView],
    why: &CaptureReason,
) -> CaptureJob {
    let flows = of.iter().flat_map(|view| endpoints(snapshot, view));
    let about = format!("{}: {why}", trigger.config().name);
    let flows = flows.map(|flow| AnnotatedFlow { flow, note: String::new() }).collect();
    capture_job(trigger, Some(about), flows)
}

fn sum(before: FailureCounts, view: &ServiceView) -> FailureCounts {
    let tally = ErrorTally::of_service(&view.stats);
    FailureCounts { all: before.all + tally.ended, failed: before.failed + tally.errors() }
}

fn about(trigger: &CaptureTrigger, service: &ServiceView) -> bool {
    let named = trigger.config().service.as_ref();
    named.is_none_or(|name| *name == service.config.name) && service.config.packets.is_none()
}

fn services<'a>(
    snapshot: &'a StateSnapshot,
    trigger: &CaptureTrigger,
) -> impl Iterator<Item = &'a ServiceView> + use<'a> {
    let trigger = trigger.clone();
    let all = snapshot.snapshot.services.values().map(Arc::as_ref);
    all.filter(move |view| about(&trigger, view))
}

/// Where a service listens and its servers are.
fn endpoints(snapshot: &StateSnapshot, service: &ServiceView) -> Vec<CaptureFlow> {
    let listens = service.config.listen.iter().map(|at| CaptureFlow {
        ip: Some(at.ip()).filter(|ip| !ip.is_unspecified()),
        port: at.port(),
        other: None,
    });
    let of_rules = service.rules.iter().flat_map(|ruling| ruling.pools.iter());
    let ids: BTreeSet<_> = of_rules.copied().chain([service.pool]).collect();
    let pools = snapshot.snapshot.pools.values().filter(|pool| ids.contains(&pool.id));
    let servers = pools.flat_map(|pool| pool.servers.iter().filter_map(ServerView::socket_address));
    let servers = servers.map(|at| CaptureFlow { ip: Some(at.ip()), port: at.port(), other: None });
    listens.chain(servers).collect()
}

/// The connections of an exchange: its client's, and the one to its server where that is known.
fn flows(snapshot: &StateSnapshot, facts: &ExchangeMeasurement, note: &str) -> Vec<AnnotatedFlow> {
    let client = CaptureFlow { ip: Some(facts.client), port: facts.client_port, other: None };
    let at = find_server(snapshot, facts).and_then(|found| found.server.socket_address());
    let server = at.filter(|_| facts.server_port != 0).map(|at| CaptureFlow {
        ip: Some(at.ip()),
        port: at.port(),
        other: Some(facts.server_port),
    });
    [Some(client).filter(|flow| flow.port != 0), server]
        .into_iter()
        .flatten()
        .map(|flow| AnnotatedFlow { flow, note: note.to_owned() })
        .collect()
}

/// The server of an exchange, with its pool.
struct ExchangeServer<'a> {
    pool: &'a PoolView,
    server: &'a ServerView,
}

fn find_server<'a>(
    snapshot: &'a StateSnapshot,
    facts: &ExchangeMeasurement,
) -> Option<ExchangeServer<'a>> {
    let id = facts.server?;
    let mut all =
        snapshot.snapshot.pools.values().flat_map(|pool| {
            pool.servers.iter().map(move |server| ExchangeServer { pool, server })
        });
    all.find(|found| found.server.id.0 == id)
}

/// An exchange in a line.
fn note(
    snapshot: &StateSnapshot,
    service: &ServiceView,
    facts: &ExchangeMeasurement,
    why: &CaptureReason,
) -> String {
    let by = find_server(snapshot, facts).map(|ExchangeServer { pool, server }| {
        let at = server.address.as_ref().map(|at| format!(" ({at})")).unwrap_or_default();
        format!(" by {}/{}{at}", pool.config.name, server.config.name)
    });
    let whose = attribute_time(facts).largest().map(|bar| {
        let owner = bar.owner.map_or("unknown", model::limit::TimeOwner::name);
        format!("; most of it {owner}: {}", bar.limit.code())
    });
    let client = display_client(std::net::SocketAddr::new(facts.client, facts.client_port));
    let took = Duration::from_nanos(facts.slowness());
    let status = if facts.status > 0 { format!(", {}", facts.status) } else { String::new() };
    format!(
        "exchange {:016x} of {} for {client}{}, {took:.1?}{status}{} ({why})",
        facts.id,
        service.config.name,
        by.unwrap_or_default(),
        whose.unwrap_or_default()
    )
}
