//! What is known of the other member: which paths work, which heartbeats are new, and since when there is silence.
//! Pure.
//!
//! A heartbeat is accepted when it repeats the random session number of this process: then it was made after the start,
//! by a member that received ours. Replayed heartbeats of earlier sessions fail this test. Within a session numbers
//! rise. A new session of the peer is accepted when it has received newer heartbeats of ours than the session before. A
//! sender that does not know our session gets a reply with it, and is not accepted yet.

mod path;
mod sent;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use model::monotonic_time::MonotonicTime;

use crate::heartbeat::{
    GroupClaim, HeartbeatDefect, HeartbeatEcho, HeartbeatId, PeerHeartbeat, VrrpGroupKey,
};
use crate::state_machine::VrrpState;
use path::HeartbeatArrival;
pub use path::PeerLinkPath;
use sent::{SentGroupState, SentRound};

/// Rounds whose sending time is remembered for round trips: an echo of an older round gives none.
/// At the least interval, 10 ms, more than a second.
const SENT: usize = 128;

/// The configuration of a heartbeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerLinkSettings {
    /// The other member's name.
    pub peer: String,
    /// Time between two rounds of heartbeats.
    pub interval: Duration,
    /// A path without a heartbeat for this long is down.
    pub timeout: Duration,
    /// Paths, at least one.
    pub paths: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerLinkChange {
    /// Heartbeats arrive over this path, for the first time or after an interruption.
    PathUp(usize),
    /// Heartbeats no longer arrive over this path.
    PathDown(usize),
    /// Heartbeats arrive over at least one path.
    PeerUp,
    /// The other member runs another process than before.
    PeerRestarted,
    /// Heartbeats no longer arrive over any path.
    PeerDown,
}

/// The other member's claim for a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerClaim {
    pub claim: GroupClaim,
    /// The peer's claim was sent after the peer had received this member's claim to be active.
    pub knows_our_claim: bool,
}

/// The parts of a round that change from round to round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeartbeatRound {
    pub number: u64,
    /// The echo for each path.
    pub echoes: Vec<HeartbeatEcho>,
}

/// One member's view of the other.
#[derive(Clone, Debug)]
pub struct PeerLink {
    settings: PeerLinkSettings,
    session: u64,
    number: u64,
    started_at: MonotonicTime,
    last_tick: MonotonicTime,
    paths: Vec<PeerLinkPath>,
    peer: Option<LinkPeer>,
    sent_rounds: VecDeque<SentRound>,
    sent_states: BTreeMap<VrrpGroupKey, SentGroupState>,
    next_regular: MonotonicTime,
    next_extra: Option<MonotonicTime>,
    /// Heartbeats that did not yet carry this member's session.
    pub introductions: u64,
    /// Accepted sessions of the peer.
    pub sessions: u64,
}

#[derive(Clone, Debug)]
struct LinkPeer {
    beat: PeerHeartbeat,
    /// The first accepted number of the session.
    first: u64,
    /// Our newest number that the peer received.
    ack: u64,
}

impl PeerLink {
    /// Starts a member. `session` is random and not 0.
    pub fn new(settings: PeerLinkSettings, session: u64, now: MonotonicTime) -> PeerLink {
        PeerLink {
            paths: vec![PeerLinkPath::default(); settings.paths],
            settings,
            session,
            number: 0,
            started_at: now,
            last_tick: now,
            peer: None,
            sent_rounds: VecDeque::new(),
            sent_states: BTreeMap::new(),
            next_regular: now,
            next_extra: None,
            introductions: 0,
            sessions: 0,
        }
    }

    pub fn session(&self) -> u64 {
        self.session
    }

    /// The paths in the order of the configuration.
    pub fn paths(&self) -> &[PeerLinkPath] {
        &self.paths
    }

    /// The other member's newest heartbeat while at least one path is up.
    pub fn peer(&self) -> Option<&PeerHeartbeat> {
        self.peer.as_ref().filter(|_| self.is_peer_alive()).map(|peer| &peer.beat)
    }

    /// The other member's newest accepted heartbeat, whether or not a path is still up.
    pub fn newest_heartbeat(&self) -> Option<HeartbeatId> {
        let peer = self.peer.as_ref()?;
        Some(HeartbeatId { session: peer.beat.session, number: peer.beat.number })
    }

    /// When the heartbeats of this round were sent, if the round is recent.
    pub fn sent_at(&self, number: u64) -> Option<MonotonicTime> {
        self.sent_rounds.iter().find(|round| round.number == number).map(|round| round.sent_at)
    }

    /// Nothing arrived yet, but the wait was too short to conclude that the peer is down.
    pub fn is_undecided(&self, now: MonotonicTime) -> bool {
        self.peer.is_none() && now.since(self.started_at) < self.settings.timeout
    }

