//! What is heard of the other member: by which paths, whether it is new, and since when there is silence. Pure.
//!
//! A beat is believed when it repeats the random number that this process drew when it began: then it was made since,
//! by somebody who heard us, and no recording of earlier ones can pass for it. Within a session numbers rise; another
//! session of the peer is believed when it has heard newer beats of ours than the one before. Whoever does not know our
//! session is answered, so that it learns it, and not believed.

mod path;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use model::moment::Moment;

use crate::beat::{Beat, Claim, Defect, Echo, Heard};
use crate::machine::State;
use path::Last;
pub use path::Path;

/// Rounds whose time of sending is remembered, for round trips.
const SENT: usize = 128;

/// What a member is told by its configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The other member's name.
    pub peer: String,
    /// Between two rounds of beats.
    pub every: Duration,
    /// A path by which nothing came for so long is down.
    pub timeout: Duration,
    /// Paths, at least one.
    pub paths: usize,
}

/// What changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The other member is heard by this path again, or for the first time.
    PathUp(usize),
    /// It is not heard by this path any more.
    PathDown(usize),
    /// It is heard at all.
    Heard,
    /// It is another process than before.
    Renewed,
    /// It is heard by no path any more.
    Lost,
}

/// What the other member claims for a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// Its claim.
    pub claim: Claim,
    /// It knew that we say we are active when it said so.
    pub knows: bool,
}

/// What a round of beats carries that differs between rounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round {
    /// Its number.
    pub number: u64,
    /// What was heard, for each path.
    pub echoes: Vec<Echo>,
}

/// A member's view of the other one.
#[derive(Clone, Debug)]
pub struct Hearing {
    settings: Settings,
    session: u64,
    number: u64,
    begun: Moment,
    passed: Moment,
    paths: Vec<Path>,
    peer: Option<Peer>,
    sent: VecDeque<(u64, Moment)>,
    /// What we say of each group, and since which round.
    said: BTreeMap<(u8, bool), (State, u64)>,
    regular: Moment,
    extra: Option<Moment>,
    /// Beats that did not know our session.
    pub introductions: u64,
    /// Sessions of the peer that were believed.
    pub sessions: u64,
}

#[derive(Clone, Debug)]
struct Peer {
    beat: Beat,
    /// The first number of its session that was believed.
    first: u64,
    /// Our newest number that it heard.
    ack: u64,
}

impl Hearing {
    /// A member that begins. `session` is drawn at random and not 0.
    pub fn new(settings: Settings, session: u64, now: Moment) -> Hearing {
        Hearing {
            paths: vec![Path::default(); settings.paths],
            settings,
            session,
            number: 0,
            begun: now,
            passed: now,
            peer: None,
            sent: VecDeque::new(),
            said: BTreeMap::new(),
            regular: now,
            extra: None,
            introductions: 0,
            sessions: 0,
        }
    }

    /// The number of this process.
    pub fn session(&self) -> u64 {
        self.session
    }

    /// Its paths, in the order of the configuration.
    pub fn paths(&self) -> &[Path] {
        &self.paths
    }

    /// The other member's last words, as long as it is heard by some path.
    pub fn peer(&self) -> Option<&Beat> {
        self.peer.as_ref().filter(|_| self.alive()).map(|peer| &peer.beat)
    }

    /// The newest beat of the other member that was believed, heard still or not.
    pub fn newest(&self) -> Option<Heard> {
        let peer = self.peer.as_ref()?;
        Some(Heard { session: peer.beat.session, number: peer.beat.number })
    }

    /// When the beats of this number were sent, of the last rounds.
    pub fn sent(&self, number: u64) -> Option<Moment> {
        self.sent.iter().find(|(sent, _)| *sent == number).map(|(_, at)| *at)
    }

    /// Nothing was heard, but not for long enough to tell that there is nobody.
    pub fn unsure(&self, now: Moment) -> bool {
        self.peer.is_none() && now.since(self.begun) < self.settings.timeout
    }

