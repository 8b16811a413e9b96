//! The votes of every group and the tasks that ask the witness: groups hear until when they may be active. What follows
//! from an answer is decided in `ha::witness`.

mod ask;
mod call;
mod etcd;
mod lease;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use ha::beat::Claim;
use ha::hearing::Hearing;
use ha::machine::State;
use ha::witness::{Answer, Votes, What};
use model::config::{Heartbeat as Written, Witness as Settings};
use model::moment::Moment;
use tokio::sync::mpsc;

use super::word::{Answered, Word};
use crate::event::{Events, Level};
use ask::Asker;

/// How long what is held is given back at the end.
const PART: Duration = Duration::from_millis(500);

/// A group: its number, and whether it is of IPv6.
pub type Group = (u8, bool);

/// The witness, as this member knows it.
pub struct Witness {
    settings: Settings,
    /// Both members' names in their order: what they hold is called by them.
    pair: String,
    name: String,
    peer: String,
    era: u64,
    words: mpsc::Sender<Word>,
    session: u64,
    each: BTreeMap<Group, Ballot>,
    /// Whether it answered last; `None`: it was not asked.
    pub answers: Option<bool>,
    /// Since when.
    pub since: SystemTime,
    /// What it said last, in words.
    pub said: String,
}

struct Ballot {
    votes: Votes,
    asker: Asker,
}

impl Witness {
    /// One that has not been asked.
    pub fn new(
        config: &Written,
        (era, words): (u64, mpsc::Sender<Word>),
        session: u64,
    ) -> Option<Witness> {
        let settings = config.witness.clone()?;
        let mut names = [config.name.as_str(), config.peer.as_str()];
        names.sort_unstable();
        Some(Witness {
            settings,
            pair: names.join("."),
            name: config.name.clone(),
            peer: config.peer.clone(),
            era,
            words,
            session,
            each: BTreeMap::new(),
            answers: None,
            since: SystemTime::now(),
            said: "it was not asked yet".to_owned(),
        })
    }

    /// Where it is.
    pub fn places(&self) -> String {
        let all: Vec<String> = self.settings.at.iter().map(ToString::to_string).collect();
        all.join(", ")
    }

    /// Until when a group may be active. `held`: until when it is, as this process found it.
    pub fn leave(
        &mut self,
        now: Moment,
        group: Group,
        (state, wants): (State, bool),
        held: Option<Moment>,
    ) -> Moment {
        let active = state == State::Active;
        if state == State::Idle && !self.each.contains_key(&group) {
            return Moment::default();
        }
        let ballot = match self.each.entry(group) {
            std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::btree_map::Entry::Vacant(new) => {
                let held = held.filter(|_| active);
                let votes = Votes::new(now, self.settings.lease, self.session, held);
                let family = if group.1 { "v6" } else { "v4" };
                let name = format!("{}.{}.{family}", self.pair, group.0);
                let to = (self.era, group, self.words.clone());
                let asker = Asker::start(&self.settings, (name, self.name.clone()), to);
                new.insert(Ballot { votes, asker })
            }
        };
        ballot.votes.follow(now, active, wants);
        ballot.votes.leave(now)
    }

    /// No other groups than these.
    pub fn keep(&mut self, groups: &[Group]) {
        self.each.retain(|group, _| groups.contains(group));
    }

    /// A beat was believed and is the newest. `ours`: priority and address of this member in a group.
    pub fn listen(
        &mut self,
        now: Moment,
        hearing: &Hearing,
        ours: impl Fn(Group) -> Option<(u8, IpAddr)>,
    ) {
        for (group, ballot) in &mut self.each {
            if let Some(ours) = ours(*group) {
                ballot.votes.listen(now, hearing, *group, ours);
            }
        }
    }

    /// What our next beat would say.
    pub fn preview(&self, now: Moment, claims: &mut [Claim]) {
        for claim in claims {
            claim.vote = self.each.get(&(claim.id, claim.v6)).map(|one| one.votes.would_say(now));
        }
    }

    /// What the beat of this number says.
    pub fn say(&mut self, now: Moment, number: u64, claims: &mut [Claim]) {
        for claim in claims {
            let ballot = self.each.get_mut(&(claim.id, claim.v6));
            claim.vote = ballot.map(|ballot| ballot.votes.say(now, number));
        }
    }

    /// When it is to be asked next.
    pub fn due(&self) -> Moment {
        self.each.values().map(|ballot| ballot.votes.due()).min().unwrap_or(Moment::NEVER)
    }

    /// Asks what is due.
    pub fn ask(&mut self, now: Moment) {
        for ballot in self.each.values_mut() {
            if let Some(ask) = ballot.votes.ask(now) {
                ballot.asker.ask(ask);
            }
        }
    }

    /// It answered.
    pub fn hear(&mut self, now: Moment, answered: Answered, events: &Events) {
        let Answered { group, number, answer, said } = answered;
        let Some(ballot) = self.each.get_mut(&group) else { return };
        ballot.votes.answer(now, number, answer);
        self.said = said;
        let answers = answer != Answer::Nothing;
        if self.answers == Some(answers) {
            return;
        }
        let first = self.answers.replace(answers).is_none();
        self.since = SystemTime::now();
        let about = [("peer", self.peer.clone()), ("witness", self.places())];
        let (level, kind, text) = match answers {
            true if first => return,
            true => (Level::Info, "witness-back", "it answers again".to_owned()),
            false => (Level::Warning, "witness-lost", self.said.clone()),
        };
        events.tell(level, kind, format!("witness {}: {text}", self.places()), &about);
    }

    /// Gives back what is held: groups are not active any more.
    pub async fn part(&mut self, now: Moment) {
        let mut all = tokio::task::JoinSet::new();
        for (_, mut ballot) in std::mem::take(&mut self.each) {
            ballot.votes.follow(now, false, false);
            if let Some(ask) = ballot.votes.part()
                && ask.what == What::Release
            {
                all.spawn(async move { ballot.asker.part(ask).await });
            }
        }
        let _ = tokio::time::timeout(PART, all.join_all()).await;
    }

    /// Times that leases were given, refused, and not answered.
    pub fn counts(&self) -> [u64; 3] {
        let sum = |of: fn(&Votes) -> u64| self.each.values().map(|one| of(&one.votes)).sum();
        [sum(|votes| votes.renewed), sum(|votes| votes.refused), sum(|votes| votes.unanswered)]
    }

    /// Groups for which its vote is ours now, and those for which the other member's is, of all that need one.
    pub fn agreed(&self, now: Moment) -> (usize, usize) {
        let count = |of: fn(&Votes) -> Moment| {
            self.each.values().filter(|one| now < of(&one.votes)).count()
        };
        (count(Votes::leased), count(Votes::given))
    }
}
