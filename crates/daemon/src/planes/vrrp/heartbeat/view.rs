//! The view of a heartbeat, for `status` and metrics. The thread publishes it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ha::heartbeat::{PeerHeartbeat, ReachScore};

use super::replication_view::ReplicationView;
use super::witness::{VotedGroups, WitnessClient};
use super::{HeartbeatSession, events};
use crate::util::monotonic_clock::monotonic_now;

/// The heartbeat with another member.
#[derive(Clone, Debug)]
pub struct HeartbeatView {
    /// The other member's name.
    pub peer: String,
    pub name: String,
    /// The peer's heartbeats arrive over at least one path.
    pub is_peer_up: bool,
    /// When `is_peer_up` last changed.
    pub since: SystemTime,
    /// Its last heartbeat, while it is alive.
    pub last_heartbeat: Option<PeerHeartbeat>,
    pub generation: u64,
    /// The parts of the configuration in which both differ.
    pub drift: Option<String>,
    /// Why the keys cannot be had.
    pub last_error: Option<String>,
    /// Numbers of the active keys; the first one signs.
    pub keys: Vec<u8>,
    /// Its paths, in the order of the configuration.
    pub paths: Vec<HeartbeatPathView>,
    /// Targets; none: nothing is compared.
    pub targets: Vec<ReachTargetView>,
    /// How many we reach.
    pub reach: Option<ReachScore>,
    /// The other member has reached more for long enough.
    pub behind: bool,
    /// Heartbeats that did not yet carry this process's session.
    pub introductions: u64,
    /// The number of the other member's processes whose heartbeats arrived.
    pub sessions: u64,
    /// The witness; `None`: there is none.
    pub witness: Option<WitnessView>,
    /// Replicated connections and sticky clients; `None`: nothing is replicated.
    pub replica: Option<Arc<ReplicationView>>,
}

#[derive(Clone, Debug)]
pub struct WitnessView {
    pub places: String,
    /// `held`: this member has a lease, `answers`, `silent`, or `unasked`.
    pub state: &'static str,
    pub last_answer: String,
    /// Since when it answers or not.
    pub since: SystemTime,
    /// The leases of this member.
    pub leases_held: usize,
    /// Groups for which the other member has lent us its vote now.
    pub votes_granted: usize,
    /// Leases given, refused, and questions without an answer.
    pub counts: [u64; 3],
}

#[derive(Clone, Debug)]
pub struct HeartbeatPathView {
    /// As people write it.
    pub name: String,
    /// `up`, `one-way` or `down`.
    pub state: &'static str,
    /// Why, in a sentence.
    pub reason: String,
    /// Since when it is up or down.
    pub since: SystemTime,
    /// The least of the last round trips.
    pub round_trip: Option<Duration>,
    /// Of the last rounds, the share that did not come by it, 0–1.
    pub loss: f64,
    /// Beats that went out.
    pub sent: u64,
    /// Beats that could not.
    pub not_sent: u64,
    pub received: u64,
    /// Rejected packets, by defect.
    pub refused: BTreeMap<&'static str, u64>,
}

#[derive(Clone, Debug)]
pub struct ReachTargetView {
    pub name: String,
    /// Whether it is reached; `None`: not known yet.
    pub reached: Option<bool>,
    pub answered: u64,
    pub unanswered: u64,
}

fn witness(witness: &WitnessClient) -> WitnessView {
    let VotedGroups { leased: held, with_peer_vote: lent } = witness.voted_groups(monotonic_now());
    let state = match witness.is_answering {
        None => "unasked",
        Some(false) => "silent",
        Some(true) if held > 0 => "held",
        Some(true) => "answers",
    };
    WitnessView {
        places: witness.places(),
        state,
        last_answer: witness.last_answer.clone(),
        since: witness.since,
        leases_held: held,
        votes_granted: lent,
        counts: witness.counts(),
    }
}

impl HeartbeatSession {
    pub fn view(&self) -> HeartbeatView {
        let target = |asked: &super::reach_targets::ProbedTarget| ReachTargetView {
            name: asked.endpoint.to_string(),
            reached: asked.target.is_reached(),
            answered: asked.target.answered,
            unanswered: asked.target.unanswered,
        };
        let keys = self.keys.keys();
        HeartbeatView {
            peer: self.config.peer.clone(),
            name: self.config.name.clone(),
            is_peer_up: self.peer_link.peer().is_some(),
            since: self.since,
            last_heartbeat: self.peer_link.peer().cloned(),
            generation: self.digest.generation,
            drift: self.drift.clone().filter(|_| self.peer_link.peer().is_some()),
            last_error: self.last_error.clone(),
            keys: keys.map(|keys| keys.ids().collect()).unwrap_or_default(),
            paths: (0..self.config.paths.len()).filter_map(|at| self.path(at)).collect(),
            targets: self.targets.targets().iter().map(target).collect(),
            reach: self.targets.reach_score(),
            behind: self.reach_comparison.is_behind(),
            introductions: self.peer_link.introductions,
            sessions: self.peer_link.sessions,
            witness: self.witness.as_ref().map(witness),
            replica: None,
        }
    }

    fn path(&self, at: usize) -> Option<HeartbeatPathView> {
        let written = self.config.paths.get(at)?;
        let path = self.paths.paths().get(at)?;
        let heard = self.peer_link.paths().get(at)?;
        let peer = &self.config.peer;
        let (state, reason) = if heard.up && self.peer_link.is_one_way(at, monotonic_now()) {
            ("one-way", format!("{peer} is heard by it, and does not hear us"))
        } else if heard.up {
            ("up", "beats come and arrive".to_owned())
        } else if let Some(problem) = &path.last_error {
            ("down", problem.clone())
        } else if let Some(why) = path.last_defect {
            ("down", format!("what comes by it is refused: {why}"))
        } else {
            ("down", "nothing comes by it".to_owned())
        };
        Some(HeartbeatPathView {
            name: events::path_text(written),
            state,
            reason,
            since: path.since,
            round_trip: heard.round_trip(),
            loss: self.peer_link.loss(at),
            sent: path.sent,
            not_sent: path.not_sent,
            received: path.received,
            refused: path.refused.clone(),
        })
    }
}
