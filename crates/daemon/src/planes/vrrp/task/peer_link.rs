//! The heartbeat's part of the VRRP thread: passes the peer's state to groups, and the groups' state to the peer.

use std::sync::Arc;

use ha::heartbeat::VrrpGroupKey;
use ha::state_machine::VrrpState;
use model::config::Config;

use super::super::group::VrrpGroup;
use super::super::heartbeat::HeartbeatSession;
use super::super::heartbeat::events::PeerSummary;
use super::super::heartbeat::message::HeartbeatMessage;
use super::super::heartbeat::view::HeartbeatView;
use super::super::replication::ReplicationHandle;
use super::VrrpTask;
use crate::planes::packets::connection_tables::replicated_services;
use crate::state::StateSnapshot;

impl VrrpTask {
    /// There is something to look after.
    pub(super) fn is_busy(&self) -> bool {
        !self.groups.is_empty() || self.heartbeat.is_some()
    }

    /// Whether there is anything to look at, or to remove.
    pub(super) fn is_needed(&self, config: &Config) -> bool {
        !config.vrrp.is_empty() || !config.heartbeats.is_empty() || self.is_busy()
    }

    /// Has the heartbeat of this snapshot.
    pub(super) fn update_heartbeat(&mut self, snapshot: &StateSnapshot) {
        let wanted = snapshot.config.heartbeats.values().next();
        let stands = match (&self.heartbeat, wanted) {
            (Some(beat), Some(wanted)) => beat.has_config(wanted),
            (None, None) => true,
            _ => false,
        };
        if !stands {
            self.heartbeats_started += 1;
            // The sockets of the one before are closed first: they may have the same addresses.
            self.heartbeat = None;
            self.replication = None;
            let begin = |config| {
                HeartbeatSession::new(
                    Arc::clone(config),
                    self.heartbeats_started,
                    self.messages.clone(),
                )
            };
            self.heartbeat = wanted.map(begin);
        }
        if let Some(heartbeat) = &mut self.heartbeat {
            heartbeat.refresh(snapshot, &self.links, &self.events);
        }
        if replicated_services(&snapshot.config).is_empty() {
            self.replication = None;
        } else if self.replication.is_none() {
            self.replication = Some(ReplicationHandle::start(self.source.clone()));
        }
    }

    /// Handles a message of a heartbeat task.
    pub(super) fn handle_message(&mut self, word: HeartbeatMessage) {
        if let Some(heartbeat) = &mut self.heartbeat {
            heartbeat.handle_message(word, &self.events);
        }
    }

    /// Sets for each group the time until which the quorum permits it to be active.
    pub(super) async fn update_permissions(&mut self) {
        if !self.groups.values().any(VrrpGroup::needs_quorum)
            && !self.heartbeat.as_ref().is_some_and(HeartbeatSession::needs_quorum)
        {
            return;
        }
        let names: Vec<String> = self.groups.keys().cloned().collect();
        for name in names {
            let Some(mut group) = self.groups.remove(&name) else { continue };
            let key = VrrpGroupKey { id: group.config.id, v6: group.config.is_ipv6() };
            let vote = group.vote_state();
            let until = self.heartbeat.as_mut().and_then(|session| {
                let held = vote.permitted_until;
                session.permitted_until(key, vote.state, vote.wants_permission, held)
            });
            if let Some(mut tools) = self.group_context() {
                group.set_permission(until, &mut tools).await;
            }
            self.groups.insert(name, group);
        }
    }

    /// Updates each group's view of the peer.
    pub(super) async fn update_peer_views(&mut self) {
        if let Some(heartbeat) = &mut self.heartbeat {
            heartbeat.handle_timeouts(&self.events);
        }
        let waits = self.replication.as_ref().is_some_and(|one| one.view().is_waiting);
        let pair = Arc::new(
            self.heartbeat.as_ref().map(HeartbeatSession::peer_summary).unwrap_or_default(),
        );
        let names: Vec<String> = self.groups.keys().cloned().collect();
        for name in names {
            let Some(mut group) = self.groups.remove(&name) else { continue };
            let id = group.config.id;
            let v6 = group.config.is_ipv6();
            // A member that joins gets the connections first.
            let comes = waits && group.state() != VrrpState::Active;
            let fit = group.service_obstacle().is_none() && !comes;
            let peer = self.heartbeat.as_ref().map(|beat| beat.peer_view(id, v6, fit));
            let pair = match (group.service_obstacle(), &self.heartbeat) {
                (Some(why), Some(_)) => Arc::new(PeerSummary {
                    reach: format!("this member cannot do all of its work: {why}"),
                    ..PeerSummary::clone(&pair)
                }),
                _ => Arc::clone(&pair),
            };
            if let Some(mut tools) = self.group_context() {
                group.update_peer(peer.unwrap_or_default(), pair, &mut tools).await;
            }
            self.groups.insert(name, group);
        }
    }

    /// Sends this member's state to the peer.
    pub(super) fn send_heartbeat(&mut self) {
        let claims = self.groups.values().map(|group| group.build_claim()).collect();
        if let Some(heartbeat) = &mut self.heartbeat {
            heartbeat.send_due(claims);
        }
        let Some(replication) = &self.replication else { return };
        let active = self.groups.values().filter(|group| group.state() == VrrpState::Active);
        let addresses =
            active.flat_map(|group| group.config.floating_addresses().map(|(ip, _)| ip));
        let addresses = addresses.collect();
        replication
            .set_pair_state(self.heartbeat.as_ref().and_then(|beat| beat.pair_state(addresses)));
    }

    /// The state of heartbeats and their replication.
    pub(super) fn heartbeat_views(&self) -> Vec<HeartbeatView> {
        let replica = self.replication.as_ref().map(ReplicationHandle::view);
        let beats = self.heartbeat.iter().map(HeartbeatSession::view);
        beats.map(|view| HeartbeatView { replica: replica.clone(), ..view }).collect()
    }
}
