//! A bundle as it is shown. It changes nothing.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;

use links::equal;
use links::plane::Plane;
use model::config::LinkPolicy;

use super::super::holder::Holder;
use super::super::view::{BundleView, LinkView, State};
use super::{Bundle, Track};

type Named = BTreeMap<&'static str, u64>;

impl Bundle {
    /// How it stands.
    pub fn view(&self, plane: Option<&Plane>) -> BundleView {
        let counts = self.ends.zip(plane).and_then(|(ends, plane)| plane.counts(ends).ok());
        let counts = counts.unwrap_or_default();
        let link = |(number, track): (usize, &Track)| LinkView {
            interface: track.name(),
            via: track.wanted.via.clone(),
            alive: track.life.alive(),
            reason: track.reason.clone(),
            round_trip: track.life.round_trip(),
            loss: track.life.loss(),
            capacity: track.wanted.capacity,
            hold: self.holds.get(number).copied().unwrap_or_default(),
            packets: counts.links.get(number).map_or(0, |count| count.packets),
            bytes: counts.links.get(number).map_or(0, |count| count.bytes),
        };
        let (living, all) =
            (self.tracks.iter().filter(|track| track.life.alive()).count(), self.tracks.len());
        let state = match living {
            _ if !self.settled => State::Down,
            0 => State::Down,
            living if living < all => State::Degraded,
            _ => State::Up,
        };
        let (mut kinds, mut dropped) = (counts.kinds, counts.dropped);
        self.add_held(&mut kinds, &mut dropped);
        let flowlet = self.config.policy == LinkPolicy::Flowlet || self.fallen.is_some();
        let fallen = self.fallen.as_ref().map(|why| format!("{why}: it works as `flowlet`"));
        BundleView {
            policy: self.config.policy.name(),
            state,
            reason: self
                .trouble
                .clone()
                .or(fallen)
                .unwrap_or(format!("{living} of {all} links live")),
            mtu: self.mtu,
            gap: flowlet.then(|| self.gap()),
            skew: equal::skew(&self.delays()),
            links: self.tracks.iter().enumerate().map(link).collect(),
            kinds,
            dropped,
        }
    }

    fn add_held(&self, kinds: &mut Named, dropped: &mut Named) {
        let Some(counts) = self.holder.as_ref().map(Holder::counts) else { return };
        kinds.insert("not-held-for-want-of-room", counts.early.load(Relaxed));
        dropped.insert("not-taken-to-be-held", counts.missed.load(Relaxed));
        dropped.insert("not-sent-after-being-held", counts.unsent.load(Relaxed));
    }
}
