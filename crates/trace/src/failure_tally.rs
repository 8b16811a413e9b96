//! Failed connections, grouped by what happened: how many, since when, to whom.

use std::collections::BTreeMap;

use model::limit::TimeOwner;

use crate::address;
use crate::display_filter::{self, FilteredTransport};
use crate::failure::ConnectionFailure;
use crate::failure_text::{self, FailureWords};
use crate::packet::TcpEndpoint;
use crate::report::number::seconds;
use crate::report::{FailureEndpoint, FailureEvidence, FailureFinding};
use model::failure_code::FailureCode;

/// Ends that are told apart in a group: bounds the memory.
const MAX_ENDS: usize = 1_000;
/// Ends in a report, so that it stays readable.
const SHOWN_ENDS: usize = 8;

/// Failed connections of a capture.
#[derive(Clone, Debug, Default)]
pub struct FailureTally {
    groups: Vec<FailureGroup>,
}

/// Connections that failed in one way.
#[derive(Clone, Debug)]
struct FailureGroup {
    /// The first of them.
    first: ConnectionFailure,
    /// Number of that connection, and its ends.
    connection: u32,
    ends: [TcpEndpoint; 2],
    connections: u64,
    last_ns: i64,
    longest_ns: i64,
    servers: BTreeMap<TcpEndpoint, u64>,
    clients: BTreeMap<TcpEndpoint, u64>,
}

impl FailureTally {
    /// Adds a connection with its client, its server and its number.
    pub fn add(&mut self, failure: &ConnectionFailure, ends: [TcpEndpoint; 2], number: u32) {
        let same = |group: &FailureGroup| {
            group.first.code == failure.code && group.first.owner == failure.owner
        };
        let at = self.groups.iter().position(same).unwrap_or_else(|| {
            self.groups.push(FailureGroup::begin(failure, ends, number));
            self.groups.len() - 1
        });
        let group = &mut self.groups[at];
        if failure.since.time_ns < group.first.since.time_ns {
            group.first = failure.clone();
            group.connection = number;
            group.ends = ends;
        }
        group.connections += 1;
        group.last_ns = group.last_ns.max(failure.since.time_ns);
        group.longest_ns = group.longest_ns.max(failure.waited_ns);
        let [client, server] = ends;
        count_end(&mut group.servers, server);
        count_end(&mut group.clients, TcpEndpoint { port: 0, ..client });
    }

    /// The groups as findings, the most frequent first; `of`: how many connections there are.
    pub fn findings(&self, of: u64) -> Vec<FailureFinding> {
        let mut groups: Vec<&FailureGroup> = self.groups.iter().collect();
        groups.sort_by_key(|group| (std::cmp::Reverse(group.connections), group.first.code));
        groups.into_iter().map(|group| group.finding(of)).collect()
    }
}

fn count_end(ends: &mut BTreeMap<TcpEndpoint, u64>, end: TcpEndpoint) {
    if ends.len() < MAX_ENDS || ends.contains_key(&end) {
        *ends.entry(end).or_insert(0) += 1;
    }
}

impl FailureGroup {
    fn begin(failure: &ConnectionFailure, ends: [TcpEndpoint; 2], connection: u32) -> FailureGroup {
        FailureGroup {
            first: failure.clone(),
            connection,
            ends,
            connections: 0,
            last_ns: failure.since.time_ns,
            longest_ns: 0,
            servers: BTreeMap::new(),
            clients: BTreeMap::new(),
        }
    }

    fn finding(&self, of: u64) -> FailureFinding {
        let servers = shown_ends(&self.servers);
        let clients = shown_ends(&self.clients);
        let owner: TimeOwner = self.first.owner;
        let code: FailureCode = self.first.code;
        let transport =
            if code.is_quic() { FilteredTransport::Udp } else { FilteredTransport::Tcp };
        let words = FailureWords {
            first: &self.first,
            connections: self.connections,
            of,
            last_ns: self.last_ns,
            longest_ns: self.longest_ns,
            servers: &servers,
            servers_total: self.servers.len(),
        };
        FailureFinding {
            code,
            owner,
            connections: self.connections,
            of_connections: of,
            since_seconds: seconds(self.first.since.time_ns),
            last_seconds: seconds(self.last_ns),
            longest_seconds: seconds(self.longest_ns),
            sentence: failure_text::describe_failure(&words),
            check: failure_text::suggest_check(&self.first),
            servers_left_out: self.servers.len() - servers.len(),
            clients_left_out: self.clients.len() - clients.len(),
            servers,
            clients,
            evidence: FailureEvidence {
                connection: self.connection,
                from_packet: self.first.since.number,
                to_packet: self.first.to,
                filter: display_filter::connection_filter(
                    transport,
                    self.ends,
                    self.first.since.number,
                    self.first.to,
                ),
            },
        }
    }
}

fn shown_ends(ends: &BTreeMap<TcpEndpoint, u64>) -> Vec<FailureEndpoint> {
    let mut ranked: Vec<_> = ends.iter().collect();
    ranked.sort_by_key(|(end, count)| (std::cmp::Reverse(**count), **end));
    let shown = ranked.into_iter().take(SHOWN_ENDS).map(|(end, count)| FailureEndpoint {
        address: address::ip(end.address).to_string(),
        port: Some(end.port).filter(|port| *port > 0),
        connections: *count,
    });
    shown.collect()
}
