//! The events of the demonstration: operations on servers, and their effects as far as snapshots show. Pure.
//!
//! It stores the last events for the screen, and everything that the summary needs.

use std::collections::VecDeque;
use std::time::{Duration, SystemTime};

use model::snapshot::ServerState;
use serde::Serialize;

use super::script::DemoAction;
use super::snapshot::DemoSnapshot;

/// Stored events: more than a demonstration has key presses. Bounds the memory of the log.
const KEPT: usize = 256;

/// Operations and their effects, oldest first.
#[derive(Clone, Debug, Default)]
pub struct DemoLog {
    events: VecDeque<DemoEvent>,
}

/// Something done to a server, and its effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct DemoEvent {
    /// Milliseconds after the load began.
    pub at_ms: u64,
    pub kind: DemoEventKind,
    /// `POOL/NAME`.
    pub server: String,
    /// How long the balancer took to see or do it; `None`: not yet.
    pub effect_ms: Option<u64>,
    /// Requests that the server was given after that.
    pub requests_after: u64,
    #[serde(skip)]
    number: usize,
    #[serde(skip)]
    clock: SystemTime,
    /// Its requests when the effect was seen first.
    #[serde(skip)]
    requests_then: u64,
}

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DemoEventKind {
    /// Connections reset, port refusing.
    Killed,
    Revived,
    /// Told to finish.
    Drained,
}

impl DemoLog {
    pub fn record_action(
        &mut self,
        deed: DemoAction,
        server: &str,
        at: Duration,
        clock: SystemTime,
    ) {
        let (kind, number) = match deed {
            DemoAction::Kill(number) => (DemoEventKind::Killed, number),
            DemoAction::Revive(number) => (DemoEventKind::Revived, number),
            DemoAction::Drain(number) => (DemoEventKind::Drained, number),
        };
        if self.events.len() == KEPT {
            self.events.pop_front();
        }
        self.events.push_back(DemoEvent {
            at_ms: millis(at),
            kind,
            server: server.to_owned(),
            effect_ms: None,
            requests_after: 0,
            number,
            clock,
            requests_then: 0,
        });
    }

    /// Finds effects in a look.
    pub fn observe(&mut self, look: &DemoSnapshot) {
        for event in &mut self.events {
            let Some(server) = look.servers.get(event.number) else { continue };
            if event.effect_ms.is_some() {
                event.requests_after = server.requests.saturating_sub(event.requests_then);
            } else if server.state == event.kind.expected_state() {
                let took = server.since.duration_since(event.clock).unwrap_or_default();
                event.effect_ms = Some(millis(took));
                event.requests_then = server.requests;
            }
        }
    }

    /// All stored events, oldest first.
    pub fn events(&self) -> impl DoubleEndedIterator<Item = &DemoEvent> {
        self.events.iter()
    }
}

impl DemoEventKind {
    fn expected_state(self) -> ServerState {
        match self {
            DemoEventKind::Killed => ServerState::Down,
            DemoEventKind::Revived => ServerState::Up,
            DemoEventKind::Drained => ServerState::Drain,
        }
    }
}

impl DemoEvent {
    pub fn describe(&self) -> String {
        let (done, then) = match self.kind {
            DemoEventKind::Killed => {
                ("killed: its connections are reset, its port refuses", "noticed after")
            }
            DemoEventKind::Revived => ("revived: it listens again", "back in service after"),
            DemoEventKind::Drained => ("drained: it finishes what it has", "active after"),
        };
        let effect = self.effect_ms.map(|ms| format!("; {then} {ms} ms")).unwrap_or_default();
        format!("{:>5.1} s  {} {done}{effect}", self.at_ms as f64 / 1e3, self.server)
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::try_::snapshot::ServerSnapshot;
    use model::stats::HistogramSum;

    fn look(state: ServerState, since_ms: u64, requests: u64) -> DemoSnapshot {
        let server = ServerSnapshot {
            name: "web/a".to_owned(),
            state,
            since: SystemTime::UNIX_EPOCH + Duration::from_millis(since_ms),
            reason: String::new(),
            killed: false,
            in_flight: 0,
            requests,
            failures: 0,
            times: HistogramSum::default(),
        };
        DemoSnapshot {
            at: Duration::ZERO,
            clock: SystemTime::UNIX_EPOCH,
            clients: Vec::new(),
            servers: vec![server],
            retried: 0,
        }
    }

    #[test]
    fn effects_are_dated_by_the_balancer() {
        let mut chronicle = DemoLog::default();
        let clock = SystemTime::UNIX_EPOCH + Duration::from_millis(5_000);
        chronicle.record_action(DemoAction::Kill(0), "web/a", Duration::from_millis(2_000), clock);
        chronicle.observe(&look(ServerState::Up, 1_000, 10));
        let told = |chronicle: &DemoLog| chronicle.events().next().unwrap().describe();
        let killed = "  2.0 s  web/a killed: its connections are reset, its port refuses";
        assert_eq!(told(&chronicle), killed);
        chronicle.observe(&look(ServerState::Down, 5_012, 10));
        chronicle.observe(&look(ServerState::Down, 5_012, 13));
        assert_eq!(told(&chronicle), format!("{killed}; noticed after 12 ms"));
        assert_eq!(chronicle.events().next().unwrap().requests_after, 3);
    }

    #[test]
    fn the_oldest_events_go_first() {
        let mut chronicle = DemoLog::default();
        for second in 0..300 {
            let at = Duration::from_secs(second);
            chronicle.record_action(DemoAction::Kill(0), "web/a", at, SystemTime::UNIX_EPOCH);
        }
        assert_eq!(chronicle.events().count(), KEPT);
        assert_eq!(chronicle.events().next().unwrap().at_ms, 44_000);
    }
}
