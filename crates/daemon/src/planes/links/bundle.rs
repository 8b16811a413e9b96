//! One bundle: maintains its device, follows its links, and writes the result into the kernel.
//!
//! The crate `links` decides which links are alive, in which order they take turns and how long packets are held.

mod device_setup;
mod far_end;
mod packet_order;
mod status;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use l4::next_hops::{NextHopLink, ServerRoute};
use links::datapath::{BundleDatapath, BundleDevice};
use links::link_monitor::LinkChange;
use links::schedule::{LinkSchedule, ScheduledLink};
use links::table::{BundleEntry, BundleMember};
use model::config::{BundleLink as Wanted, LinkBundle as Config};
use model::monotonic_time::MonotonicTime;
use tokio::sync::mpsc;

use super::delay_equalizer::DelayEqualizer;
use super::device::{BundleNetlink, peer_name};
use super::link_tracker::LinkTracker;
use super::prober::{FarEndMessage, LinkProber};
use crate::planes::packets::netlink::KernelNetlink;
use crate::planes::packets::open_plane::error_chain;
use crate::util::event::EventLog;
use crate::util::random_seed::random_seed;

/// The dependencies of a bundle.
pub(super) struct BundleContext<'a> {
    /// To ask the kernel.
    pub kernel: &'a KernelNetlink,
    /// To set its devices.
    pub netlink: &'a BundleNetlink,
    pub plane: &'a BundleDatapath,
    pub events: &'a EventLog,
    pub links: &'a HashMap<u32, NextHopLink>,
    /// Where answers of next hops go.
    pub messages: &'a mpsc::Sender<FarEndMessage>,
}

#[derive(Debug)]
pub(super) struct ActiveBundle {
    pub config: Arc<Config>,
    links: Vec<LinkTracker>,
    ends: Option<BundleDevice>,
    mtu: u32,
    /// The device is configured completely.
    is_set_up: bool,
    written: Option<BundleEntry>,
    equalizer: Option<DelayEqualizer>,
    link_delays: Vec<Duration>,
    last_error: Option<String>,
    /// Why packets do not take turns although they should.
    fallback_reason: Option<String>,
    uneven: bool,
}

impl ActiveBundle {
    /// One that does not stand yet.
    pub fn new(config: Arc<Config>) -> ActiveBundle {
        let track = |wanted: &Wanted| LinkTracker::new(wanted, config.probe.as_ref());
        ActiveBundle {
            links: config.links.iter().map(track).collect(),
            config,
            ends: None,
            mtu: 0,
            is_set_up: false,
            written: None,
            equalizer: None,
            link_delays: Vec::new(),
            last_error: None,
            fallback_reason: None,
            uneven: false,
        }
    }

    /// Applies a changed configuration; unchanged links keep their state.
    pub async fn update_config(&mut self, config: &Arc<Config>, tools: &BundleContext<'_>) {
        let before = std::mem::replace(self, ActiveBundle::new(Arc::clone(config)));
        let ActiveBundle {
            config: old,
            links: tracks,
            ends,
            equalizer: holder,
            link_delays: holds,
            ..
        } = before;
        self.equalizer = holder;
        self.link_delays = holds;
        let mut tracks: Vec<Option<LinkTracker>> = tracks.into_iter().map(Some).collect();
        if old.probe == config.probe {
            for track in &mut self.links {
                let same = |one: &&mut Option<LinkTracker>| {
                    one.as_ref().is_some_and(|one| one.wanted == track.wanted)
                };
                if let Some(kept) = tracks.iter_mut().find(same).and_then(Option::take) {
                    *track = kept;
                }
            }
        }
        let Some(BundleDevice { device, .. }) = ends else { return };
        for ip in old.addresses.iter().filter(|ip| !config.addresses.contains(ip)) {
            self.note(tools.netlink.remove_address(device, *ip).await, tools);
        }
        for to in old.routes.iter().filter(|to| !config.routes.contains(to)) {
            self.note(tools.netlink.remove_route(device, *to).await, tools);
        }
    }

