//! What the datapath tells and the sweep counts, and what follows: alarms, next hops of clients, the view.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use l4::abi::{Event, Notice};
use l4::hops::{Request, Route};
use l4::plan::form::from_address;
use l4::replica::Secret;
use model::config::Config;

use super::Life;
use crate::control::Picture;
use crate::event::Level;
use crate::packets::alarms::{Scarce, Told};
use crate::packets::site::chain;
use crate::packets::tables::Tables;
use crate::packets::view::Sample;
use crate::packets::{facts, insight, shows};

/// Next hops of clients that are asked for in one tick; the datapath asks again for the others.
const CLIENTS: usize = 32;
/// Of whom it is told that connections were given up.
const PLANE: &str = "the packet plane";

impl Life {
    /// Takes what the datapath has told since the last tick.
    pub(super) async fn heed(&mut self, picture: &Picture) {
        let Some(site) = &self.site else { return };
        let mut clients = BTreeSet::new();
        for notice in site.heard() {
            self.heed_one(&notice, picture, &mut clients);
        }
        let Some(kernel) = &self.kernel else { return };
        for client in clients.into_iter().take(CLIENTS) {
            if let Route::Via { ifindex, next, .. } = kernel.route(client).await {
                kernel.request(Request::Use(ifindex, next)).await;
            }
        }
    }

    fn heed_one(&mut self, notice: &Notice, picture: &Picture, clients: &mut BTreeSet<IpAddr>) {
        let now = self.now();
        let about = from_address(notice.addr);
        let told = match Event::of(notice.event) {
            Some(Event::EventClientNeighbour) => {
                clients.insert(about);
                None
            }
            Some(Event::EventHalfOpen) => {
                self.service_of(notice.service, picture).and_then(|name| {
                    // The datapath puts how many there are where others have an interface.
                    self.alarms.half_open(&name, notice.ifindex, limit(&name, picture))
                })
            }
            Some(Event::EventNoPort) => self.alarms.scarce(Scarce::Ports, &about.to_string(), now),
            Some(Event::EventTableFull) => {
                let of = self.service_of(notice.service, picture);
                let of = of.map_or_else(|| PLANE.to_owned(), |name| format!("service {name}"));
                self.alarms.scarce(Scarce::Records, &of, now)
            }
            // Servers' next hops are confirmed each second without being asked.
            _ => None,
        };
        self.raise(told);
    }

    fn service_of(&self, index: u32, picture: &Picture) -> Option<String> {
        let planner = &self.site.as_ref()?.planner;
        picture.config.services.keys().find(|name| planner.service(name) == Some(index)).cloned()
    }

    /// Shows what has changed, and tells which services are not forwarded that were not told `before`, and why.
    pub(super) fn changed(&mut self, before: &BTreeMap<String, String>, picture: &Picture) {
        let Some(site) = &self.site else { return };
        for (name, why) in
            site.obstacles.iter().filter(|(name, why)| before.get(*name) != Some(why))
        {
            let about = [("service", name.clone())];
            let text = format!("service {name} is not forwarded: {why}");
            self.events.tell(Level::Error, "packets-refused", text, &about);
        }
        shows::fill(&mut self.view, site, picture);
        self.alarmed();
    }

    /// Marks the services whose alarm stands.
    fn alarmed(&mut self) {
        for (name, flows) in &mut self.view.flows {
            flows.alarm = self.alarms.stands(name);
        }
    }

    /// The tables with what their indexes mean now, where another machine is told of them.
    pub(super) fn tables(&self, config: &Config) -> Option<Arc<Tables>> {
        let site = self.site.as_ref().filter(|_| !config.heartbeats.is_empty())?;
        site.tables(config).map(Arc::new)
    }

    /// Connections are hashed with another machine's secret from now on.
    pub(super) fn hash(&mut self, secret: &Secret) {
        let Some(site) = &mut self.site else { return };
        match site.hash(secret, facts::tick()) {
            Ok(false) => {}
            Ok(true) => {
                self.renewed = true;
                let text = "connections are hashed as on the other member from now on; those of `mac` and `tunnel` that \
                            were here are chosen anew";
                self.events.info("connections-rehashed", text.to_owned());
            }
            Err(error) => self.tell(Some(chain(&error))),
        }
    }

    /// Counts connections and packets, and judges what they say.
    pub(super) fn sweep(&mut self, picture: &Picture) {
        self.watch(picture);
        let Some(site) = &mut self.site else { return };
        let services: Vec<u32> =
            picture.config.services.keys().filter_map(|name| site.planner.service(name)).collect();
        let keeping = shows::keeping(site, picture);
        let swept = site.sweep(facts::tick(), &services, &keeping);
        match swept.and_then(|()| site.counts(&services)) {
            Ok(counts) => {
                shows::keep(&mut self.view, Sample { at: Instant::now(), counts });
                shows::fill(&mut self.view, site, picture);
            }
            Err(error) => return self.tell(Some(chain(&error))),
        }
        self.judge(picture);
    }

    /// Reads what watched connections showed, before the sweep lets the datapath give their places to others.
    fn watch(&mut self, picture: &Picture) {
        let Some(site) = &mut self.site else { return };
        match site.watched(picture.config.packets.insight, facts::nanos()) {
            Ok((changes, shown)) => {
                self.view.insight = shown;
                let changes = insight::numbered(site, picture, changes);
                self.insight.take(changes, &picture.snapshot);
            }
            Err(error) => self.tell(Some(chain(&error))),
        }
    }

    /// Raises and clears alarms by what was counted.
    fn judge(&mut self, picture: &Picture) {
        let now = self.now();
        let mut told = Vec::new();
        for (name, flows) in &self.view.flows {
            told.extend(self.alarms.half_open(name, flows.half_open, limit(name, picture)));
        }
        self.alarmed();
        told.extend(self.alarms.keep(|name| self.view.flows.contains_key(name)));
        let evicted = self.view.now.as_ref().map_or(0, |sample| sample.counts.evicted);
        let before = self.evicted.replace(evicted);
        if before.is_some_and(|before| evicted > before) {
            told.extend(self.alarms.scarce(Scarce::Flows, PLANE, now));
        }
        told.extend(self.alarms.quiet(now));
        told.into_iter().for_each(|told| self.raise(Some(told)));
    }

    /// Tells an event.
    pub(super) fn raise(&self, told: Option<Told>) {
        if let Some(Told { level, what, text, about }) = told {
            self.events.tell(level, what, text, &about);
        }
    }
}

/// From how many half-open connections on the alarm of a service stands.
fn limit(name: &str, picture: &Picture) -> Option<u32> {
    picture.config.services.get(name)?.packets.as_ref()?.guard.half_open
}
