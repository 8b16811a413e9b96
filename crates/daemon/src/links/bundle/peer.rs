//! What both ends of a bundle tell each other of their links: one that has lost its carrier is told of over the others, for
//! the far end may not see it where a switch lies between. It asks no next hop.

use model::moment::Moment;

use super::{Bundle, Tools};
use crate::links::asker::News;
use crate::links::track::Notices;

/// A loss is told so often at once, for what carries the news may lose it; then with each question's turn.
const AT_ONCE: u32 = 3;

impl Bundle {
    /// Tells the far end of links without a carrier, over those that live.
    pub(super) fn tell_far_end(&mut self, now: Moment) {
        let Some(probe) = &self.config.probe else { return };
        let mut down = Vec::new();
        for track in &mut self.tracks {
            if track.life.has_carrier() || track.token == 0 {
                track.notices = Notices::default();
                continue;
            }
            let Notices { sent, due } = track.notices;
            if sent < AT_ONCE || now >= due {
                track.notices = Notices { sent: sent.saturating_add(1), due: now + probe.every };
                down.push(track.token);
            }
        }
        let alive = self.tracks.iter().filter(|track| track.life.alive());
        for asker in alive.filter_map(|track| track.asker.as_ref()) {
            down.iter().for_each(|token| asker.tell_down(*token));
        }
    }

    /// The far end says that a link has no carrier there; `false`: by none of this bundle's links.
    pub(super) fn hear_far_end(&mut self, news: &News, tools: &Tools<'_>) -> bool {
        let by = |token: u64| {
            self.tracks
                .iter()
                .position(|track| track.asker.as_ref().is_some_and(|asker| asker.token == token))
        };
        let Some(heard_by) = by(news.by) else { return false };
        let named = self.tracks.iter().position(|track| {
            let asker = track.asker.as_ref();
            asker.is_some_and(|asker| asker.far.is_older_of(news.down, news.sent))
        });
        // Of itself a link cannot say that it is dead: what came by it would have come by it.
        let Some(number) = named.filter(|number| *number != heard_by) else { return true };
        let changed = self.tracks[number].life.is_down_there();
        self.told(number, changed, tools);
        if changed.is_some() {
            self.write(tools);
        }
        true
    }
}
