//! The heartbeat's part in the thread's life: groups hear of the other member by it, and it hears of them.

use std::sync::Arc;

use super::super::heartbeat::Heartbeat;
use super::super::heartbeat::said::Pair;
use super::super::heartbeat::word::Word;
use super::Life;
use crate::control::Picture;

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
            self.heartbeat = None;
            let begin = |config| Heartbeat::new(Arc::clone(config), self.eras, self.words.clone());
            self.heartbeat = wanted.map(begin);
        }
        if let Some(heartbeat) = &mut self.heartbeat {
            heartbeat.look(picture, &self.links, &self.events);
        }
    }

    /// A task of the heartbeat has something to tell.
    pub(super) fn hear_word(&mut self, word: Word) {
        if let Some(heartbeat) = &mut self.heartbeat {
            heartbeat.hear(word, &self.events);
        }
    }

    /// Each group hears what the heartbeat says of the other member.
    pub(super) async fn consult(&mut self) {
        if let Some(heartbeat) = &mut self.heartbeat {
            heartbeat.pass(&self.events);
        }
        let pair = Arc::new(self.heartbeat.as_ref().map(Heartbeat::pair).unwrap_or_default());
        let names: Vec<String> = self.groups.keys().cloned().collect();
        for name in names {
            let Some(mut group) = self.groups.remove(&name) else { continue };
            let (id, v6) = (group.config.id, group.config.v6());
            let fit = group.unfit().is_none();
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
    }
}
