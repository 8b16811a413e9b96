//! Which captures are called for: rules, exchanges that were measured, and what was counted go in; what is to be watched
//! and what is to be taken comes out. Pure.
//!
//! Conditions are `model::capture`'s. Packets are not known here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use model::capture::{CaptureReason, CaptureTrigger, FailureCounts};
use model::snapshot::{PoolView, ServerView, ServiceView};
use model::time_attribution::{ExchangeMeasurement, attribute_time};

use super::ring::CaptureFlow;
use crate::state::StateSnapshot;

/// Between two looks at what was counted, nanoseconds.
const COUNT: u64 = 1_000_000_000;

/// What is to be watched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchedTraffic {
    /// Ports of services and servers; none: nothing is watched.
    pub ports: BTreeSet<u16>,
    /// Bytes that are kept beyond the headers of packets that begin a head of HTTP/1.
    pub payload: u32,
    /// Bytes that are kept in memory.
    pub size: u64,
}

/// What is to be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureJob {
    pub rule: String,
    /// Why; `None`: it is added to what is being taken.
    pub reason: Option<String>,
    /// Connections, each with what is said of it.
    pub flows: Vec<(CaptureFlow, String)>,
    /// How long it goes on.
    pub time: Duration,
    pub size: u64,
    /// Files that are kept.
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
    /// Follows a snapshot; what is to be watched from now on, if that is something else.
    pub fn follow(&mut self, picture: &Arc<StateSnapshot>) -> Option<WatchedTraffic> {
        if self.state.as_ref().is_some_and(|seen| Arc::ptr_eq(seen, picture)) {
            return None;
        }
        self.state = Some(Arc::clone(picture));
        let captures = &picture.config.captures;
        self.triggers.retain(|name, _| captures.contains_key(name));
        for (name, config) in captures {
            match self.triggers.get_mut(name) {
                Some(trigger) => trigger.update_config(config),
                None => drop(self.triggers.insert(name.clone(), CaptureTrigger::new(config))),
            }
        }
        let watch = self.watched_traffic(picture);
        (watch != self.watch).then(|| {
            self.watch = watch.clone();
            watch
        })
    }

    fn watched_traffic(&self, picture: &StateSnapshot) -> WatchedTraffic {
        let mut watch = WatchedTraffic::default();
        for trigger in self.triggers.values() {
            let config = trigger.config();
            watch.payload = watch.payload.max(config.payload);
            watch.size = watch.size.max(config.size);
            for service in services(picture, trigger) {
                let all = endpoints(picture, service);
                watch.ports.extend(all.iter().map(|flow| flow.port));
            }
        }
        watch
    }

    /// What these exchanges call for, and what was counted until now, nanoseconds on the workers' clock.
    pub fn evaluate(&mut self, facts: &[ExchangeMeasurement], now: u64) -> Vec<CaptureJob> {
        let Some(picture) = self.state.clone() else { return Vec::new() };
        let mut takes = Vec::new();
        for facts in facts {
            let service = picture.snapshot.services.values().find(|it| it.id.0 == facts.service);
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
                let note = note(&picture, service, facts, &why);
                let about = begins.map(|why| format!("{}: {why}; {note}", trigger.config().name));
                takes.push(capture_job(trigger, about, flows(&picture, facts, &note)));
            }
        }
        if now.saturating_sub(self.counted) >= COUNT {
            self.counted = now;
            takes.extend(self.evaluate_counts(&picture, now));
        }
        takes
    }

    fn evaluate_counts(&mut self, picture: &StateSnapshot, now: u64) -> Vec<CaptureJob> {
        let mut takes = Vec::new();
        for trigger in self.triggers.values_mut().filter(|it| it.config().errors.is_some()) {
            let of: Vec<&ServiceView> = services(picture, trigger).collect();
            let sums = of.iter().fold(FailureCounts::default(), |sums, view| sum(sums, view));
            if let Some(why) = trigger.check_failure_rate(sums, now) {
                takes.push(capture_services(picture, trigger, &of, &why));
            }
        }
        takes
    }

    /// Takes everything that a rule is about, now, whether it waits or not; `None`: there is no such rule.
    pub fn trigger_manually(&mut self, rule: &str, by: &str, now: u64) -> Option<CaptureJob> {
        let picture = self.state.clone()?;
        let trigger = self.triggers.get_mut(rule)?;
        trigger.record_capture(now);
        let of: Vec<&ServiceView> = services(&picture, trigger).collect();
        Some(capture_services(&picture, trigger, &of, &CaptureReason::Requested(by.to_owned())))
    }

    pub fn rules(&self) -> &BTreeMap<String, CaptureTrigger> {
        &self.triggers
    }
}

