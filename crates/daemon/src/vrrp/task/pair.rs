//! The heartbeat's part in the thread's life: groups hear of the other member by it, and it hears of them.

use std::sync::Arc;

use ha::machine::State;

use super::super::group::Group;
use super::super::heartbeat::Heartbeat;
use super::super::heartbeat::said::Pair;
use super::super::heartbeat::view::BeatView;
use super::super::heartbeat::word::Word;
use super::super::replica::Replication;
use super::Life;
use crate::control::Picture;
use crate::packets::tables::told;

impl Life {
    /// There is something to look after.
    pub(super) fn busy(&self) -> bool {
        !self.groups.is_empty() || self.heartbeat.is_some()
    }

    /// Has the heartbeat of this picture.
    pub(super) fn pair(&mut self, picture: &Picture) {
        let wanted = picture.config.heartbeats.values().next();
        let stands = match (&self.heartbeat, wanted) {
            (Some(beat), Some(wanted)) => beat.is(wanted),
            (None, None) => true,
            _ => false,
        };
        if !stands {
            self.eras += 1;
            // The sockets of the one before are closed first: they may have the same addresses.
            (self.heartbeat, self.replication) = (None, None);
            let begin = |config| Heartbeat::new(Arc::clone(config), self.eras, self.words.clone());
            self.heartbeat = wanted.map(begin);
        }
        if let Some(heartbeat) = &mut self.heartbeat {
            heartbeat.look(picture, &self.links, &self.events);
        }
        if told(&picture.config).is_empty() {
            self.replication = None;
        } else if self.replication.is_none() {
            self.replication = Some(Replication::start(self.source.clone()));
        }
    }

    /// A task of the heartbeat has something to tell.
    pub(super) fn hear_word(&mut self, word: Word) {
        if let Some(heartbeat) = &mut self.heartbeat {
            heartbeat.hear(word, &self.events);
        }
    }

    /// Each group hears until when others agree that it is active.
    pub(super) async fn permit(&mut self) {
        if !self.groups.values().any(Group::asks)
            && !self.heartbeat.as_ref().is_some_and(Heartbeat::witnessed)
        {
            return;
        }
        let names: Vec<String> = self.groups.keys().cloned().collect();
        for name in names {
            let Some(mut group) = self.groups.remove(&name) else { continue };
            let key = (group.config.id, group.config.v6());
            let (part, held) = group.votes();
            let leave = self.heartbeat.as_mut().and_then(|beat| beat.leave(key, part, held));
            if let Some(mut tools) = self.tools() {
                group.permit(leave, &mut tools).await;
            }
            self.groups.insert(name, group);
        }
    }

    /// Each group hears what the heartbeat says of the other member.
    pub(super) async fn consult(&mut self) {
        if let Some(heartbeat) = &mut self.heartbeat {
            heartbeat.pass(&self.events);
        }
        let waits = self.replication.as_ref().is_some_and(|one| one.view().waits);
        let pair = Arc::new(self.heartbeat.as_ref().map(Heartbeat::pair).unwrap_or_default());
        let names: Vec<String> = self.groups.keys().cloned().collect();
        for name in names {
            let Some(mut group) = self.groups.remove(&name) else { continue };
            let (id, v6) = (group.config.id, group.config.v6());
            // Whoever joins first has the connections brought over.
            let comes = waits && group.state() != State::Active;
            let fit = group.unfit().is_none() && !comes;
            let peer = self.heartbeat.as_ref().map(|beat| beat.advice(id, v6, fit));
            let pair = match (group.unfit(), &self.heartbeat) {
                (Some(why), Some(_)) => Arc::new(Pair {
                    standing: format!("this member cannot do all of its work: {why}"),
                    ..Pair::clone(&pair)
                }),
                _ => Arc::clone(&pair),
            };
            if let Some(mut tools) = self.tools() {
                group.advise(peer.unwrap_or_default(), pair, &mut tools).await;
            }
            self.groups.insert(name, group);
        }
    }

    /// The other member hears what this one is.
    pub(super) fn speak(&mut self) {
        let claims = self.groups.values().map(|group| group.claim()).collect();
        if let Some(heartbeat) = &mut self.heartbeat {
            heartbeat.speak(claims);
        }
        let Some(replication) = &self.replication else { return };
        let active = self.groups.values().filter(|group| group.state() == State::Active);
        let addresses = active.flat_map(|group| group.config.moves().map(|(ip, _)| ip));
        let addresses = addresses.collect();
        replication.tell(self.heartbeat.as_ref().and_then(|beat| beat.standing(addresses)));
    }

    /// The heartbeat, with what is replicated.
    pub(super) fn beats(&self) -> Vec<BeatView> {
        let replica = self.replication.as_ref().map(Replication::view);
        let beats = self.heartbeat.iter().map(Heartbeat::view);
        beats.map(|view| BeatView { replica: replica.clone(), ..view }).collect()
    }
}
