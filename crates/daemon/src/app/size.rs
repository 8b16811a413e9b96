//! The size of the request plane: workers, connections, and its other options at start.

use l7::{AccessLogOptions, PlaneOptions};
use model::config::{AccessLogField, AccessLogFormat, AccessLogTarget, GlobalConfig};

use crate::util::local_time::offset_seconds;

/// Our name in Via.
const NODE: &str = "steelyard";
/// Descriptors that are not for clients: logs, probes, API, epoll, listeners.
/// A few for each worker, log, listener and API connection.
const OWN_DESCRIPTORS: u64 = 128;
/// The limit of client connections if the configuration sets none; the file descriptor limit may lower it.
/// More clients than one host serves as a rule; the key `connections` sets another number.
const CONNECTIONS: u64 = 1_000_000;

/// How many workers there are to be.
pub fn workers(global: &GlobalConfig) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    global.workers.map_or_else(cores, usize::from).max(1)
}

/// The options that workers get at start.
pub fn options(global: &GlobalConfig, workers: usize) -> PlaneOptions {
    let log = &global.access_log;
    PlaneOptions {
        workers,
        pin: false,
        connections: global.connections.unwrap_or_else(|| connections(descriptors())),
        access: AccessLogOptions {
            all: log.all,
            sample: log.sample,
            format: log.format,
            fields: match log.format {
                AccessLogFormat::Combined => AccessLogField::combined().to_vec(),
                AccessLogFormat::Cef => AccessLogField::cef().to_vec(),
                _ => log.fields.clone(),
            },
            enabled: log.target != AccessLogTarget::Off,
        },
        sample: global.sample,
        traces: global.telemetry.as_ref().is_some_and(|telemetry| telemetry.traces),
        node: NODE.to_owned(),
        utc_offset: offset_seconds,
    }
}

/// Client connections for which this many descriptors suffice: each may need one towards a server.
fn connections(descriptors: u64) -> u32 {
    // At least 16, so that a process with a tiny descriptor limit still serves someone; accepting waits when none is
    // left.
    let connections = (descriptors.saturating_sub(OWN_DESCRIPTORS) / 2).clamp(16, CONNECTIONS);
    u32::try_from(connections).unwrap_or(u32::MAX)
}

fn descriptors() -> u64 {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::connections;

    #[test]
    fn every_client_may_have_a_server() {
        assert_eq!(connections(1024), 448);
        assert_eq!(connections(10), 16);
        assert_eq!(connections(u64::MAX), 1_000_000);
    }
}
