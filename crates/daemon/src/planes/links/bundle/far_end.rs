//! Messages between both ends of a bundle about their links. The loss of a carrier is reported over the other links,
//! because a switch in between may hide the loss from the far end.

use model::monotonic_time::MonotonicTime;

use super::{ActiveBundle, BundleContext};
use crate::planes::links::link_tracker::CarrierNotices;
use crate::planes::links::prober::CarrierNotice;

/// A lost carrier is announced this often at once, because a link may lose the message; later with each round of
/// probes.
const AT_ONCE: u32 = 3;

impl ActiveBundle {
    /// Announces links without a carrier to the far end, over the links that are up.
    pub(super) fn notify_far_end(&mut self, now: MonotonicTime) {
        let Some(probe) = &self.config.probe else { return };
        let mut down = Vec::new();
        for track in &mut self.links {
            if track.liveness.has_carrier() || track.token == 0 {
                track.notices = CarrierNotices::default();
                continue;
            }
            let CarrierNotices { sent, next_at: due } = track.notices;
            if sent < AT_ONCE || now >= due {
                track.notices =
                    CarrierNotices { sent: sent.saturating_add(1), next_at: now + probe.every };
                down.push(track.token);
            }
        }
        let alive = self.links.iter().filter(|track| track.liveness.is_alive());
        for asker in alive.filter_map(|track| track.prober.as_ref()) {
            down.iter().for_each(|token| asker.send_carrier_notice(*token));
        }
    }

    /// The far end announces that a link has no carrier there; `false`: the link is none of this bundle.
    pub(super) fn handle_carrier_notice(
        &mut self,
        news: &CarrierNotice,
        tools: &BundleContext<'_>,
    ) -> bool {
        let by = |token: u64| {
            self.links
                .iter()
                .position(|track| track.prober.as_ref().is_some_and(|asker| asker.token == token))
        };
        let Some(heard_by) = by(news.via_token) else { return false };
        let named = self.links.iter().position(|track| {
            let asker = track.prober.as_ref();
            asker.is_some_and(|asker| asker.far_end.is_older_than(news.down_token, news.sent))
        });
        // A link cannot announce its own loss, because the message arrived over it.
        let Some(number) = named.filter(|number| *number != heard_by) else { return true };
        let changed = self.links[number].liveness.set_remote_down();
        self.report_link_change(number, changed, tools);
        if changed.is_some() {
            self.write(tools);
        }
        true
    }
}
