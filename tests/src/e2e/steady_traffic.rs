//! Traffic of every kind at once, which must not fail whatever a test does to the balancer.
//!
//! This module reports the failures of each kind, and asserts nothing.

use std::net::SocketAddr;
use std::time::Duration;

use lab::load::{
    ConnectionReuse, HttpPlan, LoadModel, LoadPlan, LoadProtocol, LoadReport, LoadRun,
};

use super::download::Download;
use super::wait;
use super::websocket::WebSockets;

/// Connections that serve many requests.
pub const KEEP_ALIVE_CONNECTIONS: usize = 16;
pub const WEBSOCKETS: usize = 4;
/// Bytes of the slow download.
const BYTES: u64 = 256 << 20;

#[derive(Debug)]
pub struct SteadyTraffic {
    keep_alive: LoadRun,
    connect_each: LoadRun,
    websockets: WebSockets,
    download: Download,
}

#[derive(Clone, Debug)]
pub struct TrafficFailures {
    /// Load over persistent connections.
    pub keep_alive: LoadReport,
    /// Load with a connection for each request.
    pub connect_each: LoadReport,
    /// Messages that WebSockets echoed.
    pub echoes: u64,
    /// Failures of requests, WebSockets and the download.
    pub failures: Vec<String>,
}

impl SteadyTraffic {
    /// Starts all kinds and waits until each makes progress.
    pub fn start(front: SocketAddr) -> SteadyTraffic {
        let steady = SteadyTraffic {
            keep_alive: keep_alive_load(front),
            connect_each: connect_each_load(front),
            websockets: WebSockets::start(front, WEBSOCKETS),
            download: Download::start(front, BYTES),
        };
        steady.wait_for_progress();
        steady
    }

    /// Waits until every kind has made progress.
    pub fn wait_for_progress(&self) {
        let kept = self.keep_alive.report().answered + 50;
        let fresh = self.connect_each.report().answered + 10;
        let echoes = self.websockets.echoes() + 8;
        let read = self.download.read() + 1;
        wait::until("requests answered, messages echoed, bytes downloaded", || {
            self.keep_alive.report().answered >= kept
                && self.connect_each.report().answered >= fresh
                && self.websockets.echoes() >= echoes
                && self.download.read() >= read
        });
    }

    /// Ends all kinds in order.
    pub fn stop(self) -> TrafficFailures {
        let echoes = self.websockets.echoes();
        let mut broken = self.websockets.stop();
        broken.extend(self.download.finish());
        let kept = stop_load(self.keep_alive);
        let fresh = stop_load(self.connect_each);
        broken.extend(failures(&kept));
        broken.extend(failures(&fresh));
        TrafficFailures { keep_alive: kept, connect_each: fresh, echoes, failures: broken }
    }
}

/// Requests over persistent connections.
pub fn keep_alive_load(front: SocketAddr) -> LoadRun {
    load(front, "/", ConnectionReuse::KeepAlive, KEEP_ALIVE_CONNECTIONS, Duration::from_millis(4))
}

/// Requests with a connection each.
pub fn connect_each_load(front: SocketAddr) -> LoadRun {
    load(front, "/", ConnectionReuse::PerRequest, 4, Duration::from_millis(8))
}

/// Requests for a target over this many connections, with a pause after each response.
pub fn load(
    front: SocketAddr,
    target: &str,
    persist: ConnectionReuse,
    connections: usize,
    think: Duration,
) -> LoadRun {
    let get = LoadProtocol::Http(HttpPlan::get("shop.example", target));
    let plan = LoadPlan::new(front, get, connections);
    let plan = LoadPlan {
        persist,
        pace: LoadModel::Closed { connections, think },
        timeout: wait::DEADLINE,
        grace: wait::DEADLINE,
        ..plan
    };
    LoadRun::start(plan).unwrap_or_else(|error| panic!("no load: {error}"))
}

/// Ends a load in order: open requests may finish.
pub fn stop_load(load: LoadRun) -> LoadReport {
    load.stopper().stop();
    load.wait()
}

/// A line for each cause of failure.
pub fn failures(report: &LoadReport) -> impl Iterator<Item = String> {
    let causes = report.failed_by_cause.iter();
    let lines: Vec<String> = causes.map(|(cause, count)| format!("{count} × {cause}")).collect();
    lines.into_iter()
}
