//! Whether an uplink works in one family: from its carrier, from its ability to send, and from replies of targets
//! beyond its gateway. Pure.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use model::config::{LinkProbe, UplinkProbe};
use model::monotonic_time::MonotonicTime;

use crate::link_monitor::LinkMonitor;

/// A probe's target and method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UplinkTarget {
    Echo(IpAddr),
    /// By a TCP connection, which is closed at once.
    Connect(SocketAddr),
}

/// A probe that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeRequest {
    /// The index of the target.
    pub target: usize,
    pub number: u16,
}

/// A probed target and what its replies say.
#[derive(Clone, Debug)]
struct MonitoredTarget {
    target: UplinkTarget,
    monitor: LinkMonitor,
}

/// An uplink and its recent probes.
#[derive(Clone, Debug)]
pub struct UplinkHealth {
    targets: Vec<MonitoredTarget>,
    required_targets: usize,
    carrier: bool,
    send_error: Option<String>,
}

impl fmt::Display for UplinkTarget {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UplinkTarget::Echo(ip) => ip.fmt(to),
            UplinkTarget::Connect(at) => at.fmt(to),
        }
    }
}

impl UplinkHealth {
    /// An uplink of which nothing is known: down until it has a carrier and can send, then up until probes fail. A
    /// probe without a target of the gateway's family probes the gateway.
    pub fn new(gateway: IpAddr, probe: Option<&UplinkProbe>) -> UplinkHealth {
        let terms = |probe: &UplinkProbe| LinkProbe {
            every: probe.every,
            timeout: probe.timeout,
            rise: probe.rise,
            fall: probe.fall,
        };
        let mut targets: Vec<UplinkTarget> = Vec::new();
        if let Some(probe) = probe {
            let echo = probe.echo.iter().map(|ip| UplinkTarget::Echo(*ip));
            let connect = probe.connect.iter().map(|at| UplinkTarget::Connect(*at));
            let all = echo.chain(connect);
            targets.extend(all.filter(|target| target.ip().is_ipv6() == gateway.is_ipv6()));
            if targets.is_empty() {
                targets.push(UplinkTarget::Echo(gateway));
            }
        }
        let need = probe.map_or(0, |probe| usize::from(probe.need).min(targets.len()));
        let monitored =
            |target| MonitoredTarget { target, monitor: LinkMonitor::new(probe.map(terms)) };
        let targets = targets.into_iter().map(monitored).collect();
        UplinkHealth {
            targets,
            required_targets: need,
            carrier: false,
            send_error: Some("it was not looked at yet".to_owned()),
        }
    }

    pub fn is_up(&self) -> bool {
        self.is_usable() && self.reached_targets() >= self.required_targets
    }

    /// Whether the uplink can send.
    pub fn is_usable(&self) -> bool {
        self.carrier && self.send_error.is_none()
    }

    /// Sets whether the interface has a carrier; `trouble`: why it cannot send although it has one.
    pub fn set_interface(&mut self, carrier: bool, trouble: Option<String>) {
        self.carrier = carrier;
        self.send_error = trouble;
        let can = self.is_usable();
        for MonitoredTarget { monitor, .. } in &mut self.targets {
            monitor.set_carrier(can);
        }
    }

    /// Probes that are due; they count as sent.
    pub fn take_probes(&mut self, now: MonotonicTime) -> Vec<ProbeRequest> {
        let all = self.targets.iter_mut().enumerate();
        all.filter_map(|(target, one)| {
            Some(ProbeRequest { target, number: one.monitor.take_probe(now)? })
        })
        .collect()
    }

    pub fn receive_reply(&mut self, question: ProbeRequest, now: MonotonicTime) {
        if let Some(one) = self.targets.get_mut(question.target) {
            one.monitor.receive_reply(question.number, now);
        }
    }

    pub fn expire_probes(&mut self, now: MonotonicTime) {
        for MonitoredTarget { monitor, .. } in &mut self.targets {
            monitor.expire_probes(now);
        }
    }

    pub fn targets(&self) -> impl Iterator<Item = UplinkTarget> {
        self.targets.iter().map(|one| one.target)
    }

    /// Why the uplink is up or down, in a sentence.
    pub fn reason(&self, interface: &str) -> String {
        if let Some(trouble) = &self.send_error {
            return trouble.clone();
        }
        if !self.carrier {
            return format!("{interface} has no carrier");
        }
        if self.targets.is_empty() {
            return format!("{interface} has a carrier; nothing is asked");
        }
        let unheard = self.targets.iter().all(|one| one.monitor.replies_received == 0);
        if unheard && self.is_up() {
            return "nothing speaks against it yet".to_owned();
        }
        let of = |alive: bool| {
            let fit = self.targets.iter().filter(|one| one.monitor.is_alive() == alive);
            fit.map(|one| one.target.to_string()).collect::<Vec<_>>().join(", ")
        };
        let reached = self.reached_targets();
        let all = self.targets.len();
        match (reached, all) {
            (1, 1) => format!("{} answers", of(true)),
            (0, 1) => format!("{} does not answer", of(false)),
            _ if reached == all => format!("all {all} targets answer"),
            _ => {
                let silent = of(false);
                format!(
                    "{reached} of {all} targets answer, {} are needed; silent: {silent}",
                    self.required_targets
                )
            }
        }
    }

    /// The least round trip of a reached target.
    pub fn round_trip(&self) -> Option<Duration> {
        self.targets.iter().filter_map(|one| one.monitor.round_trip()).min()
    }

    /// The share of the last probes without a reply, 0–1; of the best target.
    pub fn loss(&self) -> f64 {
        let least = self.targets.iter().map(|one| one.monitor.loss()).reduce(f64::min);
        least.unwrap_or(0.0)
    }

    fn reached_targets(&self) -> usize {
        self.targets.iter().filter(|one| one.monitor.is_alive()).count()
    }
}

impl UplinkTarget {
    pub fn ip(&self) -> IpAddr {
        match self {
            UplinkTarget::Echo(ip) => *ip,
            UplinkTarget::Connect(at) => at.ip(),
        }
    }
}

#[cfg(test)]
mod tests;
