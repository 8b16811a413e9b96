//! A group and the heartbeat: the state of the other member, and what that one is sent of the group.

use std::net::IpAddr;
use std::sync::Arc;

use ha::heartbeat::GroupClaim;
use ha::state_machine::{ActivationBlocker, PeerView, VrrpState};
use model::config::EventLevel;
use model::monotonic_time::MonotonicTime;

use super::super::heartbeat::events::PeerSummary;
use super::super::transition_text;
use super::{GroupContext, VrrpGroup};
use crate::util::event::{EventFields, EventLog};
use crate::util::monotonic_clock::monotonic_now;

/// A group as the witness votes on it.
pub struct GroupVoteState {
    pub state: VrrpState,
    /// It may not become active before others agree.
    pub wants_permission: bool,
    /// Until when the group may be active; `None`: no permission is needed.
    pub permitted_until: Option<MonotonicTime>,
}

impl VrrpGroup {
    /// Applies the heartbeat's view of the peer. `pair`: both members, described.
    pub async fn update_peer(
        &mut self,
        peer: PeerView,
        pair: Arc<PeerSummary>,
        tools: &mut GroupContext<'_>,
    ) {
        self.peers = pair;
        let mut actions = Vec::new();
        self.machine.update_peer(monotonic_now(), peer, &mut actions);
        self.run_actions(actions, tools).await;
    }

    /// Whether others have to agree before it is active.
    pub fn set_needs_quorum(&mut self, witnessed: bool) {
        self.needs_quorum = witnessed;
    }

    /// Others have to agree, or had to.
    pub fn needs_quorum(&self) -> bool {
        self.needs_quorum || self.machine.permitted_until().is_some()
    }

    /// Until the group starts, only the permission of an earlier process applies. `held`: the end of that permission.
    pub(super) fn await_permission(&mut self, held: Option<MonotonicTime>, now: MonotonicTime) {
        let leave = self.needs_quorum.then(|| held.unwrap_or_default());
        self.machine.set_permission(now, leave, &mut Vec::new());
    }

    /// The group's state for the witness vote.
    pub fn vote_state(&self) -> GroupVoteState {
        GroupVoteState {
            state: self.state(),
            wants_permission: self.machine.wants_permission(),
            permitted_until: self.machine.permitted_until(),
        }
    }

    /// Until when others agree that it is active.
    pub async fn set_permission(
        &mut self,
        leave: Option<MonotonicTime>,
        tools: &mut GroupContext<'_>,
    ) {
        let mut actions = Vec::new();
        self.machine.set_permission(monotonic_now(), leave, &mut actions);
        self.run_actions(actions, tools).await;
        self.renew_lease(tools);
    }

    /// Whether it can do all of its work, or why not.
    pub fn set_service_obstacle(&mut self, obstacle: Option<String>, events: &EventLog) {
        let active = self.state() == VrrpState::Active;
        let obstacle = self.repair.obstacle(monotonic_now(), active).or(obstacle);
        if obstacle == self.service_obstacle {
            return;
        }
        let name = &self.config.name;
        let about = EventFields::from([
            ("group", name.clone()),
            ("interface", self.config.interface.clone()),
        ]);
        match &obstacle {
            Some(why) => {
                let text = format!("group {name}: this member cannot do all of its work: {why}");
                events.emit(EventLevel::Warning, "member-unhealthy", text, about);
            }
            None => {
                let text = format!("group {name}: this member can do all of its work");
                events.emit(EventLevel::Info, "member-healthy", text, about);
            }
        }
        self.service_obstacle = obstacle;
    }

    /// Why it cannot do all of its work.
    pub fn service_obstacle(&self) -> Option<&str> {
        self.service_obstacle.as_deref()
    }

    /// The reason for the group's state, in a sentence.
    pub(super) fn state_reason(&self) -> String {
        let mut text = self.machine.activation_blocker().map_or_else(
            || self.reason.clone(),
            |why| transition_text::blocker_text(why, &self.peers.peer, &self.peers.reach),
        );
        if self.machine.is_by_order() {
            text.push_str("; an order stands until `steelyard takeover --release`");
        }
        for (ip, link) in self.duplicates.duplicate_holders() {
            text.push_str(&format!(
                "; {ip} is at {} too",
                super::duplicate_detection::format_mac(link)
            ));
        }
        if let Some(why) = &self.service_obstacle {
            text.push_str(&format!("; it cannot do all of its work: {why}"));
        }
        text
    }

    /// This member's claim in the heartbeat. Active means that this member answers; a member that could not send does
    /// not answer.
    pub fn build_claim(&self) -> GroupClaim {
        let v6 = self.config.is_ipv6();
        let holds = self.state() != VrrpState::Active || monotonic_now() < self.leased_until;
        let none = if v6 { IpAddr::from([0; 16]) } else { IpAddr::from([0; 4]) };
        GroupClaim {
            id: self.config.id,
            v6,
            is_capable: self.service_obstacle.is_none(),
            state: if holds { self.state() } else { VrrpState::Idle },
            priority: self.machine.priority(),
            source: self.interface.as_ref().map_or(none, |ground| ground.source),
            vote: None,
        }
    }

    /// Logs that the heartbeat prevents activation, or no longer does.
    pub(super) fn report_blocked(&self, why: Option<ActivationBlocker>, tools: &GroupContext<'_>) {
        let (level, kind, text) = match why {
            Some(why) => {
                let text = transition_text::blocker_text(why, &self.peers.peer, &self.peers.reach);
                (EventLevel::Warning, "takeover-blocked", text)
            }
            None => {
                let text = "nothing but advertisements keeps it from becoming active";
                (EventLevel::Info, "takeover-unblocked", text.to_owned())
            }
        };
        let about = EventFields::from([
            ("group", self.config.name.clone()),
            ("interface", self.config.interface.clone()),
            ("peer", self.peers.peer.clone()),
        ]);
        tools.events.emit(level, kind, format!("group {}: {text}", self.config.name), about);
    }
}
