//! The main loop of the replication thread: received packets are entered at once; changes are sent every round.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use ha::keys::ClusterKeys;
use ha::replica::peer::{ReplicaEvent, ReplicaPeer};
use ha::replica::seal::HashSecret;
use l4::replica::ReplicatedTable;
use model::capacity::replication_traffic::{ROUND_INTERVAL, refresh_interval};
use model::monotonic_time::MonotonicTime;
use tokio::sync::{mpsc, watch};
use tokio::time::MissedTickBehavior;

use super::full_scan::FullScan;
use super::record_codec::RecordCodec;
use super::send_round::SendRound;
use crate::planes::packets::connection_tables::ReplicationSource;
use crate::planes::packets::host_facts::clock_tick;
use crate::planes::vrrp::heartbeat::message::{HeartbeatMessage, PathPacket};
use crate::planes::vrrp::heartbeat::pair_state::{PairState, replication_port};
use crate::planes::vrrp::heartbeat::path_socket::PathSocket;
use crate::planes::vrrp::heartbeat::replication_view::{ReplicationState, ReplicationView};
use crate::util::monotonic_clock::monotonic_now;

/// Rounds between two hellos, and between two looks at sockets.
const HELLO: u32 = 5;
/// Paths that could not be opened are retried after this many rounds, because an interface may appear later.
const REOPEN_TICKS: u32 = 25;
/// Bounds the packets that wait; further ones stay in the sockets' buffers, and are lost there.
const QUEUE_CAPACITY: usize = 512;
/// How long a member that released an address still sends the connections that it forwarded last.
const RECENT_ACTIVE_PERIOD: Duration = Duration::from_secs(1);
/// How long a joining member waits for the peer's state before it may take an address from it by priority.
/// The peer sends its tables within seconds; without them a takeover breaks connections.
const JOIN_TIMEOUT: Duration = Duration::from_secs(10);

/// Replicates in both directions until the heartbeat ends.
pub(super) async fn run(
    source: ReplicationSource,
    mut pairs: watch::Receiver<Option<Arc<PairState>>>,
    show: watch::Sender<Arc<ReplicationView>>,
) {
    let (say, mut words) = mpsc::channel(QUEUE_CAPACITY);
    let mut life = ReplicationTask::new(source, say);
    let mut round = tokio::time::interval(ROUND_INTERVAL);
    round.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            word = words.recv() => if let Some(word) = word {
                life.receive_packet(word);
                while let Ok(more) = words.try_recv() {
                    life.receive_packet(more);
                }
                life.answer();
            },
            _ = round.tick() => {
                if pairs.has_changed().is_err() {
                    return;
                }
                let pair = pairs.borrow_and_update().clone();
                life.update_pair(pair);
                life.run_round();
                show.send_replace(Arc::new(life.view()));
            }
        }
    }
}

struct ReplicationTask {
    source: ReplicationSource,
    packets: mpsc::Sender<HeartbeatMessage>,
    pair: Option<Arc<PairState>>,
    sockets: Vec<Option<PathSocket>>,
    /// The generation of open sockets: packets of earlier ones are ignored.
    epoch: u64,
    peer: ReplicaPeer,
    codec: Option<RecordCodec>,
    rounds: u32,
    /// Records arrived that have not been acknowledged.
    needs_acknowledgement: bool,
    /// The scan of entries that did not change.
    full_scan: FullScan,
    /// Shared addresses, and when this member held each last.
    last_held: BTreeMap<IpAddr, MonotonicTime>,
    /// Since when the peer is alive and has not sent everything.
    joining_since: Option<MonotonicTime>,
}

impl ReplicationTask {
    fn new(source: ReplicationSource, words: mpsc::Sender<HeartbeatMessage>) -> ReplicationTask {
        ReplicationTask {
            source,
            packets: words,
            pair: None,
            sockets: Vec::new(),
            epoch: 0,
            peer: ReplicaPeer::default(),
            codec: None,
            rounds: 0,
            needs_acknowledgement: false,
            full_scan: FullScan::default(),
            last_held: BTreeMap::new(),
            joining_since: None,
        }
    }