    /// The other member's claim for a group while at least one path is up.
    pub fn peer_claim(&self, id: u8, v6: bool) -> Option<PeerClaim> {
        let peer = self.peer.as_ref().filter(|_| self.is_peer_alive())?;
        let group = VrrpGroupKey { id, v6 };
        let claim = *peer.beat.claims.iter().find(|claim| claim.group() == group)?;
        let knows = self
            .sent_states
            .get(&group)
            .is_some_and(|sent| sent.state == VrrpState::Active && peer.ack >= sent.first_round);
        Some(PeerClaim { claim, knows_our_claim: knows })
    }

    /// The share of the last rounds that did not arrive over this path, 0–1.
    pub fn loss(&self, path: usize) -> f64 {
        let at = self.paths.get(path).zip(self.peer.as_ref());
        at.map_or(0.0, |(path, peer)| path.loss(peer.first, peer.beat.number))
    }

    /// This member receives over this path, but the peer does not receive this member's heartbeats.
    pub fn is_one_way(&self, path: usize, now: MonotonicTime) -> bool {
        let Some(path) = self.paths.get(path).filter(|path| path.up) else { return false };
        let since = path.arrived.unwrap_or(self.started_at);
        now.since(since) > self.settings.timeout + self.settings.interval
    }

    /// When `take_round` or `handle_timeouts` is to be called next.
    pub fn next_due(&self) -> MonotonicTime {
        let up = self.paths.iter().filter(|path| path.up).filter_map(|path| path.received_at);
        let silent = up.map(|at| at + self.settings.timeout).min().unwrap_or(MonotonicTime::NEVER);
        self.next_regular.min(self.next_extra.unwrap_or(MonotonicTime::NEVER)).min(silent)
    }

    /// Requests a round at once, because the state changed.
    pub fn request_round(&mut self, now: MonotonicTime) {
        self.next_extra = Some(now);
    }

    /// Returns a round of heartbeats if one is due.
    pub fn take_round(
        &mut self,
        now: MonotonicTime,
        claims: &[GroupClaim],
    ) -> Option<HeartbeatRound> {
        let regular = now >= self.next_regular;
        let extra = self.next_extra.is_some_and(|at| now >= at);
        if !regular && !extra {
            return None;
        }
        // Unknown senders get replies in extra rounds: a flood of them cannot delay the regular rounds to the peer.
        let to_strangers = !regular || self.peer().is_none();
        if regular {
            self.next_regular = now + self.settings.interval;
            let waits = self.next_extra.is_some() && !to_strangers;
            self.next_extra = waits.then(|| now + self.min_extra_interval());
        } else {
            self.next_extra = None;
        }
        self.number += 1;
        if self.sent_rounds.len() == SENT {
            self.sent_rounds.pop_front();
        }
        self.sent_rounds.push_back(SentRound { number: self.number, sent_at: now });
        self.record_claims(claims);
        let newest = |session| {
            let path = self.paths.iter().filter_map(|path| path.last);
            path.filter(|last| last.session == session).map(|last| last.number).max().unwrap_or(0)
        };
        let echo = |path: &PeerLinkPath| {
            let stranger = path.unknown_session.filter(|_| to_strangers);
            let Some(last) = stranger.or(path.last) else {
                let session = self.peer().map_or(0, |beat| beat.session);
                return HeartbeatEcho {
                    session,
                    newest: newest(session),
                    ..HeartbeatEcho::default()
                };
            };
            let held = u32::try_from(now.since(last.at).as_micros()).unwrap_or(u32::MAX);
            let newest = newest(last.session).max(last.number);
            HeartbeatEcho { session: last.session, newest, number: last.number, delay_us: held }
        };
        let echoes = self.paths.iter().map(echo).collect();
        if to_strangers {
            self.paths.iter_mut().for_each(|path| path.unknown_session = None);
        }
        Some(HeartbeatRound { number: self.number, echoes })
    }

    fn record_claims(&mut self, claims: &[GroupClaim]) {
        self.sent_states.retain(|group, _| claims.iter().any(|claim| claim.group() == *group));
        for claim in claims {
            let new = SentGroupState { state: claim.state, first_round: self.number };
            let sent = self.sent_states.entry(claim.group()).or_insert(new);
            if sent.state != claim.state {
                *sent = new;
            }
        }
    }