    /// What the other member claims for a group, as long as it is heard.
    pub fn claimed(&self, id: u8, v6: bool) -> Option<Claimed> {
        let peer = self.peer.as_ref().filter(|_| self.alive())?;
        let claim = *peer.beat.claims.iter().find(|claim| (claim.id, claim.v6) == (id, v6))?;
        let said = self.said.get(&(id, v6));
        let knows =
            said.is_some_and(|(state, since)| *state == State::Active && peer.ack >= *since);
        Some(Claimed { claim, knows })
    }

    /// Of the last rounds, the share that did not come by this path, 0–1.
    pub fn loss(&self, path: usize) -> f64 {
        let at = self.paths.get(path).zip(self.peer.as_ref());
        at.map_or(0.0, |(path, peer)| path.loss(peer.first, peer.beat.number))
    }

    /// The other member is heard by this path, but what we send by it does not arrive.
    pub fn one_way(&self, path: usize, now: Moment) -> bool {
        let Some(path) = self.paths.get(path).filter(|path| path.up) else { return false };
        let since = path.arrived.unwrap_or(self.begun);
        now.since(since) > self.settings.timeout + self.settings.every
    }

    /// When `round` or `pass` is to be called next.
    pub fn due(&self) -> Moment {
        let up = self.paths.iter().filter(|path| path.up).filter_map(|path| path.heard_at);
        let silent = up.map(|at| at + self.settings.timeout).min().unwrap_or(Moment::NEVER);
        self.regular.min(self.extra.unwrap_or(Moment::NEVER)).min(silent)
    }

    /// Something is to be said at once.
    pub fn urge(&mut self, now: Moment) {
        self.extra = Some(now);
    }

    /// A round of beats, if one is due.
    pub fn round(&mut self, now: Moment, claims: &[Claim]) -> Option<Round> {
        let regular = now >= self.regular;
        let extra = self.extra.is_some_and(|at| now >= at);
        if !regular && !extra {
            return None;
        }
        // Strangers are answered in rounds of their own: nobody can keep the peer from being answered by playing one.
        let to_strangers = !regular || self.peer().is_none();
        if regular {
            self.regular = now + self.settings.every;
            let waits = self.extra.is_some() && !to_strangers;
            self.extra = waits.then(|| now + self.pause());
        } else {
            self.extra = None;
        }
        self.number += 1;
        if self.sent.len() == SENT {
            self.sent.pop_front();
        }
        self.sent.push_back((self.number, now));
        self.say(claims);
        let newest = |session| {
            let path = self.paths.iter().filter_map(|path| path.last);
            path.filter(|last| last.session == session).map(|last| last.number).max().unwrap_or(0)
        };
        let echo = |path: &Path| {
            let stranger = path.stranger.filter(|_| to_strangers);
            let Some(last) = stranger.or(path.last) else {
                let session = self.peer().map_or(0, |beat| beat.session);
                return Echo { session, newest: newest(session), ..Echo::default() };
            };
            let held = u32::try_from(now.since(last.at).as_micros()).unwrap_or(u32::MAX);
            let newest = newest(last.session).max(last.number);
            Echo { session: last.session, newest, number: last.number, held_us: held }
        };
        let echoes = self.paths.iter().map(echo).collect();
        if to_strangers {
            self.paths.iter_mut().for_each(|path| path.stranger = None);
        }
        Some(Round { number: self.number, echoes })
    }

    fn say(&mut self, claims: &[Claim]) {
        let number = self.number;
        self.said.retain(|key, _| claims.iter().any(|claim| (claim.id, claim.v6) == *key));
        for claim in claims {
            let said = self.said.entry((claim.id, claim.v6)).or_insert((claim.state, number));
            if said.0 != claim.state {
                *said = (claim.state, number);
            }
        }
    }