    /// Follows the state of the pair, and the packet plane's tables.
    fn update_pair(&mut self, pair: Option<Arc<PairState>>) {
        let sessions = pair.as_ref().and_then(|pair| pair.sessions);
        let before = self.pair.as_ref().and_then(|pair| pair.sessions);
        if sessions != before {
            self.joining_since = sessions.map(|_| monotonic_now());
            self.codec.iter_mut().for_each(RecordCodec::forget_all);
        }
        self.pair = pair;
        self.peer.set_sessions(sessions);
        let tables = self.source.tables.borrow_and_update().clone();
        let nobody = BTreeSet::new();
        let active = self.pair.as_ref().map_or(&nobody, |pair| &pair.active);
        let at = monotonic_now();
        self.last_held.extend(active.iter().map(|ip| (*ip, at)));
        self.last_held.retain(|_, last| at.since(*last) < RECENT_ACTIVE_PERIOD);
        let lately: BTreeSet<IpAddr> = self.last_held.keys().copied().collect();
        match (tables.filter(|tables| !tables.services.is_empty()), &mut self.codec) {
            (Some(tables), Some(carrier)) => carrier.update_tables(&tables, active, &lately),
            (Some(tables), None) => self.codec = Some(RecordCodec::new(tables)),
            (None, _) => self.codec = None,
        }
        if self.sockets.is_empty() || self.rounds.is_multiple_of(REOPEN_TICKS) {
            self.open_missing();
        }
    }

    /// Opens sockets that are not open.
    fn open_missing(&mut self) {
        let Some(pair) = self.pair.clone().filter(|_| self.codec.is_some()) else {
            self.sockets.clear();
            return;
        };
        self.sockets.resize_with(pair.paths.len(), || None);
        for (at, (wire, path)) in self.sockets.iter_mut().zip(&pair.paths).enumerate() {
            if wire.as_ref().is_none_or(|wire| !wire.is_alive()) {
                *wire = None;
                self.epoch += 1;
                *wire = PathSocket::open(
                    &path.config,
                    replication_port(pair.port),
                    path.scope,
                    self.epoch,
                    at,
                    self.packets.clone(),
                )
                .ok();
            }
        }
    }

    /// Sends by the first path that is up.
    fn send(&self, bytes: Option<Vec<u8>>) {
        let (Some(bytes), Some(pair)) = (bytes, &self.pair) else { return };
        let paths = self.sockets.iter().zip(&pair.paths);
        let mut up = paths.filter(|(_, path)| path.up).filter_map(|(wire, _)| wire.as_ref());
        // A lost packet is noticed by the peer, and its records are retransmitted.
        let _ = up.next().map(|wire| wire.send(&bytes));
    }

    fn receive_packet(&mut self, word: HeartbeatMessage) {
        let (HeartbeatMessage::Packet(_, PathPacket { bytes, .. }), Some(pair)) =
            (word, self.pair.clone())
        else {
            return;
        };
        let Some(carrier) = &mut self.codec else { return };
        let secret = bytes_of(&carrier.tables().secret);
        let active = !pair.active.is_empty();
        match self.peer.receive(monotonic_now(), &bytes, active, &secret, &pair.keys) {
            Ok(ReplicaEvent::Records(records)) => {
                let tick = clock_tick();
                records.iter().for_each(|record| carrier.write_records(record, tick));
                self.needs_acknowledgement = true;
            }
            Ok(ReplicaEvent::Lost(places)) => note_places(carrier, &places),
            Ok(ReplicaEvent::Adopt(secret)) => {
                self.source.commands.change_hash_secret(words_of(&secret))
            }
            // A disagreement is repeated with the next hello; rejected packets are counted.
            Ok(ReplicaEvent::Agreed | ReplicaEvent::AwaitPeer | ReplicaEvent::SecretsDiffer)
            | Err(_) => {}
        }
    }

    fn answer(&mut self) {
        if std::mem::take(&mut self.needs_acknowledgement)
            && let Some(pair) = self.pair.clone()
        {
            let heard = self.peer.take_acknowledgement(&pair.keys);
            self.send(heard);
        }
    }

