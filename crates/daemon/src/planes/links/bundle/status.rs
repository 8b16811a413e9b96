//! A bundle as it is shown. It changes nothing.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;

use links::datapath::BundleDatapath;
use links::delay_equalizer;
use model::config::LinkPolicy;

use super::super::delay_equalizer::DelayEqualizer;
use super::super::view::{BundleState, BundleView, LinkView};
use super::{ActiveBundle, LinkTracker};

type NamedCounts = BTreeMap<&'static str, u64>;

impl ActiveBundle {
    pub fn view(&self, plane: Option<&BundleDatapath>) -> BundleView {
        let counts = self.ends.zip(plane).and_then(|(ends, plane)| plane.counts(ends).ok());
        let counts = counts.unwrap_or_default();
        let link = |(number, track): (usize, &LinkTracker)| LinkView {
            interface: track.name(),
            via: track.wanted.via.clone(),
            alive: track.liveness.is_alive(),
            reason: track.reason.clone(),
            round_trip: track.liveness.round_trip(),
            loss: track.liveness.loss(),
            capacity: track.wanted.capacity,
            delay: self.link_delays.get(number).copied().unwrap_or_default(),
            packets: counts.links.get(number).map_or(0, |count| count.packets),
            bytes: counts.links.get(number).map_or(0, |count| count.bytes),
        };
        let living = self.links.iter().filter(|track| track.liveness.is_alive()).count();
        let all = self.links.len();
        let state = match living {
            _ if !self.is_set_up => BundleState::Down,
            0 => BundleState::Down,
            living if living < all => BundleState::Degraded,
            _ => BundleState::Up,
        };
        let mut kinds = counts.by_kind;
        let mut dropped = counts.dropped;
        self.add_delay_counts(&mut kinds, &mut dropped);
        let flowlet = self.config.policy == LinkPolicy::Flowlet || self.fallback_reason.is_some();
        let fallen =
            self.fallback_reason.as_ref().map(|why| format!("{why}: it works as `flowlet`"));
        BundleView {
            policy: self.config.policy.name(),
            state,
            reason: self
                .last_error
                .clone()
                .or(fallen)
                .unwrap_or(format!("{living} of {all} links live")),
            mtu: self.mtu,
            gap: flowlet.then(|| self.gap()),
            skew: delay_equalizer::delay_skew(&self.delays()),
            links: self.links.iter().enumerate().map(link).collect(),
            kinds,
            dropped,
        }
    }

    fn add_delay_counts(&self, kinds: &mut NamedCounts, dropped: &mut NamedCounts) {
        let Some(counts) = self.equalizer.as_ref().map(DelayEqualizer::counts) else { return };
        kinds.insert("not-held-for-want-of-room", counts.early.load(Relaxed));
        dropped.insert("not-taken-to-be-held", counts.missed.load(Relaxed));
        dropped.insert("not-sent-after-being-held", counts.unsent.load(Relaxed));
    }
}
