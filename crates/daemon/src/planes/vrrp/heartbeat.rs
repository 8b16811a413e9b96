//! The heartbeat session: its key file, its sockets, its targets, and what it reports to groups. `ha` decides what is
//! trusted and what follows.

mod config_drift;
pub mod events;
mod key_file;
pub mod message;
pub mod pair_state;
pub mod path_socket;
mod paths;
mod reach_targets;
pub mod replication_view;
mod target_probe;
pub mod view;
pub mod witness;

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ha::heartbeat::{
    ConfigDigest, GroupClaim, HeartbeatDefect, PeerHeartbeat, VrrpGroupKey, emit, parse,
};
use ha::peer_link::{PeerClaim, PeerLink, PeerLinkChange, PeerLinkSettings};
use ha::reach::ReachComparison;
use ha::replica::peer::ReplicaSessions;
use ha::state_machine::{PeerView, VrrpState};
use l4::next_hops::NextHopLink;
use model::config::{Config, HeartbeatConfig as Written};
use model::monotonic_time::MonotonicTime;
use tokio::sync::mpsc;

use crate::state::StateSnapshot;
use crate::util::event::EventLog;
use crate::util::monotonic_clock::monotonic_now;
use crate::util::random_seed::random_seed;
use events::PeerSummary;
use key_file::HeartbeatKeyFile;
use message::{ConfigDigests, HeartbeatMessage, PathPacket};
use paths::HeartbeatSockets;
use reach_targets::ReachTargets;
use witness::WitnessClient;

/// Each kind of packet defect is logged at most once in this time.
/// A minute: a wrong key elsewhere stays visible and does not fill the log.
const REPORT_INTERVAL: Duration = Duration::from_secs(60);

/// The heartbeat with another member.
pub struct HeartbeatSession {
    config: Arc<Written>,
    epoch: u64,
    messages: mpsc::Sender<HeartbeatMessage>,
    keys: HeartbeatKeyFile,
    peer_link: PeerLink,
    paths: HeartbeatSockets,
    targets: ReachTargets,
    reach_comparison: ReachComparison,
    witness: Option<WitnessClient>,
    claims: Vec<GroupClaim>,
    /// The configuration that was summed up, or is being.
    digested_config: Option<Arc<Config>>,
    digest: ConfigDigest,
    drift: Option<String>,
    last_reported: HashMap<HeartbeatDefect, MonotonicTime>,
    last_error: Option<String>,
    since: SystemTime,
}

impl HeartbeatSession {
    /// A new heartbeat; `era` distinguishes it from earlier ones.
    pub fn new(
        config: Arc<Written>,
        era: u64,
        words: mpsc::Sender<HeartbeatMessage>,
    ) -> HeartbeatSession {
        let settings = PeerLinkSettings {
            peer: config.peer.clone(),
            interval: config.every,
            timeout: config.timeout,
            paths: config.paths.len(),
        };
        let hearing = PeerLink::new(settings, session(), monotonic_now());
        HeartbeatSession {
            witness: WitnessClient::new(&config, era, words.clone(), hearing.session()),
            peer_link: hearing,
            paths: HeartbeatSockets::new(&config, era, words.clone()),
            targets: ReachTargets::new(config.reach.as_ref(), era, &words),
            reach_comparison: ReachComparison::default(),
            config,
            epoch: era,
            messages: words,
            keys: HeartbeatKeyFile::default(),
            claims: Vec::new(),
            digested_config: None,
            digest: ConfigDigest::default(),
            drift: None,
            last_reported: HashMap::new(),
            last_error: None,
            since: SystemTime::now(),
        }
    }

    /// Whether the heartbeat has this configuration. If not, the caller recreates it.
    pub fn has_config(&self, config: &Written) -> bool {
        *self.config == *config
    }

    /// Opens sockets that are not open, and reads changed keys.
    pub fn refresh(
        &mut self,
        snapshot: &StateSnapshot,
        links: &HashMap<u32, NextHopLink>,
        events: &EventLog,
    ) {
        self.keys.refresh(&self.config.secret);
        self.paths.open_missing(links);
        let trouble = self.keys.last_error.clone();
        if trouble != self.last_error {
            match &trouble {
                Some(why) => events::report_key_error(&self.config, why, events),
                None => events::report_key_recovery(&self.config, events),
            }
            self.last_error = trouble;
        }
        self.digest.generation = snapshot.generation;
        if self.digested_config.as_ref().is_none_or(|known| !Arc::ptr_eq(known, &snapshot.config)) {
            self.digested_config = Some(Arc::clone(&snapshot.config));
            self.start_digest();
        }
    }

    /// A large configuration takes a while: not on this thread.
    fn start_digest(&self) {
        let Some(config) = self.digested_config.clone() else { return };
        let era = self.epoch;
        let words = self.messages.clone();
        tokio::task::spawn_blocking(move || {
            // Fails only if the thread has ended, which needs no digest.
            let _ = words.blocking_send(HeartbeatMessage::Digest(
                era,
                config_drift::config_digests(&config),
            ));
        });
    }