    fn run_round(&mut self) {
        self.rounds = self.rounds.wrapping_add(1);
        let (Some(pair), Some(carrier)) = (self.pair.clone(), &mut self.codec) else { return };
        let lost = self.peer.handle_timeouts(monotonic_now());
        note_places(carrier, &lost);
        if self.rounds.is_multiple_of(HELLO) {
            let secret = bytes_of(&carrier.tables().secret);
            let hello = self.peer.build_hello(!pair.active.is_empty(), &secret, &pair.keys);
            self.send(hello);
        }
        if !self.peer.is_agreed() {
            return;
        }
        self.start_full_scan();
        self.send_records(&pair.keys);
    }

    /// Starts a full scan when one is due: a member has joined, or addresses have moved.
    fn start_full_scan(&mut self) {
        let Some(carrier) = &mut self.codec else { return };
        let joins = self.peer.needs_full_sync();
        let replica = Arc::clone(&carrier.tables().replica);
        if joins {
            carrier.forget_all();
            // The full scan includes changes from the time without a peer, so they are not sent twice.
            ReplicatedTable::ALL.into_iter().for_each(|table| replica.clear_changes(table));
            self.peer.start_full_scan();
        }
        if std::mem::take(&mut carrier.addresses_changed) || joins {
            self.full_scan.restart(
                ReplicatedTable::ALL
                    .into_iter()
                    .map(|table| u64::from(replica.places(table)))
                    .sum(),
            );
        }
    }

    /// Sends changes and entries of the scan, as much as may be unacknowledged.
    fn send_records(&mut self, keys: &ClusterKeys) {
        let Some(carrier) = &mut self.codec else { return };
        let rounds = refresh_interval(carrier.tables().shortest).as_secs_f64()
            / ROUND_INTERVAL.as_secs_f64();
        let telling = SendRound::new(&mut self.peer, carrier, keys, monotonic_now(), clock_tick());
        let packets = telling.build_packets(&mut self.full_scan, rounds);
        packets.into_iter().for_each(|packet| self.send(Some(packet)));
    }

    fn view(&self) -> ReplicationView {
        let heard = self.pair.as_ref().is_some_and(|pair| pair.sessions.is_some());
        let partner = &self.peer;
        let patient =
            self.joining_since.is_some_and(|joined| monotonic_now().since(joined) < JOIN_TIMEOUT);
        let waits = heard && patient && !partner.is_synced() && !partner.secrets_differ();
        // The counters remain when the peer is down.
        let Some(carrier) = self.codec.as_ref() else {
            return ReplicationView {
                is_waiting: waits,
                counts: partner.counts.clone(),
                ..ReplicationView::default()
            };
        };
        let state = match partner.is_agreed() {
            _ if !heard => ReplicationState::Off,
            false if partner.secrets_differ() => ReplicationState::SecretsDiffer,
            false => ReplicationState::Handshaking,
            true if partner.is_synced() && partner.is_peer_synced() => ReplicationState::Following,
            true => ReplicationState::Joining,
        };
        ReplicationView {
            state,
            is_waiting: waits,
            counts: partner.counts.clone(),
            applied: carrier.applied,
            rejected: carrier.rejected.clone(),
            unsendable: carrier.unsendable.clone(),
        }
    }
}

/// Marks entries for retransmission.
fn note_places(carrier: &mut RecordCodec, places: &[u64]) {
    for place in places {
        let Some(table) = ReplicatedTable::ALL.get((place >> 32) as usize) else { continue };
        carrier.forget_place(*table, *place as u32);
        carrier.tables().replica.mark_changed(*table, *place as u32);
    }
}

fn bytes_of(secret: &l4::replica::FlowHashSecret) -> HashSecret {
    let mut bytes = [0; 32];
    for (eight, word) in bytes.chunks_exact_mut(8).zip(secret) {
        eight.copy_from_slice(&word.to_be_bytes());
    }
    bytes
}

fn words_of(secret: &HashSecret) -> l4::replica::FlowHashSecret {
    std::array::from_fn(|at| {
        let eight = secret.get(at * 8..).and_then(|rest| rest.first_chunk::<8>());
        eight.copied().map_or(0, u64::from_be_bytes)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_the_same_as_bytes_and_as_words() {
        let words = [1, 2 << 40, 3, u64::MAX];
        assert_eq!(words_of(&bytes_of(&words)), words);
    }
}
