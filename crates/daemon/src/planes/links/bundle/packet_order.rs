//! How a bundle keeps packets in order: packets of shorter links are held, or flows stay on their link until they
//! pause. The crate `links` decides how long, and when.

use std::time::Duration;

use links::datapath::BundleDevice;
use links::delay_equalizer::{self, LONGEST};
use model::config::LinkPolicy;

use super::super::delay_equalizer::DelayEqualizer;
use super::super::link_tracker::LinkTracker;
use super::{ActiveBundle, BundleContext};
use crate::planes::packets::open_plane::error_chain;

impl ActiveBundle {
    /// How long each link is, as written or measured.
    pub(super) fn delays(&self) -> Vec<Option<Duration>> {
        let of = |track: &LinkTracker| {
            let measured = || track.liveness.round_trip().map(|trip| trip / 2);
            track.liveness.is_alive().then(|| track.wanted.delay.or_else(measured)).flatten()
        };
        self.links.iter().map(of).collect()
    }

    /// Silence after which a flow may change links.
    pub(super) fn gap(&self) -> Duration {
        self.config.gap.unwrap_or_else(|| delay_equalizer::flowlet_gap(&self.delays()))
    }

    /// Starts or stops holding packets, according to the current differences of delay. Returns the policy that
    /// preserves order.
    pub(super) fn set_packet_order(
        &mut self,
        ends: BundleDevice,
        tools: &BundleContext<'_>,
    ) -> LinkPolicy {
        let wanted = self.config.policy;
        if wanted != LinkPolicy::RoundRobin || !self.config.equalise {
            self.stop_equalizer();
            return wanted;
        }
        let delays = self.delays();
        if delay_equalizer::delay_skew(&delays) > LONGEST {
            let most = LONGEST.as_millis();
            let why = format!("its links differ by more than {most} ms, too much to be held");
            return self.fall_back_to_flows(why, tools);
        }
        let holds = delay_equalizer::hold_times(&delays);
        if holds.iter().all(Duration::is_zero) {
            self.stop_equalizer();
        } else {
            if let Err(why) = self.start_equalizer(ends, tools) {
                return self.fall_back_to_flows(
                    format!("its packets cannot be held for order: {why}"),
                    tools,
                );
            }
            if let Some(holder) = &self.equalizer {
                holder.set_delays(&holds);
            }
            self.link_delays = holds;
        }
        if self.fallback_reason.take().is_some() {
            let text = format!("bundle {}: packets take turns again", self.config.name);
            tools.events.info("bundle-order", text);
        }
        wanted
    }

    fn start_equalizer(
        &mut self,
        ends: BundleDevice,
        tools: &BundleContext<'_>,
    ) -> Result<(), String> {
        if self.equalizer.as_ref().is_some_and(DelayEqualizer::is_alive) {
            return Ok(());
        }
        let lease = tools.plane.hold_lease(ends).map_err(|error| error_chain(&error))?;
        self.equalizer = Some(
            DelayEqualizer::start(ends.peer_device, lease).map_err(|error| error.to_string())?,
        );
        Ok(())
    }

    fn stop_equalizer(&mut self) {
        self.link_delays = vec![Duration::ZERO; self.links.len()];
        self.equalizer = None;
    }

    /// Without holding, packets would overtake each other: flows stay on their link until they pause, and that is
    /// logged once.
    fn fall_back_to_flows(&mut self, why: String, tools: &BundleContext<'_>) -> LinkPolicy {
        self.stop_equalizer();
        if self.fallback_reason.as_ref() != Some(&why) {
            let text = format!("bundle {}: {why}: it works as `flowlet`", self.config.name);
            tools.events.warn("bundle-trouble", text);
            self.fallback_reason = Some(why);
        }
        LinkPolicy::Flowlet
    }
}
