//! Notices of the datapath and counts of the sweep, and what follows: alarms, next hops of clients, the view.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use l4::abi::{Event, Notice};
use l4::next_hops::{NextHopRequest, ServerRoute};
use l4::plan::encoding::from_mapped_bytes;
use l4::replica::FlowHashSecret;
use model::config::{Config, EventLevel};

use super::PacketPlaneTask;
use crate::planes::packets::alarms::{PlaneEvent, ScarceResource};
use crate::planes::packets::connection_tables::ConnectionTables;
use crate::planes::packets::half_open_clients::FloodSources;
use crate::planes::packets::open_plane::error_chain;
use crate::planes::packets::view::{FlowSampleReading, PlaneCounterSample};
use crate::planes::packets::{flow_samples, host_facts, view_builder};
use crate::state::StateSnapshot;
use crate::util::event::EventFields;

/// Bounds the clients' next hops requested in one tick; the datapath repeats the others.
const CLIENTS: usize = 32;
/// The standing alarm of services with too many half-open connections.
const HALF_OPEN: &str = "half-open";
/// The subject of events about connections that were evicted.
const PLANE: &str = "the packet plane";

impl PacketPlaneTask {
    /// Handles the datapath's notices since the last tick.
    pub(super) async fn handle_notices(&mut self, snapshot: &StateSnapshot) {
        let Some(site) = &self.open_plane else { return };
        let mut clients = BTreeSet::new();
        for notice in site.take_notices() {
            self.handle_notice(&notice, snapshot, &mut clients);
        }
        let Some(kernel) = &self.kernel else { return };
        for client in clients.into_iter().take(CLIENTS) {
            if let ServerRoute::Via { ifindex, next, .. } = kernel.route(client).await {
                kernel.request_neighbour(NextHopRequest::Use(ifindex, next)).await;
            }
        }
    }

    fn handle_notice(
        &mut self,
        notice: &Notice,
        snapshot: &StateSnapshot,
        clients: &mut BTreeSet<IpAddr>,
    ) {
        let now = self.now();
        let about = from_mapped_bytes(notice.addr);
        let told = match Event::of(notice.event) {
            Some(Event::EventClientNeighbour) => {
                clients.insert(about);
                None
            }
            Some(Event::EventHalfOpen) => {
                self.service_name(notice.service, snapshot).and_then(|name| {
                    self.alarms.half_open_clients.count_syn(&name, about);
                    let sources = self.alarms.half_open_clients.sources(&name);
                    // The datapath puts how many there are where others have an interface.
                    let half_open = notice.ifindex;
                    let limit = limit(&name, snapshot);
                    self.alarms.check_half_open(&name, half_open, limit, &sources)
                })
            }
            Some(Event::EventNoPort) => {
                self.alarms.note_exhausted(ScarceResource::Ports, &about.to_string(), now)
            }
            Some(Event::EventTableFull) => {
                let of = self.service_name(notice.service, snapshot);
                let of = of.map_or_else(|| PLANE.to_owned(), |name| format!("service {name}"));
                self.alarms.note_exhausted(ScarceResource::Records, &of, now)
            }
            // Servers' next hops are confirmed each second anyway.
            _ => None,
        };
        self.emit_event(told);
    }

    fn service_name(&self, index: u32, snapshot: &StateSnapshot) -> Option<String> {
        let planner = &self.open_plane.as_ref()?.planner;
        snapshot
            .config
            .services
            .keys()
            .find(|name| planner.service_index(name) == Some(index))
            .cloned()
    }

    /// Publishes obstacles, and logs services that are not forwarded and were not in `before`, with the reason.
    pub(super) fn publish_obstacles(
        &mut self,
        before: &BTreeMap<String, String>,
        snapshot: &StateSnapshot,
    ) {
        let Some(site) = &self.open_plane else { return };
        for (name, why) in
            site.obstacles.iter().filter(|(name, why)| before.get(*name) != Some(why))
        {
            let about = EventFields::from([("service", name.clone())]);
            let text = format!("service {name} is not forwarded: {why}");
            self.events.emit(EventLevel::Error, "packets-refused", text, about);
        }
        view_builder::fill_view(&mut self.view, site, snapshot);
        self.mark_alarms();
    }