    /// A correctly signed heartbeat arrived over a path. Returns whether it is the newest.
    ///
    /// # Errors
    /// The heartbeat is not accepted.
    pub fn receive_heartbeat(
        &mut self,
        now: MonotonicTime,
        path: usize,
        beat: PeerHeartbeat,
        out: &mut Vec<PeerLinkChange>,
    ) -> Result<bool, HeartbeatDefect> {
        if beat.session == self.session {
            return Err(HeartbeatDefect::Reflected);
        }
        if beat.name != self.settings.peer {
            return Err(HeartbeatDefect::Member);
        }
        let pause = self.min_extra_interval();
        let way = self.paths.get_mut(path).ok_or(HeartbeatDefect::Foreign)?;
        let last = HeartbeatArrival { session: beat.session, number: beat.number, at: now };
        if beat.echo.session != self.session {
            self.introductions += 1;
            way.unknown_session = Some(last);
            let soon =
                self.sent_rounds.back().map_or(now, |round| (round.sent_at + pause).max(now));
            self.next_extra = Some(self.next_extra.map_or(soon, |at| at.min(soon)));
            return Ok(false);
        }
        if beat.echo.newest > self.number {
            return Err(HeartbeatDefect::Fields);
        }
        let known = self.peer.as_ref();
        if known.is_none_or(|peer| peer.beat.session != beat.session) {
            if known.is_some_and(|peer| beat.echo.newest <= peer.ack) {
                return Err(HeartbeatDefect::Replayed);
            }
            self.start_peer_session(now, &beat, out);
        }
        self.accept_heartbeat(path, last, beat, out)
    }

    /// A new session of the peer begins: it has received a heartbeat of this process.
    fn start_peer_session(
        &mut self,
        now: MonotonicTime,
        beat: &PeerHeartbeat,
        out: &mut Vec<PeerLinkChange>,
    ) {
        self.paths.iter_mut().for_each(PeerLinkPath::reset_session);
        self.sessions += 1;
        if self.peer().is_some() {
            out.push(PeerLinkChange::PeerRestarted);
        }
        let first = beat.number;
        let ack = beat.echo.newest;
        self.peer = Some(LinkPeer { beat: beat.clone(), first, ack });
        // The peer should learn at once that its heartbeat arrived.
        self.next_extra = Some(now);
    }

    fn accept_heartbeat(
        &mut self,
        path: usize,
        last: HeartbeatArrival,
        beat: PeerHeartbeat,
        out: &mut Vec<PeerLinkChange>,
    ) -> Result<bool, HeartbeatDefect> {
        let was_alive = self.is_peer_alive();
        let (Some(way), Some(peer)) = (self.paths.get_mut(path), &mut self.peer) else {
            return Err(HeartbeatDefect::Foreign);
        };
        if !way.mark_received(beat.number) {
            return Err(HeartbeatDefect::Replayed);
        }
        if way.last.is_none_or(|before| before.number < last.number) {
            way.last = Some(last);
        }
        way.received_at = Some(last.at);
        let echoed = self.sent_rounds.iter().find(|round| round.number == beat.echo.number);
        if let Some(&SentRound { sent_at, .. }) = echoed {
            if way.arrived.is_none_or(|before| before < sent_at) {
                way.arrived = Some(sent_at);
            }
            let held = Duration::from_micros(u64::from(beat.echo.delay_us));
            way.record_round_trip(last.at.since(sent_at).saturating_sub(held));
        }
        if !way.up {
            // From now on, the echoes measure whether the peer receives this member's heartbeats over this path.
            way.up = true;
            way.arrived = Some(last.at);
            out.push(PeerLinkChange::PathUp(path));
        }
        if !was_alive {
            out.push(PeerLinkChange::PeerUp);
        }
        peer.ack = peer.ack.max(beat.echo.newest);
        let newest = beat.number >= peer.beat.number;
        if newest {
            peer.beat = beat;
        }
        Ok(newest)
    }

    /// Handles elapsed time. A pause of this process does not count as silence: heartbeats that arrived meanwhile are
    /// still in the socket's queue.
    pub fn handle_timeouts(&mut self, now: MonotonicTime, out: &mut Vec<PeerLinkChange>) {
        let slept = now.since(self.last_tick).saturating_sub(self.settings.interval * 3 / 2);
        self.last_tick = self.last_tick.max(now);
        if !slept.is_zero() {
            self.started_at = self.started_at + slept;
            for path in &mut self.paths {
                path.received_at = path.received_at.map(|at| at + slept);
                path.arrived = path.arrived.map(|at| at + slept);
            }
        }
        let was_alive = self.is_peer_alive();
        for (at, path) in self.paths.iter_mut().enumerate() {
            let silent = path.received_at.is_none_or(|at| now.since(at) >= self.settings.timeout);
            if path.up && silent {
                path.up = false;
                out.push(PeerLinkChange::PathDown(at));
            }
        }
        if was_alive && !self.is_peer_alive() {
            out.push(PeerLinkChange::PeerDown);
        }
    }

    fn is_peer_alive(&self) -> bool {
        self.paths.iter().any(|path| path.up)
    }

    /// The least time between two extra rounds.
    fn min_extra_interval(&self) -> Duration {
        self.settings.interval / 4
    }
}

#[cfg(test)]
mod tests;
