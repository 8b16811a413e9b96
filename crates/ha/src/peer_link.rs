//! What is heard of the other member: by which paths, whether it is new, and since when there is silence. Pure.
//!
//! A beat is believed when it repeats the random number that this process drew when it began: then it was made since,
//! by somebody who heard us, and no recording of earlier ones can pass for it. Within a session numbers rise; another
//! session of the peer is believed when it has heard newer beats of ours than the one before. Whoever does not know our
//! session is answered, so that it learns it, and not believed.

mod path;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use model::monotonic_time::MonotonicTime;

use crate::heartbeat::{GroupClaim, HeartbeatDefect, HeartbeatEcho, HeartbeatId, PeerHeartbeat};
use crate::state_machine::VrrpState;
use path::HeartbeatArrival;
pub use path::PeerLinkPath;

/// Rounds whose time of sending is remembered, for round trips.
const SENT: usize = 128;

/// What a member is told by its configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerLinkSettings {
    /// The other member's name.
    pub peer: String,
    /// Between two rounds of beats.
    pub interval: Duration,
    /// A path by which nothing came for so long is down.
    pub timeout: Duration,
    /// Paths, at least one.
    pub paths: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerLinkChange {
    /// The other member is heard by this path again, or for the first time.
    PathUp(usize),
    /// It is not heard by this path any more.
    PathDown(usize),
    /// It is heard at all.
    PeerUp,
    /// It is another process than before.
    PeerRestarted,
    /// It is heard by no path any more.
    PeerDown,
}

/// What the other member claims for a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerClaim {
    pub claim: GroupClaim,
    /// It knew that we say we are active when it said so.
    pub knows_our_claim: bool,
}

/// What a round of beats carries that differs between rounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeartbeatRound {
    pub number: u64,
    /// What was heard, for each path.
    pub echoes: Vec<HeartbeatEcho>,
}

/// A member's view of the other one.
#[derive(Clone, Debug)]
pub struct PeerLink {
    settings: PeerLinkSettings,
    session: u64,
    number: u64,
    started_at: MonotonicTime,
    last_tick: MonotonicTime,
    paths: Vec<PeerLinkPath>,
    peer: Option<LinkPeer>,
    sent_rounds: VecDeque<(u64, MonotonicTime)>,
    /// What we say of each group, and since which round.
    sent_states: BTreeMap<(u8, bool), (VrrpState, u64)>,
    next_regular: MonotonicTime,
    next_extra: Option<MonotonicTime>,
    /// Beats that did not know our session.
    pub introductions: u64,
    /// Sessions of the peer that were believed.
    pub sessions: u64,
}

#[derive(Clone, Debug)]
struct LinkPeer {
    beat: PeerHeartbeat,
    /// The first number of its session that was believed.
    first: u64,
    /// Our newest number that it heard.
    ack: u64,
}

impl PeerLink {
    /// A member that begins. `session` is drawn at random and not 0.
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

    /// The number of this process.
    pub fn session(&self) -> u64 {
        self.session
    }

    /// Its paths, in the order of the configuration.
    pub fn paths(&self) -> &[PeerLinkPath] {
        &self.paths
    }

    /// The other member's last words, as long as it is heard by some path.
    pub fn peer(&self) -> Option<&PeerHeartbeat> {
        self.peer.as_ref().filter(|_| self.is_peer_alive()).map(|peer| &peer.beat)
    }

    /// The newest beat of the other member that was believed, heard still or not.
    pub fn newest_heartbeat(&self) -> Option<HeartbeatId> {
        let peer = self.peer.as_ref()?;
        Some(HeartbeatId { session: peer.beat.session, number: peer.beat.number })
    }

    /// When the beats of this number were sent, of the last rounds.
    pub fn sent_at(&self, number: u64) -> Option<MonotonicTime> {
        self.sent_rounds.iter().find(|(sent, _)| *sent == number).map(|(_, at)| *at)
    }

    /// Nothing was heard, but not for long enough to tell that there is nobody.
    pub fn is_undecided(&self, now: MonotonicTime) -> bool {
        self.peer.is_none() && now.since(self.started_at) < self.settings.timeout
    }

    /// What the other member claims for a group, as long as it is heard.
    pub fn peer_claim(&self, id: u8, v6: bool) -> Option<PeerClaim> {
        let peer = self.peer.as_ref().filter(|_| self.is_peer_alive())?;
        let claim = *peer.beat.claims.iter().find(|claim| (claim.id, claim.v6) == (id, v6))?;
        let said = self.sent_states.get(&(id, v6));
        let knows =
            said.is_some_and(|(state, since)| *state == VrrpState::Active && peer.ack >= *since);
        Some(PeerClaim { claim, knows_our_claim: knows })
    }

    /// Of the last rounds, the share that did not come by this path, 0–1.
    pub fn loss(&self, path: usize) -> f64 {
        let at = self.paths.get(path).zip(self.peer.as_ref());
        at.map_or(0.0, |(path, peer)| path.loss(peer.first, peer.beat.number))
    }

    /// The other member is heard by this path, but what we send by it does not arrive.
    pub fn is_one_way(&self, path: usize, now: MonotonicTime) -> bool {
        let Some(path) = self.paths.get(path).filter(|path| path.up) else { return false };
        let since = path.arrived.unwrap_or(self.started_at);
        now.since(since) > self.settings.timeout + self.settings.interval
    }

    /// When `round` or `pass` is to be called next.
    pub fn next_due(&self) -> MonotonicTime {
        let up = self.paths.iter().filter(|path| path.up).filter_map(|path| path.received_at);
        let silent = up.map(|at| at + self.settings.timeout).min().unwrap_or(MonotonicTime::NEVER);
        self.next_regular.min(self.next_extra.unwrap_or(MonotonicTime::NEVER)).min(silent)
    }

    /// Something is to be said at once.
    pub fn request_round(&mut self, now: MonotonicTime) {
        self.next_extra = Some(now);
    }

    /// A round of beats, if one is due.
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
        // Strangers are answered in rounds of their own: nobody can keep the peer from being answered by playing one.
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
        self.sent_rounds.push_back((self.number, now));
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
        let number = self.number;
        self.sent_states.retain(|key, _| claims.iter().any(|claim| (claim.id, claim.v6) == *key));
        for claim in claims {
            let said =
                self.sent_states.entry((claim.id, claim.v6)).or_insert((claim.state, number));
            if said.0 != claim.state {
                *said = (claim.state, number);
            }
        }
    }

    /// A beat came by a path, well signed. `true`: it is the newest.
    ///
    /// # Errors
    /// It is not believed.
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
            let soon = self.sent_rounds.back().map_or(now, |(_, sent)| (*sent + pause).max(now));
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

    /// A session of the peer begins: it has heard this process.
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
        // It is to learn at once that it was heard.
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
        let sent = self.sent_rounds.iter().find(|(number, _)| *number == beat.echo.number);
        if let Some((_, sent)) = sent {
            if way.arrived.is_none_or(|before| before < *sent) {
                way.arrived = Some(*sent);
            }
            let held = Duration::from_micros(u64::from(beat.echo.delay_us));
            way.record_round_trip(last.at.since(*sent).saturating_sub(held));
        }
        if !way.up {
            // Whether it hears us is found out from now on.
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

    /// Time has passed. What this process slept through counts for nothing: what came meanwhile waits to be heard.
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

    /// The least time between two rounds that strangers call for.
    fn min_extra_interval(&self) -> Duration {
        self.settings.interval / 4
    }
}

#[cfg(test)]
mod tests;
