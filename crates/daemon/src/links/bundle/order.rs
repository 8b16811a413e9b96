//! How a bundle keeps packets in order: shorter links' packets are held, or flows stay on their link until they pause. How
//! long, and when, is decided by `links::equal`.

use std::time::Duration;

use links::equal::{self, LONGEST};
use links::plane::Ends;
use model::config::LinkPolicy;

use super::super::holder::Holder;
use super::super::track::Track;
use super::{Bundle, Tools};
use crate::packets::site::chain;

impl Bundle {
    /// How long each link is, as written or measured.
    pub(super) fn delays(&self) -> Vec<Option<Duration>> {
        let of = |track: &Track| {
            let measured = || track.life.round_trip().map(|trip| trip / 2);
            track.life.alive().then(|| track.wanted.delay.or_else(measured)).flatten()
        };
        self.tracks.iter().map(of).collect()
    }

    /// Silence after which a flow may change links.
    pub(super) fn gap(&self) -> Duration {
        self.config.gap.unwrap_or_else(|| equal::gap(&self.delays()))
    }

    /// Has packets held as delays are now, or not at all; the policy by which order is kept.
    pub(super) fn order(&mut self, ends: Ends, tools: &Tools<'_>) -> LinkPolicy {
        let wanted = self.config.policy;
        if wanted != LinkPolicy::RoundRobin || !self.config.equalise {
            self.let_all_go();
            return wanted;
        }
        let delays = self.delays();
        if equal::skew(&delays) > LONGEST {
            let most = LONGEST.as_millis();
            let why = format!("its links differ by more than {most} ms, too much to be held");
            return self.fall_back(why, tools);
        }
        let holds = equal::holds(&delays);
        if holds.iter().all(Duration::is_zero) {
            self.let_all_go();
        } else {
            if let Err(why) = self.held_by_somebody(ends, tools) {
                return self
                    .fall_back(format!("its packets cannot be held for order: {why}"), tools);
            }
            if let Some(holder) = &self.holder {
                holder.set(&holds);
            }
            self.holds = holds;
        }
        if self.fallen.take().is_some() {
            let text = format!("bundle {}: packets take turns again", self.config.name);
            tools.events.info("bundle-order", text);
        }
        wanted
    }

    fn held_by_somebody(&mut self, ends: Ends, tools: &Tools<'_>) -> Result<(), String> {
        if self.holder.as_ref().is_some_and(Holder::lives) {
            return Ok(());
        }
        let lease = tools.plane.lease(ends).map_err(|error| chain(&error))?;
        self.holder = Some(Holder::start(ends.other, lease).map_err(|error| error.to_string())?);
        Ok(())
    }

    fn let_all_go(&mut self) {
        (self.holds, self.holder) = (vec![Duration::ZERO; self.tracks.len()], None);
    }

    /// Packets that took turns would overtake each other: flows keep their link until they pause, and that is said once.
    fn fall_back(&mut self, why: String, tools: &Tools<'_>) -> LinkPolicy {
        self.let_all_go();
        if self.fallen.as_ref() != Some(&why) {
            let text = format!("bundle {}: {why}: it works as `flowlet`", self.config.name);
            tools.events.warn("bundle-trouble", text);
            self.fallen = Some(why);
        }
        LinkPolicy::Flowlet
    }
}
