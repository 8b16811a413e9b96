//! An uplink in one address family: its liveness, and the probers of its targets. It writes nothing.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use files::plain_error::plain_error_text;
use links::uplink::health::{ProbeRequest, UplinkHealth};
use links::uplink::packet_mark::MarkBits;
use links::uplink::plan;
use links::uplink::source::{InterfaceNetwork, select_source};
use links::uplink::uplink_wheel::UplinkCandidate;
use model::config::UplinkConfig;
use model::monotonic_time::MonotonicTime;
use tokio::sync::mpsc;

use super::prober::{ProbeRoute, UplinkProbeReply, UplinkProber};
use super::rtnetlink::UplinkInterface;
use crate::util::random_seed::random_seed;

#[derive(Debug)]
pub(super) struct MonitoredUplink {
    pub config: Arc<UplinkConfig>,
    pub gateway: IpAddr,
    pub number: u8,
    pub health: UplinkHealth,
    /// Its source, where it has one.
    pub source: Option<IpAddr>,
    /// The last state that was logged.
    pub reported_up: Option<bool>,
    ifindex: u32,
    probers: Vec<Option<UplinkProber>>,
}

impl MonitoredUplink {
    /// One of which nothing is known.
    pub fn new(config: &Arc<UplinkConfig>, gateway: IpAddr, number: u8) -> MonitoredUplink {
        let judge = UplinkHealth::new(gateway, config.probe.as_ref());
        let askers = judge.targets().map(|_| None).collect();
        let config = Arc::clone(config);
        MonitoredUplink {
            config,
            gateway,
            number,
            health: judge,
            source: None,
            reported_up: None,
            ifindex: 0,
            probers: askers,
        }
    }

    /// Whether the path's state applies to this configuration too.
    pub fn is_same_path(&self, config: &UplinkConfig, gateway: IpAddr) -> bool {
        let same = self.config.interface == config.interface && self.config.probe == config.probe;
        same && self.gateway == gateway && self.config.name == config.name
    }

    /// The same with a changed configuration.
    pub fn with_config(self, config: &Arc<UplinkConfig>) -> MonitoredUplink {
        MonitoredUplink { config: Arc::clone(config), ..self }
    }

    /// Reads the interface and the local addresses for the path's source address.
    pub fn find_source(
        &mut self,
        interfaces: &HashMap<String, UplinkInterface>,
        all: &[InterfaceNetwork],
    ) {
        let name = self.config.interface.clone();
        let Some(found) = interfaces.get(&name) else {
            self.source = None;
            self.ifindex = 0;
            self.close();
            return self.health.set_interface(false, Some(format!("there is no interface {name}")));
        };
        if self.ifindex != found.ifindex {
            self.ifindex = found.ifindex;
            self.close();
        }
        let family = |ip: &&IpAddr| ip.is_ipv6() == self.gateway.is_ipv6();
        let wanted = self.config.source.iter().find(family).copied();
        let own = select_source(self.gateway, &name, found.ifindex, wanted, all);
        if own.as_ref().ok() != self.source.as_ref() {
            self.close();
        }
        self.source = own.as_ref().ok().copied();
        self.health.set_interface(found.carrier, own.err().map(|why| why.to_string()));
    }

    /// Nothing can be sent by it: why.
    pub fn fail(&mut self, why: String) {
        self.health.set_interface(true, Some(plain_error_text(why)));
    }

    /// Sends probes that are due. A probe that cannot be sent counts as lost, and is logged.
    pub fn send_probes(
        &mut self,
        now: MonotonicTime,
        marks: MarkBits,
        heard: &mpsc::Sender<UplinkProbeReply>,
    ) -> Option<String> {
        self.health.expire_probes(now);
        let mut failed = None;
        for ProbeRequest { target, number } in self.health.take_probes(now) {
            if let Err(error) = self.open(target, marks, heard) {
                failed = Some(format!("{} cannot be asked: {error}", self.config.interface));
            }
            if let Some(Some(asker)) = self.probers.get_mut(target) {
                asker.send_probe(number);
            }
        }
        failed
    }

    /// Handles an answer; `false`: it belongs to no probe of this path.
    pub fn handle_reply(&mut self, heard: &UplinkProbeReply) -> bool {
        let ours =
            |one: &Option<UplinkProber>| one.as_ref().is_some_and(|one| one.token == heard.token);
        let Some(target) = self.probers.iter().position(ours) else { return false };
        self.health.receive_reply(ProbeRequest { target, number: heard.number }, heard.at);
        true
    }

    /// As the wheel sees it.
    pub fn wheel_candidate(&self) -> UplinkCandidate {
        let MonitoredUplink { number, .. } = *self;
        let up = self.health.is_up();
        let stands = self.health.is_usable() && self.source.is_some();
        let weight = self.config.weight;
        let priority = self.config.priority;
        UplinkCandidate { number, up, is_usable: stands, weight, priority }
    }

    /// The path for the routing plan, if the path can be routed. Its table also stays while it has no carrier.
    pub fn plan_path(&self) -> Option<plan::UplinkGateway> {
        let candidate = self.wheel_candidate();
        let ifindex = self.ifindex;
        let gateway = self.gateway;
        let source = self.source?;
        Some(plan::UplinkGateway { candidate, ifindex, gateway, source })
    }

    /// Its interface's number; 0: there is none.
    pub fn ifindex(&self) -> u32 {
        self.ifindex
    }

    fn open(
        &mut self,
        at: usize,
        marks: MarkBits,
        heard: &mpsc::Sender<UplinkProbeReply>,
    ) -> std::io::Result<()> {
        let Some(target) = self.health.targets().nth(at) else { return Ok(()) };
        let Some(slot) = self.probers.get_mut(at) else { return Ok(()) };
        if slot.as_ref().is_some_and(UplinkProber::is_alive) {
            return Ok(());
        }
        *slot = None;
        let limit = self.config.probe.as_ref().map(|probe| probe.timeout).unwrap_or_default();
        let interface = self.config.interface.as_str();
        let way = ProbeRoute {
            interface,
            ifindex: self.ifindex,
            mark: marks.strict_mark_for(self.number),
        };
        *slot = Some(UplinkProber::open(target, way, random_seed(), limit, heard.clone())?);
        Ok(())
    }

    fn close(&mut self) {
        self.probers.fill_with(|| None);
    }
}
