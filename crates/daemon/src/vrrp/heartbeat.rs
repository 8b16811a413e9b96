//! The heartbeat at work: its file of keys, its sockets, its targets, and what it says to groups. Who is believed and what
//! follows is decided in `ha`.

mod drift;
mod paths;
pub mod said;
mod secret;
mod target;
mod targets;
pub mod view;
pub mod wire;
pub mod witness;
pub mod word;

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ha::beat::{Beat, Claim, Defect, Digest, emit, parse};
use ha::hearing::{Change, Claimed, Hearing, Settings};
use ha::machine::{Peer, State};
use ha::reach::Standing;
use l4::hops::Link;
use model::config::{Config, Heartbeat as Written};
use model::moment::Moment;
use tokio::sync::mpsc;

use super::alive::now;
use super::replica::pair;
use crate::control::Picture;
use crate::event::Events;
use crate::probe::seed::seed;
use paths::Paths;
use said::Pair;
use secret::Secret;
use targets::Targets;
use witness::Witness;
use word::{Digested, Packet, Word};

/// What is wrong with packets is told once in so long, for each kind.
const AGAIN: Duration = Duration::from_secs(60);

/// The heartbeat with another member.
pub struct Heartbeat {
    config: Arc<Written>,
    era: u64,
    words: mpsc::Sender<Word>,
    secret: Secret,
    hearing: Hearing,
    paths: Paths,
    targets: Targets,
    standing: Standing,
    witness: Option<Witness>,
    claims: Vec<Claim>,
    /// The configuration that was summed up, or is being.
    summed: Option<Arc<Config>>,
    digest: Digest,
    drift: Option<String>,
    refused: HashMap<Defect, Moment>,
    trouble: Option<String>,
    since: SystemTime,
}

impl Heartbeat {
    /// One that begins; `era` tells it from those before.
    pub fn new(config: Arc<Written>, era: u64, words: mpsc::Sender<Word>) -> Heartbeat {
        let settings = Settings {
            peer: config.peer.clone(),
            every: config.every,
            timeout: config.timeout,
            paths: config.paths.len(),
        };
        let hearing = Hearing::new(settings, session(), now());
        Heartbeat {
            witness: Witness::new(&config, (era, words.clone()), hearing.session()),
            hearing,
            paths: Paths::new(&config, era, words.clone()),
            targets: Targets::new(config.reach.as_ref(), era, &words),
            standing: Standing::default(),
            config,
            era,
            words,
            secret: Secret::default(),
            claims: Vec::new(),
            summed: None,
            digest: Digest::default(),
            drift: None,
            refused: HashMap::new(),
            trouble: None,
            since: SystemTime::now(),
        }
    }

    /// Whether it is as this configuration says; otherwise it is made anew.
    pub fn is(&self, config: &Written) -> bool {
        *self.config == *config
    }

    /// Opens what is not open, reads what changed.
    pub fn look(&mut self, picture: &Picture, links: &HashMap<u32, Link>, events: &Events) {
        self.secret.look(&self.config.secret);
        self.paths.look(links);
        let trouble = self.secret.broken.clone();
        if trouble != self.trouble {
            match &trouble {
                Some(why) => said::trouble(&self.config, why, events),
                None => said::mended(&self.config, events),
            }
            self.trouble = trouble;
        }
        self.digest.generation = picture.generation;
        if self.summed.as_ref().is_none_or(|known| !Arc::ptr_eq(known, &picture.config)) {
            self.summed = Some(Arc::clone(&picture.config));
            self.sum_up();
        }
    }

    /// A large configuration takes a while: not on this thread.
    fn sum_up(&self) {
        let Some(config) = self.summed.clone() else { return };
        let (era, words) = (self.era, self.words.clone());
        tokio::task::spawn_blocking(move || {
            let _ = words.blocking_send(Word::Digest(era, drift::digest(&config)));
        });
    }

    /// A task has something to tell.
    pub fn hear(&mut self, word: Word, events: &Events) {
        match word {
            Word::Packet(era, packet) if era == self.era => self.take(&packet, events),
            Word::Answer(era, target, answered) if era == self.era => {
                if let Some(told) = self.targets.hear(target, answered) {
                    said::target(&self.config, &told, events);
                }
            }
            Word::Digest(era, parts) if era == self.era => self.know(parts, events),
            Word::Witness(era, answered) if era == self.era => {
                if let Some(witness) = &mut self.witness {
                    witness.hear(now(), answered, events);
                }
            }
            Word::Packet(..) | Word::Answer(..) | Word::Digest(..) | Word::Witness(..) => {}
        }
    }

