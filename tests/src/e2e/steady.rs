//! Traffic of every kind at once, none of which may notice what happens to the balancer.
//!
//! It tells what each kind felt and judges nothing.

use std::net::SocketAddr;
use std::time::Duration;

use lab::load::{HttpPlan, Load, Pace, Persist, Plan, Protocol, Report};

use super::download::Download;
use super::wait;
use super::websocket::WebSockets;

/// Connections that serve many requests.
pub const KEPT: usize = 16;
/// WebSockets.
pub const WEBSOCKETS: usize = 4;
/// Bytes of the slow download.
const BYTES: u64 = 256 << 20;

/// Traffic under way.
#[derive(Debug)]
pub struct Steady {
    kept: Load,
    fresh: Load,
    websockets: WebSockets,
    download: Download,
}

/// What clients felt.
#[derive(Clone, Debug)]
pub struct Felt {
    /// Those that keep their connection.
    pub kept: Report,
    /// Those that connect for each request.
    pub fresh: Report,
    /// Messages that WebSockets echoed.
    pub echoes: u64,
    /// What broke: requests, WebSockets, the download.
    pub broken: Vec<String>,
}

impl Steady {
    /// Starts it and waits until all of it flows.
    pub fn start(front: SocketAddr) -> Steady {
        let steady = Steady {
            kept: kept(front),
            fresh: fresh(front),
            websockets: WebSockets::start(front, WEBSOCKETS),
            download: Download::start(front, BYTES),
        };
        steady.goes_on();
        steady
    }

    /// Waits until every kind has got further than it is now.
    pub fn goes_on(&self) {
        let kept = self.kept.report().answered + 50;
        let fresh = self.fresh.report().answered + 10;
        let echoes = self.websockets.echoes() + 8;
        let read = self.download.read() + 1;
        wait::until("requests answered, messages echoed, bytes downloaded", || {
            self.kept.report().answered >= kept
                && self.fresh.report().answered >= fresh
                && self.websockets.echoes() >= echoes
                && self.download.read() >= read
        });
    }

    /// Ends it in order.
    pub fn stop(self) -> Felt {
        let echoes = self.websockets.echoes();
        let mut broken = self.websockets.stop();
        broken.extend(self.download.finish());
        let (kept, fresh) = (ended(self.kept), ended(self.fresh));
        broken.extend(failures(&kept));
        broken.extend(failures(&fresh));
        Felt { kept, fresh, echoes, broken }
    }
}

/// Requests over connections that are kept.
pub fn kept(front: SocketAddr) -> Load {
    load(front, "/", Persist::KeepAlive, KEPT, Duration::from_millis(4))
}

/// A connection for each request.
pub fn fresh(front: SocketAddr) -> Load {
    load(front, "/", Persist::PerRequest, 4, Duration::from_millis(8))
}

/// Requests for a target over so many connections, each with a pause after its answer.
pub fn load(
    front: SocketAddr,
    target: &str,
    persist: Persist,
    connections: usize,
    think: Duration,
) -> Load {
    let get = Protocol::Http(HttpPlan::get("shop.example", target));
    let plan = Plan::new(front, get, connections);
    let plan = Plan {
        persist,
        pace: Pace::Closed { connections, think },
        timeout: wait::DEADLINE,
        grace: wait::DEADLINE,
        ..plan
    };
    Load::start(plan).unwrap_or_else(|error| panic!("no load: {error}"))
}

/// Ends a load in order: what is under way has its time.
pub fn ended(load: Load) -> Report {
    load.stopper().stop();
    load.wait()
}

/// A line for each cause of failure.
pub fn failures(report: &Report) -> impl Iterator<Item = String> {
    let causes = report.failed_by_cause.iter();
    let lines: Vec<String> = causes.map(|(cause, count)| format!("{count} × {cause}")).collect();
    lines.into_iter()
}
