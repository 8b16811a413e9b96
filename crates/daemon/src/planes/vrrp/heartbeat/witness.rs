//! The votes of every group and the tasks that ask the witness: groups hear until when they may be active. What follows
//! from an answer is decided in `ha::witness`.

mod etcd;
mod http_client;
mod lease;
mod requester;

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use ha::heartbeat::{GroupClaim, VrrpGroupKey};
use ha::peer_link::PeerLink;
use ha::state_machine::{MemberPrecedence, VrrpState};
use ha::witness::{QuorumVotes, WitnessOperation, WitnessReply};
use model::config::{EventLevel, HeartbeatConfig as Written, WitnessConfig as Settings};
use model::monotonic_time::MonotonicTime;
use tokio::sync::mpsc;

use super::message::{HeartbeatMessage, WitnessAnswer};
use crate::util::event::{EventFields, EventLog};
use requester::WitnessRequester;

/// The time limit for releasing leases at the end.
const RELEASE_TIMEOUT: Duration = Duration::from_millis(500);

/// The client of a witness.
pub struct WitnessClient {
    settings: Settings,
    /// Both members' names in order: leases are named by them.
    pair_name: String,
    name: String,
    peer: String,
    epoch: u64,
    messages: mpsc::Sender<HeartbeatMessage>,
    session: u64,
    groups: BTreeMap<VrrpGroupKey, GroupVotes>,
    /// Whether it answered the last request; `None`: there was none.
    pub is_answering: Option<bool>,
    pub since: SystemTime,
    /// Its last answer, described.
    pub last_answer: String,
}

/// For how many groups this member has votes.
#[derive(Clone, Copy, Debug)]
pub struct VotedGroups {
    /// This member has the witness's lease.
    pub leased: usize,
    /// This member has the peer's vote.
    pub with_peer_vote: usize,
}

struct GroupVotes {
    votes: QuorumVotes,
    requester: WitnessRequester,
}

impl WitnessClient {
    /// A client without requests so far.
    pub fn new(
        config: &Written,
        era: u64,
        words: mpsc::Sender<HeartbeatMessage>,
        session: u64,
    ) -> Option<WitnessClient> {
        let settings = config.witness.clone()?;
        let mut names = [config.name.as_str(), config.peer.as_str()];
        names.sort_unstable();
        Some(WitnessClient {
            settings,
            pair_name: names.join("."),
            name: config.name.clone(),
            peer: config.peer.clone(),
            epoch: era,
            messages: words,
            session,
            groups: BTreeMap::new(),
            is_answering: None,
            since: SystemTime::now(),
            last_answer: "it was not asked yet".to_owned(),
        })
    }

    pub fn places(&self) -> String {
        let all: Vec<String> = self.settings.at.iter().map(ToString::to_string).collect();
        all.join(", ")
    }

    /// The time until which a group may be active. `held`: the end of the permission that this process found at its
    /// start.
    pub fn permitted_until(
        &mut self,
        now: MonotonicTime,
        group: VrrpGroupKey,
        state: VrrpState,
        wants_permission: bool,
        held: Option<MonotonicTime>,
    ) -> MonotonicTime {
        let active = state == VrrpState::Active;
        if state == VrrpState::Idle && !self.groups.contains_key(&group) {
            return MonotonicTime::default();
        }
        let ballot = match self.groups.entry(group) {
            std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::btree_map::Entry::Vacant(new) => {
                let held = held.filter(|_| active);
                let votes = QuorumVotes::new(now, self.settings.lease, self.session, held);
                let family = if group.v6 { "v6" } else { "v4" };
                let name = format!("{}.{}.{family}", self.pair_name, group.id);
                let requester = WitnessRequester::start(
                    &self.settings,
                    name,
                    self.name.clone(),
                    self.epoch,
                    group,
                    self.messages.clone(),
                );
                new.insert(GroupVotes { votes, requester })
            }
        };
        ballot.votes.set_group_state(now, active, wants_permission);
        ballot.votes.permitted_until(now)
    }