    /// Handles a message of one of its tasks.
    pub fn handle_message(&mut self, word: HeartbeatMessage, events: &EventLog) {
        match word {
            HeartbeatMessage::Packet(era, packet) if era == self.epoch => {
                self.receive_packet(&packet, events)
            }
            HeartbeatMessage::TargetAnswer(era, target, answered) if era == self.epoch => {
                if let Some(told) = self.targets.record_answer(target, answered) {
                    events::report_target(&self.config, &told, events);
                }
            }
            HeartbeatMessage::Digest(era, parts) if era == self.epoch => {
                self.set_digest(parts, events)
            }
            HeartbeatMessage::Witness(era, answered) if era == self.epoch => {
                if let Some(witness) = &mut self.witness {
                    witness.handle_answer(monotonic_now(), answered, events);
                }
            }
            HeartbeatMessage::Packet(..)
            | HeartbeatMessage::TargetAnswer(..)
            | HeartbeatMessage::Digest(..)
            | HeartbeatMessage::Witness(..) => {}
        }
    }

    fn set_digest(&mut self, parts: ConfigDigests, events: &EventLog) {
        self.digest.parts = parts;
        self.compare_configurations(events);
    }

    fn receive_packet(&mut self, packet: &PathPacket, events: &EventLog) {
        let Some(keys) = self.keys.keys() else {
            return self.paths.count_refused(packet.path, "no-key");
        };
        let mut changes = Vec::new();
        let heard = parse(&packet.bytes, keys).and_then(|beat| {
            self.peer_link.receive_heartbeat(packet.at, packet.path, beat, &mut changes)
        });
        self.report_change(&changes, events);
        match heard {
            Ok(newest) => {
                self.paths.count_received(packet.path);
                if newest {
                    self.receive_votes();
                    self.compare_configurations(events);
                }
            }
            Err(defect) => {
                self.paths.count_refused(packet.path, defect.name());
                let told = self.last_reported.get(&defect);
                // Copies of earlier packets are not logged as news: a network may duplicate packets.
                let news = told.is_none_or(|at| packet.at.since(*at) >= REPORT_INTERVAL);
                if news && defect != HeartbeatDefect::Replayed {
                    self.last_reported.insert(defect, packet.at);
                    events::report_refused(&self.config, packet.path, defect, events);
                }
            }
        }
    }

    /// Reads the votes in the peer's newest heartbeat.
    fn receive_votes(&mut self) {
        let Some(witness) = &mut self.witness else { return };
        let ours = |group: VrrpGroupKey| {
            let claim = self.claims.iter().find(|claim| claim.group() == group)?;
            Some(claim.precedence())
        };
        witness.receive_heartbeat(monotonic_now(), &self.peer_link, ours);
    }

    /// Until when a group may be active; `None`: no permission is needed. `held`: until when it is active.
    pub fn permitted_until(
        &mut self,
        group: VrrpGroupKey,
        state: VrrpState,
        wants_permission: bool,
        held: Option<MonotonicTime>,
    ) -> Option<MonotonicTime> {
        self.witness.as_mut().map(|witness| {
            witness.permitted_until(monotonic_now(), group, state, wants_permission, held)
        })
    }

    /// Whether a group needs permission to be active.
    pub fn needs_quorum(&self) -> bool {
        self.config.witness.is_some()
    }

    /// Releases the witness's leases, because no group is active any longer.
    pub async fn release_leases(&mut self) {
        if let Some(witness) = &mut self.witness {
            witness.release_leases(monotonic_now()).await;
        }
    }

    fn compare_configurations(&mut self, events: &EventLog) {
        let Some(beat) = self.peer_link.peer() else { return };
        let drift = config_drift::differing_parts(&self.digest.parts, &beat.config.parts);
        if drift != self.drift {
            events::report_drift(&self.config, drift.as_deref(), events);
            self.drift = drift;
        }
    }

    fn report_change(&mut self, changes: &[PeerLinkChange], events: &EventLog) {
        for change in changes {
            match change {
                PeerLinkChange::PeerUp | PeerLinkChange::PeerDown => self.since = SystemTime::now(),
                PeerLinkChange::PathUp(path) | PeerLinkChange::PathDown(path) => {
                    self.paths.record_change(*path)
                }
                PeerLinkChange::PeerRestarted => {}
            }
            let product = self.peer_link.peer().map(|beat| beat.product.as_str());
            events::report_change(&self.config, *change, product, events);
        }
    }

    /// When something is due.
    pub fn next_due(&self) -> MonotonicTime {
        let asks = self.witness.as_ref().map_or(MonotonicTime::NEVER, WitnessClient::next_due);
        self.peer_link.next_due().min(asks)
    }

    /// Handles timeouts: peers that went silent, and which member reaches more targets.
    pub fn handle_timeouts(&mut self, events: &EventLog) {
        let now = monotonic_now();
        let mut changes = Vec::new();
        self.peer_link.handle_timeouts(now, &mut changes);
        self.report_change(&changes, events);
        let Some(reach) = &self.config.reach else { return };
        let ours = self.targets.reach_score();
        let theirs = self.peer_link.peer().and_then(|beat| beat.reach);
        if self.reach_comparison.compare(now, ours, theirs, reach.settle) {
            let words = events::reach_text(&self.config.peer, ours, theirs);
            events::report_reach(&self.config, self.reach_comparison.is_behind(), &words, events);
        }
    }