    /// A beat came by a path, well signed. `true`: it is the newest.
    ///
    /// # Errors
    /// It is not believed.
    pub fn hear(
        &mut self,
        now: Moment,
        path: usize,
        beat: Beat,
        out: &mut Vec<Change>,
    ) -> Result<bool, Defect> {
        if beat.session == self.session {
            return Err(Defect::Reflected);
        }
        if beat.name != self.settings.peer {
            return Err(Defect::Member);
        }
        let pause = self.pause();
        let way = self.paths.get_mut(path).ok_or(Defect::Foreign)?;
        let last = Last { session: beat.session, number: beat.number, at: now };
        if beat.echo.session != self.session {
            self.introductions += 1;
            way.stranger = Some(last);
            let soon = self.sent.back().map_or(now, |(_, sent)| (*sent + pause).max(now));
            self.extra = Some(self.extra.map_or(soon, |at| at.min(soon)));
            return Ok(false);
        }
        if beat.echo.newest > self.number {
            return Err(Defect::Fields);
        }
        let known = self.peer.as_ref();
        if known.is_none_or(|peer| peer.beat.session != beat.session) {
            if known.is_some_and(|peer| beat.echo.newest <= peer.ack) {
                return Err(Defect::Replayed);
            }
            self.begin(now, &beat, out);
        }
        self.believe(path, last, beat, out)
    }

    /// A session of the peer begins: it has heard this process.
    fn begin(&mut self, now: Moment, beat: &Beat, out: &mut Vec<Change>) {
        self.paths.iter_mut().for_each(Path::renew);
        self.sessions += 1;
        if self.peer().is_some() {
            out.push(Change::Renewed);
        }
        let (first, ack) = (beat.number, beat.echo.newest);
        self.peer = Some(Peer { beat: beat.clone(), first, ack });
        // It is to learn at once that it was heard.
        self.extra = Some(now);
    }

    fn believe(
        &mut self,
        path: usize,
        last: Last,
        beat: Beat,
        out: &mut Vec<Change>,
    ) -> Result<bool, Defect> {
        let was_alive = self.alive();
        let (Some(way), Some(peer)) = (self.paths.get_mut(path), &mut self.peer) else {
            return Err(Defect::Foreign);
        };
        if !way.take(beat.number) {
            return Err(Defect::Replayed);
        }
        if way.last.is_none_or(|before| before.number < last.number) {
            way.last = Some(last);
        }
        way.heard_at = Some(last.at);
        let sent = self.sent.iter().find(|(number, _)| *number == beat.echo.number);
        if let Some((_, sent)) = sent {
            if way.arrived.is_none_or(|before| before < *sent) {
                way.arrived = Some(*sent);
            }
            let held = Duration::from_micros(u64::from(beat.echo.held_us));
            way.trip(last.at.since(*sent).saturating_sub(held));
        }
        if !way.up {
            // Whether it hears us is found out from now on.
            (way.up, way.arrived) = (true, Some(last.at));
            out.push(Change::PathUp(path));
        }
        if !was_alive {
            out.push(Change::Heard);
        }
        peer.ack = peer.ack.max(beat.echo.newest);
        let newest = beat.number >= peer.beat.number;
        if newest {
            peer.beat = beat;
        }
        Ok(newest)
    }

    /// Time has passed. What this process slept through counts for nothing: what came meanwhile waits to be heard.
    pub fn pass(&mut self, now: Moment, out: &mut Vec<Change>) {
        let slept = now.since(self.passed).saturating_sub(self.settings.every * 3 / 2);
        self.passed = self.passed.max(now);
        if !slept.is_zero() {
            self.begun = self.begun + slept;
            for path in &mut self.paths {
                path.heard_at = path.heard_at.map(|at| at + slept);
                path.arrived = path.arrived.map(|at| at + slept);
            }
        }
        let was_alive = self.alive();
        for (at, path) in self.paths.iter_mut().enumerate() {
            let silent = path.heard_at.is_none_or(|at| now.since(at) >= self.settings.timeout);
            if path.up && silent {
                path.up = false;
                out.push(Change::PathDown(at));
            }
        }
        if was_alive && !self.alive() {
            out.push(Change::Lost);
        }
    }

    fn alive(&self) -> bool {
        self.paths.iter().any(|path| path.up)
    }

    /// The least time between two rounds that strangers call for.
    fn pause(&self) -> Duration {
        self.settings.every / 4
    }
}

#[cfg(test)]
mod tests;