    fn know(&mut self, parts: Digested, events: &Events) {
        self.digest.parts = parts;
        self.compare_configurations(events);
    }

    fn take(&mut self, packet: &Packet, events: &Events) {
        let Some(keys) = self.secret.keys() else {
            return self.paths.refuse(packet.path, "no-key");
        };
        let mut changes = Vec::new();
        let heard = parse(&packet.bytes, keys)
            .and_then(|beat| self.hearing.hear(packet.at, packet.path, beat, &mut changes));
        self.tell(&changes, events);
        match heard {
            Ok(newest) => {
                self.paths.took(packet.path);
                if newest {
                    self.vote();
                    self.compare_configurations(events);
                }
            }
            Err(defect) => {
                self.paths.refuse(packet.path, defect.name());
                let told = self.refused.get(&defect);
                // Copies of what came before are no news: a network may make them.
                let news = told.is_none_or(|at| packet.at.since(*at) >= AGAIN);
                if news && defect != Defect::Replayed {
                    self.refused.insert(defect, packet.at);
                    said::refused(&self.config, packet.path, defect, events);
                }
            }
        }
    }

    /// What the other member's newest beat says of votes.
    fn vote(&mut self) {
        let Some(witness) = &mut self.witness else { return };
        let ours = |group: witness::Group| {
            let claim = self.claims.iter().find(|claim| (claim.id, claim.v6) == group)?;
            Some((claim.priority, claim.source))
        };
        witness.listen(now(), &self.hearing, ours);
    }

    /// Until when a group may be active; `None`: nobody has to agree. `held`: until when it is.
    pub fn leave(
        &mut self,
        group: witness::Group,
        part: (State, bool),
        held: Option<Moment>,
    ) -> Option<Moment> {
        self.witness.as_mut().map(|witness| witness.leave(now(), group, part, held))
    }

    /// Somebody has to agree before a group is active.
    pub fn witnessed(&self) -> bool {
        self.config.witness.is_some()
    }

    /// Gives back what the witness gave: nothing is active any more.
    pub async fn part(&mut self) {
        if let Some(witness) = &mut self.witness {
            witness.part(now()).await;
        }
    }

    fn compare_configurations(&mut self, events: &Events) {
        let Some(beat) = self.hearing.peer() else { return };
        let drift = drift::differ(&self.digest.parts, &beat.config.parts);
        if drift != self.drift {
            said::drift(&self.config, drift.as_deref(), events);
            self.drift = drift;
        }
    }

    fn tell(&mut self, changes: &[Change], events: &Events) {
        for change in changes {
            match change {
                Change::Heard | Change::Lost => self.since = SystemTime::now(),
                Change::PathUp(path) | Change::PathDown(path) => self.paths.changed(*path),
                Change::Renewed => {}
            }
            let product = self.hearing.peer().map(|beat| beat.product.as_str());
            said::change(&self.config, *change, product, events);
        }
    }

    /// When something is due.
    pub fn due(&self) -> Moment {
        let asks = self.witness.as_ref().map_or(Moment::NEVER, Witness::due);
        self.hearing.due().min(asks)
    }

    /// Time has passed: who is not heard any more, and who reaches more.
    pub fn pass(&mut self, events: &Events) {
        let (now, mut changes) = (now(), Vec::new());
        self.hearing.pass(now, &mut changes);
        self.tell(&changes, events);
        let Some(reach) = &self.config.reach else { return };
        let ours = self.targets.score();
        let theirs = self.hearing.peer().and_then(|beat| beat.reach);
        if self.standing.compare(now, ours, theirs, reach.settle) {
            let words = said::reaches(&self.config.peer, ours, theirs);
            said::standing(&self.config, self.standing.behind(), &words, events);
        }
    }