    /// A group's view of the peer. `fit`: this member can do all of the group's work, which counts before reachability.
    pub fn peer_view(&self, id: u8, v6: bool, fit: bool) -> PeerView {
        let claimed = self.peer_link.peer_claim(id, v6);
        let takes_part = claimed.filter(|claimed| claimed.claim.state != VrrpState::Idle);
        let better = |claimed: PeerClaim| match (fit, claimed.claim.is_capable) {
            (true, false) => false,
            (false, true) => true,
            _ => self.reach_comparison.is_behind(),
        };
        let active = claimed.filter(|claimed| claimed.claim.state == VrrpState::Active);
        let wants = claimed
            .filter(|one| one.knows_our_claim && one.claim.vote.is_some_and(|it| it.wants_vote));
        PeerView {
            alive: self.peer_link.peer().is_some(),
            undecided: self.keys.keys().is_some() && self.peer_link.is_undecided(monotonic_now()),
            active: active.map(|claimed| claimed.claim.precedence()),
            knows_conflict: active.is_some_and(|claimed| claimed.knows_our_claim),
            wants_vote: wants.map(|claimed| claimed.claim.precedence()),
            ahead: takes_part.is_some_and(better),
        }
    }

    /// Why the other member would not take a group over, as far as is known.
    pub fn takeover_obstacle(&self, id: u8, v6: bool) -> Option<String> {
        let peer = &self.config.peer;
        let Some(claimed) = self.peer_link.peer_claim(id, v6) else {
            return Some(match self.peer_link.peer() {
                Some(_) => format!("{peer} has no such group"),
                None => format!("{peer} is not heard by the heartbeat"),
            });
        };
        match (claimed.claim.state, claimed.claim.is_capable) {
            (VrrpState::Idle, _) => Some(format!("{peer} is idle and would not take it")),
            (_, false) => Some(format!("{peer} cannot do all of its work")),
            _ => None,
        }
    }

    /// The state of the pair, for replication; `None` while there are no keys.
    pub fn pair_state(&self, active: BTreeSet<IpAddr>) -> Option<pair_state::PairState> {
        let theirs = self.peer_link.peer().map(|beat| beat.session);
        let paths = self.config.paths.iter().zip(self.paths.paths()).zip(self.peer_link.paths());
        Some(pair_state::PairState {
            keys: self.keys.keys()?.clone(),
            sessions: theirs
                .map(|theirs| ReplicaSessions { ours: self.peer_link.session(), theirs }),
            port: self.config.port,
            paths: paths
                .map(|((config, path), heard)| pair_state::PairPath {
                    config: config.clone(),
                    scope: path.scope,
                    up: heard.up,
                })
                .collect(),
            active,
        })
    }

    pub fn peer_summary(&self) -> PeerSummary {
        let theirs = self.peer_link.peer().and_then(|beat| beat.reach);
        let peer = self.config.peer.clone();
        PeerSummary { reach: events::reach_text(&peer, self.targets.reach_score(), theirs), peer }
    }

    /// Sends heartbeats that are due; changes of this member's part in groups are sent at once.
    pub fn send_due(&mut self, mut claims: Vec<GroupClaim>) {
        let now = monotonic_now();
        if let Some(witness) = &mut self.witness {
            witness.send_requests(now);
            witness.preview_votes(now, &mut claims);
        }
        let states = |claims: &[GroupClaim]| {
            let each =
                claims.iter().map(|one| (one.id, one.v6, one.is_capable, one.state, one.vote));
            each.collect::<Vec<_>>()
        };
        if states(&claims) != states(&self.claims) {
            self.peer_link.request_round(now);
        }
        self.claims = claims;
        let Some(round) = self.peer_link.take_round(now, &self.claims) else { return };
        if let Some(witness) = &mut self.witness {
            witness.take_votes(now, round.number, &mut self.claims);
        }
        let Some(keys) = self.keys.keys() else { return };
        let mut beat = PeerHeartbeat {
            version: ha::heartbeat::VERSION,
            session: self.peer_link.session(),
            number: round.number,
            echo: ha::heartbeat::HeartbeatEcho::default(),
            name: self.config.name.clone(),
            product: env!("CARGO_PKG_VERSION").to_owned(),
            config: self.digest,
            reach: self.targets.reach_score(),
            last_received: self.peer_link.newest_heartbeat(),
            claims: self.claims.clone(),
        };
        for (path, echo) in round.echoes.into_iter().enumerate() {
            beat.echo = echo;
            self.paths.send(path, &emit(&beat, keys));
        }
    }
}

/// A random number that cannot be guessed: a message that repeats it was made after it was drawn.
fn session() -> u64 {
    let mut bytes = [0; 8];
    let drawn = aws_lc_rs::rand::fill(&mut bytes).is_ok();
    let number = if drawn { u64::from_ne_bytes(bytes) } else { random_seed() };
    number.max(1)
}
