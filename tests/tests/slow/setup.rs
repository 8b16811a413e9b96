//! What all plants share: how often a cause is planted, an ordinary server, and the lines of the log.

use serde_json::Value;
use tests::e2e::balancer::{TestBalancer, is_long};
use tests::e2e::recording_server::ScriptedServer;
use tests::e2e::wait;

use super::upstream::{ReadingPace, UpstreamRoute, UpstreamTransport};

/// The number of repetitions of each cause: in the long variant 200, or what `STEELYARD_PLANTS` says.
pub fn times() -> usize {
    if !is_long() {
        return 4;
    }
    let wanted = std::env::var("STEELYARD_PLANTS").ok().and_then(|wanted| wanted.parse().ok());
    wanted.unwrap_or(200)
}

/// A server in the clear on the loopback.
pub fn server() -> ScriptedServer {
    let route = UpstreamRoute::new(UpstreamTransport::Clear);
    route.start("127.0.0.1:0".parse().unwrap(), ReadingPace::default(), |_| ())
}

/// The bytes after which a slow reader pauses.
pub const PIECE: usize = 64 * 1024;

/// The log's lines about this target, once there are at least `count`.
pub fn logged(balancer: &TestBalancer, target: &str, count: usize) -> Vec<Value> {
    wait::until_some(&format!("{count} lines about {target}"), || {
        let mut lines = balancer.log();
        lines.retain(|line| line["target"] == target);
        (lines.len() >= count).then_some(lines)
    })
}