    /// Has the device stand and its links be followed, as interfaces are now.
    pub async fn ensure_device(&mut self, tools: &BundleContext<'_>) {
        for number in 0..self.links.len() {
            self.find_interface(number, tools).await;
        }
        let mtu = self.link_mtu(tools);
        let stood = match self.find_device(tools).await {
            Ok(ends) if self.is_set_up && self.ends == Some(ends) && self.mtu == mtu => {
                self.restore(ends, tools).await
            }
            Ok(ends) => self.set_up(ends, mtu, tools).await,
            Err(why) => Err(why),
        };
        if let Err(why) = stood {
            self.report_once(why, tools);
        }
        self.write(tools);
    }

    /// Sends probes that are due, reads carriers, and writes changes.
    pub async fn tick(&mut self, now: MonotonicTime, tools: &BundleContext<'_>) {
        for number in 0..self.links.len() {
            let Some(track) = self.links.get_mut(number) else { continue };
            let there = track.poll_carrier(tools.netlink).await;
            let carrier = there.and_then(|there| track.liveness.set_carrier(there));
            let passed = track.liveness.expire_probes(now);
            if let Some(asked) = track.prober.as_ref().and_then(|_| track.liveness.take_probe(now))
                && let Some(asker) = &track.prober
            {
                asker.send_probe(asked);
            }
            self.report_link_change(number, carrier.or(passed), tools);
        }
        self.write(tools);
        self.notify_far_end(now);
    }

    /// Handles a message; `false`: it belongs to no link of this bundle.
    pub fn handle_message(&mut self, heard: &FarEndMessage, tools: &BundleContext<'_>) -> bool {
        let heard = match heard {
            FarEndMessage::Reply(answer) => answer,
            FarEndMessage::CarrierLost(news) => return self.handle_carrier_notice(news, tools),
        };
        let token = heard.echo.token;
        let ours =
            |track: &LinkTracker| track.prober.as_ref().is_some_and(|asker| asker.token == token);
        let Some(number) = self.links.iter().position(ours) else { return false };
        let changed = self.links[number].liveness.receive_reply(heard.echo.number, heard.at);
        self.report_link_change(number, changed, tools);
        if changed.is_some() {
            self.write(tools);
        }
        true
    }

    /// Gives the device up.
    pub async fn remove_device(&mut self, tools: &BundleContext<'_>) {
        self.equalizer = None;
        let Some(ends) = self.ends.take() else { return };
        let name = self.config.name.clone();
        let detached = tools.plane.detach(&name, &peer_name(&name));
        let forgotten = detached.and_then(|()| tools.plane.remove_device(ends));
        self.note(forgotten, tools);
        self.note(tools.netlink.remove(ends.device).await, tools);
    }

    async fn find_interface(&mut self, number: usize, tools: &BundleContext<'_>) {
        let Some(track) = self.links.get_mut(number) else { return };
        let routed = match track.wanted.via.first() {
            Some(hop) if track.wanted.interface.is_none() => tools.kernel.route(*hop).await,
            _ => ServerRoute::Local,
        };
        let ifindex = track.finds(tools.links, &routed);
        let found = ifindex.and_then(|ifindex| tools.links.get(&ifindex));
        let asked = self.config.probe.is_some();
        let stale = track.ifindex != ifindex
            || asked && track.prober.as_ref().is_none_or(|asker| !asker.is_alive());
        track.set_interface(ifindex, tools.links);
        let name = track.name();
        let mut failed = None;
        if stale {
            track.prober = None;
            if let (Some(ifindex), Some(via), true) = (ifindex, track.wanted.via.first(), asked) {
                match LinkProber::open(&name, ifindex, *via, random_seed(), tools.messages.clone())
                {
                    Ok(asker) => (track.token, track.prober) = (asker.token, Some(asker)),
                    Err(error) => failed = Some(format!("{name} cannot be asked: {error}")),
                }
            }
        }
        let changed = track.liveness.set_carrier(found.is_some_and(|link| link.up));
        self.report_link_change(number, changed, tools);
        if let Some(why) = failed {
            self.report_once(why, tools);
        }
    }