    /// What a group is to know of the other member. `fit`: this one can do all of the group's work, which counts before
    /// what is reached.
    pub fn advice(&self, id: u8, v6: bool, fit: bool) -> Peer {
        let claimed = self.hearing.claimed(id, v6);
        let takes_part = claimed.filter(|claimed| claimed.claim.state != State::Idle);
        let better = |claimed: Claimed| match (fit, claimed.claim.fit) {
            (true, false) => false,
            (false, true) => true,
            _ => self.standing.behind(),
        };
        let active = claimed.filter(|claimed| claimed.claim.state == State::Active);
        let wants = claimed.filter(|one| one.knows && one.claim.vote.is_some_and(|it| it.wants));
        Peer {
            alive: self.hearing.peer().is_some(),
            unsure: self.secret.keys().is_some() && self.hearing.unsure(now()),
            active: active.map(|claimed| (claimed.claim.source, claimed.claim.priority)),
            knows: active.is_some_and(|claimed| claimed.knows),
            wants: wants.map(|claimed| (claimed.claim.source, claimed.claim.priority)),
            ahead: takes_part.is_some_and(better),
        }
    }

    /// Why the other member would not take a group over, as far as is known.
    pub fn unready(&self, id: u8, v6: bool) -> Option<String> {
        let peer = &self.config.peer;
        let Some(claimed) = self.hearing.claimed(id, v6) else {
            return Some(match self.hearing.peer() {
                Some(_) => format!("{peer} has no such group"),
                None => format!("{peer} is not heard by the heartbeat"),
            });
        };
        match (claimed.claim.state, claimed.claim.fit) {
            (State::Idle, _) => Some(format!("{peer} is idle and would not take it")),
            (_, false) => Some(format!("{peer} cannot do all of its work")),
            _ => None,
        }
    }

    /// How the pair stands, for replication; `None` while there are no keys.
    pub fn standing(&self, active: BTreeSet<IpAddr>) -> Option<pair::Pair> {
        let theirs = self.hearing.peer().map(|beat| beat.session);
        let paths = self.config.paths.iter().zip(self.paths.each()).zip(self.hearing.paths());
        Some(pair::Pair {
            keys: self.secret.keys()?.clone(),
            sessions: theirs.map(|theirs| (self.hearing.session(), theirs)),
            port: self.config.port,
            paths: paths
                .map(|((written, path), heard)| (written.clone(), path.scope, heard.up))
                .collect(),
            active,
        })
    }

    /// Both members, in words.
    pub fn pair(&self) -> Pair {
        let theirs = self.hearing.peer().and_then(|beat| beat.reach);
        let peer = self.config.peer.clone();
        Pair { standing: said::reaches(&peer, self.targets.score(), theirs), peer }
    }

    /// Says what is due, and at once what changed of our part in groups.
    pub fn speak(&mut self, mut claims: Vec<Claim>) {
        let now = now();
        if let Some(witness) = &mut self.witness {
            witness.ask(now);
            witness.preview(now, &mut claims);
        }
        let states = |claims: &[Claim]| {
            let each = claims.iter().map(|one| (one.id, one.v6, one.fit, one.state, one.vote));
            each.collect::<Vec<_>>()
        };
        if states(&claims) != states(&self.claims) {
            self.hearing.urge(now);
        }
        self.claims = claims;
        let Some(round) = self.hearing.round(now, &self.claims) else { return };
        if let Some(witness) = &mut self.witness {
            witness.say(now, round.number, &mut self.claims);
        }
        let Some(keys) = self.secret.keys() else { return };
        let mut beat = Beat {
            version: ha::beat::VERSION,
            session: self.hearing.session(),
            number: round.number,
            echo: ha::beat::Echo::default(),
            name: self.config.name.clone(),
            product: env!("CARGO_PKG_VERSION").to_owned(),
            config: self.digest,
            reach: self.targets.score(),
            heard: self.hearing.newest(),
            claims: self.claims.clone(),
        };
        for (path, echo) in round.echoes.into_iter().enumerate() {
            beat.echo = echo;
            self.paths.send(path, &emit(&beat, keys));
        }
    }
}

/// A number that nobody can guess or remember: it proves that what repeats it was said after it was drawn.
fn session() -> u64 {
    let mut bytes = [0; 8];
    let drawn = aws_lc_rs::rand::fill(&mut bytes).is_ok();
    let number = if drawn { u64::from_ne_bytes(bytes) } else { seed() };
    number.max(1)
}