    /// Marks services with a raised alarm, and who floods them.
    fn mark_alarms(&mut self) {
        for (name, flows) in &mut self.view.flows {
            flows.alarm = self.alarms.is_half_open_raised(name);
            flows.flood_sources = match flows.alarm {
                true => self.alarms.half_open_clients.sources(name),
                false => FloodSources::default(),
            };
            let subject = format!("service {name}");
            if !flows.alarm {
                self.events.faults().end(HALF_OPEN, &subject);
                continue;
            }
            let from = flows.flood_sources.describe().map(|text| format!("; {text}"));
            let half_open = flows.half_open;
            let reason = format!("{half_open} half-open connections{}", from.unwrap_or_default());
            self.events.faults().begin(HALF_OPEN, subject, reason);
        }
        let flows = &self.view.flows;
        let is_there =
            |of: &str| of.strip_prefix("service ").is_some_and(|it| flows.contains_key(it));
        self.events.faults().retain(HALF_OPEN, is_there);
    }

    /// The tables and the current meaning of their indexes, if they are replicated.
    pub(super) fn connection_tables(&self, config: &Config) -> Option<Arc<ConnectionTables>> {
        let site = self.open_plane.as_ref().filter(|_| !config.heartbeats.is_empty())?;
        site.connection_tables(config).map(Arc::new)
    }

    /// Connections are hashed with another machine's secret from now on.
    pub(super) fn change_hash_secret(&mut self, secret: &FlowHashSecret) {
        let Some(site) = &mut self.open_plane else { return };
        match site.change_hash_secret(secret, host_facts::clock_tick()) {
            Ok(false) => {}
            Ok(true) => {
                self.tables_changed = true;
                let text = "connections are hashed as on the other member from now on; those of `mac` and `tunnel` that \
                            were here are chosen anew";
                self.events.info("connections-rehashed", text.to_owned());
            }
            Err(error) => self.report_error(Some(error_chain(&error))),
        }
    }

    /// Counts connections and packets, and updates alarms.
    pub(super) fn sweep(&mut self, snapshot: &StateSnapshot) {
        self.read_flow_samples(snapshot);
        let Some(site) = &mut self.open_plane else { return };
        let services: Vec<u32> = snapshot
            .config
            .services
            .keys()
            .filter_map(|name| site.planner.service_index(name))
            .collect();
        let keeping = view_builder::draining_servers(site, snapshot);
        let swept = site.sweep(host_facts::clock_tick(), &services, &keeping);
        match swept.and_then(|()| site.read_counters(&services)) {
            Ok(counts) => {
                view_builder::store_sample(
                    &mut self.view,
                    PlaneCounterSample { at: Instant::now(), counts },
                );
                view_builder::fill_view(&mut self.view, site, snapshot);
            }
            Err(error) => return self.report_error(Some(error_chain(&error))),
        }
        self.update_alarms(snapshot);
    }

    /// Reads samples before the sweep lets the datapath reuse their slots.
    fn read_flow_samples(&mut self, snapshot: &StateSnapshot) {
        let Some(site) = &mut self.open_plane else { return };
        match site.read_flow_samples(snapshot.config.packets.insight, host_facts::clock_nanos()) {
            Ok(FlowSampleReading { deltas, view }) => {
                self.view.flow_samples = view;
                let changes = flow_samples::number_samples(site, snapshot, deltas);
                self.flow_samples.record_changes(changes, &snapshot.snapshot);
            }
            Err(error) => self.report_error(Some(error_chain(&error))),
        }
    }

    /// Raises and clears alarms by the counts.
    fn update_alarms(&mut self, snapshot: &StateSnapshot) {
        let now = self.now();
        let mut told = Vec::new();
        for (name, flows) in &self.view.flows {
            let Some(limit) = limit(name, snapshot) else {
                // An alarm without a threshold is over.
                let none = FloodSources::default();
                told.extend(self.alarms.check_half_open(name, flows.half_open, None, &none));
                continue;
            };
            let sources = self.alarms.half_open_clients.sources(name);
            let limit = Some(limit);
            told.extend(self.alarms.check_half_open(name, flows.half_open, limit, &sources));
        }
        self.alarms.half_open_clients.age();
        self.mark_alarms();
        told.extend(self.alarms.retain(|name| self.view.flows.contains_key(name)));
        let evicted = self.view.current.as_ref().map_or(0, |sample| sample.counts.evicted);
        let before = self.evicted.replace(evicted);
        if before.is_some_and(|before| evicted > before) {
            told.extend(self.alarms.note_exhausted(ScarceResource::Flows, PLANE, now));
        }
        told.extend(self.alarms.clear_exhausted(now));
        told.into_iter().for_each(|told| self.emit_event(Some(told)));
    }

    pub(super) fn emit_event(&self, told: Option<PlaneEvent>) {
        if let Some(PlaneEvent { level, kind: what, text, fields: about }) = told {
            self.events.emit(level, what, text, about);
        }
    }
}

/// The number of half-open connections that raises a service's alarm.
fn limit(name: &str, snapshot: &StateSnapshot) -> Option<u32> {
    snapshot.config.services.get(name)?.packets.as_ref()?.guard.half_open
}