    /// Handles an accepted heartbeat that is the newest. `ours`: the precedence of this member in a group.
    pub fn receive_heartbeat(
        &mut self,
        now: MonotonicTime,
        hearing: &PeerLink,
        ours: impl Fn(VrrpGroupKey) -> Option<MemberPrecedence>,
    ) {
        for (group, ballot) in &mut self.groups {
            if let Some(ours) = ours(*group) {
                ballot.votes.receive_heartbeat(now, hearing, *group, ours);
            }
        }
    }

    /// The votes that the next heartbeat would carry.
    pub fn preview_votes(&self, now: MonotonicTime, claims: &mut [GroupClaim]) {
        for claim in claims {
            claim.vote = self.groups.get(&claim.group()).map(|one| one.votes.next_vote(now));
        }
    }

    /// The votes of the heartbeat with this number.
    pub fn take_votes(&mut self, now: MonotonicTime, number: u64, claims: &mut [GroupClaim]) {
        for claim in claims {
            let ballot = self.groups.get_mut(&claim.group());
            claim.vote = ballot.map(|ballot| ballot.votes.take_vote(now, number));
        }
    }

    /// The time of the next request.
    pub fn next_due(&self) -> MonotonicTime {
        self.groups
            .values()
            .map(|ballot| ballot.votes.next_due())
            .min()
            .unwrap_or(MonotonicTime::NEVER)
    }

    /// Sends requests that are due.
    pub fn send_requests(&mut self, now: MonotonicTime) {
        for ballot in self.groups.values_mut() {
            if let Some(ask) = ballot.votes.take_request(now) {
                ballot.requester.try_request(ask);
            }
        }
    }

    pub fn handle_answer(
        &mut self,
        now: MonotonicTime,
        answered: WitnessAnswer,
        events: &EventLog,
    ) {
        let WitnessAnswer { group, number, answer, text: said } = answered;
        let Some(ballot) = self.groups.get_mut(&group) else { return };
        ballot.votes.handle_reply(now, number, answer);
        self.last_answer = said;
        let answers = answer != WitnessReply::NoReply;
        if self.is_answering == Some(answers) {
            return;
        }
        let first = self.is_answering.replace(answers).is_none();
        self.since = SystemTime::now();
        let about = EventFields::from([("peer", self.peer.clone()), ("witness", self.places())]);
        let (level, kind, text) = match answers {
            true if first => return,
            true => (EventLevel::Info, "witness-back", "it answers again".to_owned()),
            false => (EventLevel::Warning, "witness-lost", self.last_answer.clone()),
        };
        events.emit(level, kind, format!("witness {}: {text}", self.places()), about);
    }

    /// Releases all leases, because no group is active any longer.
    pub async fn release_leases(&mut self, now: MonotonicTime) {
        let mut all = tokio::task::JoinSet::new();
        for (_, mut ballot) in std::mem::take(&mut self.groups) {
            ballot.votes.set_group_state(now, false, false);
            if let Some(ask) = ballot.votes.release_lease()
                && ask.operation == WitnessOperation::Release
            {
                all.spawn(async move { ballot.requester.release(ask).await });
            }
        }
        // A lease that is not released in time expires by itself.
        let _ = tokio::time::timeout(RELEASE_TIMEOUT, all.join_all()).await;
    }

    /// Times that leases were given, refused, and not answered.
    pub fn counts(&self) -> [u64; 3] {
        let sum =
            |of: fn(&QuorumVotes) -> u64| self.groups.values().map(|one| of(&one.votes)).sum();
        [sum(|votes| votes.renewed), sum(|votes| votes.refused), sum(|votes| votes.unanswered)]
    }

    /// For how many groups this member has votes.
    pub fn voted_groups(&self, now: MonotonicTime) -> VotedGroups {
        let count = |of: fn(&QuorumVotes) -> MonotonicTime| {
            self.groups.values().filter(|one| now < of(&one.votes)).count()
        };
        VotedGroups {
            leased: count(QuorumVotes::lease_until),
            with_peer_vote: count(QuorumVotes::peer_vote_until),
        }
    }
}