    /// The largest packet that every link takes, bytes.
    fn link_mtu(&mut self, tools: &BundleContext<'_>) -> u32 {
        let of = |track: &LinkTracker| tools.links.get(&track.ifindex?).map(|link| link.mtu);
        let all: Vec<u32> = self.links.iter().filter_map(of).collect();
        let least = all.iter().min().copied().unwrap_or(1500);
        let uneven = all.iter().any(|mtu| *mtu != least);
        if uneven && !self.uneven {
            let name = &self.config.name;
            let most = all.iter().max().copied().unwrap_or(least);
            let text = format!(
                "bundle {name}: its links take packets of {least} to {most} bytes; its device takes {least}: give all \
                 links one MTU"
            );
            tools.events.warn("link-mtu", text);
        }
        self.uneven = uneven;
        least
    }

    /// Writes the results of the links' states.
    fn write(&mut self, tools: &BundleContext<'_>) {
        let Some(ends) = self.ends else { return };
        let turn = |track: &LinkTracker| ScheduledLink {
            alive: track.liveness.is_alive() && track.ifindex.is_some(),
            capacity: track.wanted.capacity.unwrap_or(0),
        };
        let turns: Vec<ScheduledLink> = self.links.iter().map(turn).collect();
        let policy = self.set_packet_order(ends, tools);
        let member =
            |(track, (turn, hold)): (&LinkTracker, (&ScheduledLink, &Duration))| BundleMember {
                ifindex: track.ifindex.unwrap_or(0),
                alive: turn.alive,
                holds_packets: !hold.is_zero(),
                v4: track.wanted.via.iter().find_map(|ip| match ip {
                    IpAddr::V4(v4) => Some(*v4),
                    IpAddr::V6(_) => None,
                }),
                v6: track.wanted.via.iter().find_map(|ip| match ip {
                    IpAddr::V6(v6) => Some(*v6),
                    IpAddr::V4(_) => None,
                }),
            };
        let links = self.links.iter().zip(turns.iter().zip(&self.link_delays));
        // In whole tenths of a millisecond, or each answer would change it.
        let gap = u64::try_from(self.gap().as_nanos()).unwrap_or(u64::MAX);
        let entry = BundleEntry {
            policy,
            slots: LinkSchedule::from_policy(self.config.policy, &turns).slots().to_vec(),
            gap: gap.div_ceil(100_000).saturating_mul(100_000),
            members: links.map(member).collect(),
        };
        if self.written.as_ref() == Some(&entry) {
            return;
        }
        match tools.plane.set_bundle(ends, &entry) {
            Ok(()) => {
                let before = self.written.replace(entry);
                self.flush_dead_links(before.as_ref(), tools);
            }
            Err(error) => self.report_once(error_chain(&error), tools),
        }
    }

    /// Drops packets that still wait for a next hop's link address on links that are no longer alive.
    fn flush_dead_links(&self, before: Option<&BundleEntry>, tools: &BundleContext<'_>) {
        let Some((before, now)) = before.zip(self.written.as_ref()) else { return };
        for (old, new) in before.members.iter().zip(&now.members) {
            if old.alive && !new.alive {
                let hops = old.v4.map(IpAddr::V4).into_iter().chain(old.v6.map(IpAddr::V6));
                hops.for_each(|hop| tools.netlink.flush_neighbor(old.ifindex, hop));
            }
        }
    }

    /// Logs a change of a link.
    fn report_link_change(
        &mut self,
        number: usize,
        changed: Option<LinkChange>,
        tools: &BundleContext<'_>,
    ) {
        let Some(track) = self.links.get_mut(number) else { return };
        let Some(why) = changed else { return };
        let reason = track.set_reason(why).to_owned();
        let alive = track.liveness.is_alive();
        let name = &self.config.name;
        let left = self.links.iter().filter(|track| track.liveness.is_alive()).count();
        let of = self.links.len();
        let text = format!("bundle {name}: {reason}; {left} of {of} links live");
        if alive {
            tools.events.info("link-up", text);
        } else {
            tools.events.warn("link-down", text);
        }
    }

    fn note<E: std::error::Error>(&mut self, done: Result<(), E>, tools: &BundleContext<'_>) {
        if let Err(error) = done {
            self.report_once(error_chain(&error), tools);
        }
    }

    /// Logs an error once.
    fn report_once(&mut self, why: String, tools: &BundleContext<'_>) {
        if self.last_error.as_ref() != Some(&why) {
            tools.events.warn("bundle-trouble", format!("bundle {}: {why}", self.config.name));
            self.last_error = Some(why);
        }
    }
}