fn capture_job(
    trigger: &CaptureTrigger,
    about: Option<String>,
    flows: Vec<(CaptureFlow, String)>,
) -> CaptureJob {
    let config = trigger.config();
    let rule = config.name.clone();
    let time = config.time;
    CaptureJob { rule, reason: about, flows, time, size: config.size, max_files: config.keep }
}

fn capture_services(
    picture: &StateSnapshot,
    trigger: &CaptureTrigger,
    of: &[&ServiceView],
    why: &CaptureReason,
) -> CaptureJob {
    let flows = of.iter().flat_map(|view| endpoints(picture, view));
    let about = format!("{}: {why}", trigger.config().name);
    capture_job(trigger, Some(about), flows.map(|flow| (flow, String::new())).collect())
}

fn sum(before: FailureCounts, view: &ServiceView) -> FailureCounts {
    let each = view.stats.slots.iter().map(|slot| &slot.counters);
    each.fold(before, |sums, counters| {
        let failed =
            counters.answered_by_us.get() + counters.aborted.get() + counters.status_5xx.get();
        FailureCounts { all: sums.all + counters.requests.get(), failed: sums.failed + failed }
    })
}

fn about(trigger: &CaptureTrigger, service: &ServiceView) -> bool {
    let named = trigger.config().service.as_ref();
    named.is_none_or(|name| *name == service.config.name) && service.config.packets.is_none()
}

fn services<'a>(
    picture: &'a StateSnapshot,
    trigger: &CaptureTrigger,
) -> impl Iterator<Item = &'a ServiceView> + use<'a> {
    let trigger = trigger.clone();
    let all = picture.snapshot.services.values().map(Arc::as_ref);
    all.filter(move |view| about(&trigger, view))
}

/// Where a service listens and its servers are.
fn endpoints(picture: &StateSnapshot, service: &ServiceView) -> Vec<CaptureFlow> {
    let listens = service.config.listen.iter().map(|at| CaptureFlow {
        ip: Some(at.ip()).filter(|ip| !ip.is_unspecified()),
        port: at.port(),
        other: None,
    });
    let of_rules = service.rules.iter().flat_map(|ruling| ruling.pools.iter());
    let ids: BTreeSet<_> = of_rules.copied().chain([service.pool]).collect();
    let pools = picture.snapshot.pools.values().filter(|pool| ids.contains(&pool.id));
    let servers = pools.flat_map(|pool| pool.servers.iter().filter_map(|one| one.address));
    let servers = servers.map(|at| CaptureFlow { ip: Some(at.ip()), port: at.port(), other: None });
    listens.chain(servers).collect()
}

/// The connections of an exchange: its client's, and the one to its server where that is known.
fn flows(
    picture: &StateSnapshot,
    facts: &ExchangeMeasurement,
    note: &str,
) -> Vec<(CaptureFlow, String)> {
    let client = CaptureFlow { ip: Some(facts.client), port: facts.client_port, other: None };
    let at = server(picture, facts).and_then(|(_, view)| view.address);
    let server = at.filter(|_| facts.server_port != 0).map(|at| CaptureFlow {
        ip: Some(at.ip()),
        port: at.port(),
        other: Some(facts.server_port),
    });
    [Some(client).filter(|flow| flow.port != 0), server]
        .into_iter()
        .flatten()
        .map(|flow| (flow, note.to_owned()))
        .collect()
}

fn server<'a>(
    picture: &'a StateSnapshot,
    facts: &ExchangeMeasurement,
) -> Option<(&'a PoolView, &'a ServerView)> {
    let id = facts.server?;
    let mut all = picture
        .snapshot
        .pools
        .values()
        .flat_map(|pool| pool.servers.iter().map(move |view| (Arc::as_ref(pool), view)));
    all.find(|(_, view)| view.id.0 == id)
}

/// An exchange in a line.
fn note(
    picture: &StateSnapshot,
    service: &ServiceView,
    facts: &ExchangeMeasurement,
    why: &CaptureReason,
) -> String {
    let by = server(picture, facts).map(|(pool, view)| {
        let at = view.address.map(|at| format!(" ({at})")).unwrap_or_default();
        format!(" by {}/{}{at}", pool.config.name, view.config.name)
    });
    let whose = attribute_time(facts).largest().map(|bar| {
        let owner = bar.owner.map_or("unknown", model::limit::TimeOwner::name);
        format!("; most of it {owner}: {}", bar.limit.code())
    });
    let client = std::net::SocketAddr::new(facts.client, facts.client_port);
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
