//! One bundle: has its device stand, follows its links, and writes into the kernel what follows from them.
//!
//! What a link's signs mean, in which order links take turns and how long packets are held is decided by `links`.

mod order;
mod peer;
mod shown;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bpf::Interface;
use l4::hops::{Link, Route};
use links::life::Why;
use links::plane::{Ends, Plane};
use links::schedule::{Schedule, Turn};
use links::table::{Entry, Member};
use model::config::{Bundle as Config, LinkPolicy, Member as Wanted};
use model::moment::Moment;
use tokio::sync::mpsc;

use super::asker::{Asker, Heard};
use super::device::{Netlink, other};
use super::holder::Holder;
use super::track::Track;
use crate::event::Events;
use crate::packets::netlink::{Address, Kernel};
use crate::packets::site::chain;
use crate::probe::seed::seed;

/// What a bundle works with.
pub(super) struct Tools<'a> {
    /// To ask the kernel.
    pub kernel: &'a Kernel,
    /// To set its devices.
    pub netlink: &'a Netlink,
    /// The programs.
    pub plane: &'a Plane,
    /// Where it says what happened.
    pub events: &'a Events,
    /// Interfaces by number.
    pub links: &'a HashMap<u32, Link>,
    /// Where answers of next hops go.
    pub heard: &'a mpsc::Sender<Heard>,
}

/// A bundle.
#[derive(Debug)]
pub(super) struct Bundle {
    /// What is wanted.
    pub config: Arc<Config>,
    tracks: Vec<Track>,
    ends: Option<Ends>,
    mtu: u32,
    /// The device stands as it should.
    settled: bool,
    written: Option<Entry>,
    holder: Option<Holder>,
    holds: Vec<Duration>,
    trouble: Option<String>,
    /// Why packets do not take turns although they should.
    fallen: Option<String>,
    uneven: bool,
}

impl Bundle {
    /// One that does not stand yet.
    pub fn new(config: Arc<Config>) -> Bundle {
        let track = |wanted: &Wanted| Track::new(wanted, config.probe.as_ref());
        Bundle {
            tracks: config.links.iter().map(track).collect(),
            config,
            ends: None,
            mtu: 0,
            settled: false,
            written: None,
            holder: None,
            holds: Vec::new(),
            trouble: None,
            fallen: None,
            uneven: false,
        }
    }

    /// Takes up a changed configuration; links that stay keep what is known of them.
    pub async fn adopt(&mut self, config: &Arc<Config>, tools: &Tools<'_>) {
        let before = std::mem::replace(self, Bundle::new(Arc::clone(config)));
        let Bundle { config: old, tracks, ends, holder, holds, .. } = before;
        (self.holder, self.holds) = (holder, holds);
        let mut tracks: Vec<Option<Track>> = tracks.into_iter().map(Some).collect();
        if old.probe == config.probe {
            for track in &mut self.tracks {
                let same = |one: &&mut Option<Track>| {
                    one.as_ref().is_some_and(|one| one.wanted == track.wanted)
                };
                if let Some(kept) = tracks.iter_mut().find(same).and_then(Option::take) {
                    *track = kept;
                }
            }
        }
        let Some(Ends { device, .. }) = ends else { return };
        for ip in old.addresses.iter().filter(|ip| !config.addresses.contains(ip)) {
            self.note(tools.netlink.remove_address(device, *ip).await, tools);
        }
        for to in old.routes.iter().filter(|to| !config.routes.contains(to)) {
            self.note(tools.netlink.remove_route(device, *to).await, tools);
        }
    }

    /// Has the device stand and its links be followed, as interfaces are now.
    pub async fn stand(&mut self, tools: &Tools<'_>) {
        for number in 0..self.tracks.len() {
            self.find(number, tools).await;
        }
        let mtu = self.room(tools);
        let stood = match self.found(tools).await {
            Ok(ends) if self.settled && self.ends == Some(ends) && self.mtu == mtu => {
                self.restore(ends, tools).await
            }
            Ok(ends) => self.set_up(ends, mtu, tools).await,
            Err(why) => Err(why),
        };
        if let Err(why) = stood {
            self.say(why, tools);
        }
        self.write(tools);
    }

    /// Time passed: asks, looks at carriers, and writes what changed.
    pub async fn tick(&mut self, now: Moment, tools: &Tools<'_>) {
        for number in 0..self.tracks.len() {
            let Some(track) = self.tracks.get_mut(number) else { continue };
            let there = track.look(tools.netlink).await;
            let carrier = there.and_then(|there| track.life.carrier(there));
            let passed = track.life.pass(now);
            if let Some(asked) = track.asker.as_ref().and_then(|_| track.life.ask(now))
                && let Some(asker) = &track.asker
            {
                asker.ask(asked);
            }
            self.told(number, carrier.or(passed), tools);
        }
        self.write(tools);
        self.tell_far_end(now);
    }

    /// An answer came; `false`: it is none of this bundle's links.
    pub fn hear(&mut self, heard: &Heard, tools: &Tools<'_>) -> bool {
        let heard = match heard {
            Heard::Answer(answer) => answer,
            Heard::Down(news) => return self.hear_far_end(news, tools),
        };
        let token = heard.echo.token;
        let ours = |track: &Track| track.asker.as_ref().is_some_and(|asker| asker.token == token);
        let Some(number) = self.tracks.iter().position(ours) else { return false };
        let changed = self.tracks[number].life.answer(heard.echo.number, heard.at);
        self.told(number, changed, tools);
        if changed.is_some() {
            self.write(tools);
        }
        true
    }

    /// Gives the device up.
    pub async fn end(&mut self, tools: &Tools<'_>) {
        self.holder = None;
        let Some(ends) = self.ends.take() else { return };
        let name = self.config.name.clone();
        let detached = tools.plane.detach(&name, &other(&name));
        let forgotten = detached.and_then(|()| tools.plane.forget(ends));
        self.note(forgotten, tools);
        self.note(tools.netlink.remove(ends.device).await, tools);
    }

    async fn find(&mut self, number: usize, tools: &Tools<'_>) {
        let Some(track) = self.tracks.get_mut(number) else { return };
        let routed = match track.wanted.via.first() {
            Some(hop) if track.wanted.interface.is_none() => tools.kernel.route(*hop).await,
            _ => Route::Local,
        };
        let ifindex = track.finds(tools.links, &routed);
        let found = ifindex.and_then(|ifindex| tools.links.get(&ifindex));
        let asked = self.config.probe.is_some();
        let stale = track.ifindex != ifindex
            || asked && track.asker.as_ref().is_none_or(|asker| !asker.lives());
        track.is(ifindex, tools.links);
        let name = track.name();
        let mut failed = None;
        if stale {
            track.asker = None;
            if let (Some(ifindex), Some(via), true) = (ifindex, track.wanted.via.first(), asked) {
                match Asker::open((&name, ifindex), *via, seed(), tools.heard.clone()) {
                    Ok(asker) => (track.token, track.asker) = (asker.token, Some(asker)),
                    Err(error) => failed = Some(format!("{name} cannot be asked: {error}")),
                }
            }
        }
        let changed = track.life.carrier(found.is_some_and(|link| link.up));
        self.told(number, changed, tools);
        if let Some(why) = failed {
            self.say(why, tools);
        }
    }

    /// The largest packet that every link takes, bytes.
    fn room(&mut self, tools: &Tools<'_>) -> u32 {
        let of = |track: &Track| tools.links.get(&track.ifindex?).map(|link| link.mtu);
        let all: Vec<u32> = self.tracks.iter().filter_map(of).collect();
        let least = all.iter().min().copied().unwrap_or(1500);
        let uneven = all.iter().any(|mtu| *mtu != least);
        if uneven && !self.uneven {
            let (name, most) = (&self.config.name, all.iter().max().copied().unwrap_or(least));
            let text = format!(
                "bundle {name}: its links take packets of {least} to {most} bytes; its device takes {least}: give all \
                 links one MTU"
            );
            tools.events.warn("link-mtu", text);
        }
        self.uneven = uneven;
        least
    }

    async fn found(&self, tools: &Tools<'_>) -> Result<Ends, String> {
        let name = &self.config.name;
        let index = |name: &str| Interface::find(name).ok().map(|one| one.index);
        let ends = || index(name).zip(index(&other(name)));
        match (index(name), index(&other(name))) {
            (Some(device), Some(other)) => return Ok(Ends { device, other }),
            (None, None) => {}
            _ => {
                return Err(format!("there is an interface {name} already, and it is no bundle's"));
            }
        }
        tools.netlink.make(name).await.map_err(|error| format!("no device {name}: {error}"))?;
        let (device, other) = ends().ok_or_else(|| format!("the device {name} is gone again"))?;
        Ok(Ends { device, other })
    }

    /// Sets again what another program took away from the device.
    async fn restore(&mut self, ends: Ends, tools: &Tools<'_>) -> Result<(), String> {
        let Ok(addresses) = tools.kernel.addresses().await else { return Ok(()) };
        let (config, mtu) = (Arc::clone(&self.config), self.mtu);
        let has = |ip: &IpAddr| addresses.contains(&Address { ifindex: ends.device, ip: *ip });
        let mut gone: Vec<String> =
            config.addresses.iter().filter(|ip| !has(ip)).map(IpAddr::to_string).collect();
        let up = [ends.device, ends.other].iter().all(|at| {
            // One that is not known yet was made just now.
            tools.links.get(at).is_none_or(|link| link.up)
        });
        if !up {
            gone.push("the device's being up".to_owned());
        }
        let name = &config.name;
        if !gone.is_empty() {
            self.set_up(ends, mtu, tools).await.map_err(|why| {
                format!("another program took {} from {name}: {why}", gone.join(", "))
            })?;
        }
        for to in &config.routes {
            let done = tools.netlink.add_route(ends.device, *to).await;
            if done.map_err(|error| format!("{to} cannot be sent over {name}: {error}"))? {
                gone.push(format!("the route to {to}"));
            }
        }
        if gone.is_empty() {
            return Ok(());
        }
        let gone = gone.join(", ");
        let text = format!("bundle {name}: another program took {gone} away; it is set again");
        tools.events.warn("kernel-restored", text);
        Ok(())
    }

    async fn set_up(&mut self, ends: Ends, mtu: u32, tools: &Tools<'_>) -> Result<(), String> {
        let config = Arc::clone(&self.config);
        let name = &config.name;
        let together = (config.policy == LinkPolicy::RoundRobin).then_some(config.burst);
        self.settled = false;
        tools.plane.prepare(ends).map_err(|error| chain(&error))?;
        tools.plane.attach(name, &other(name)).map_err(|error| chain(&error))?;
        for ifindex in [ends.other, ends.device] {
            let done = tools.netlink.set_up(ifindex, mtu, together).await;
            done.map_err(|error| format!("{name} cannot be set up: {error}"))?;
        }
        if self.ends != Some(ends) {
            self.holder = None;
        }
        (self.ends, self.mtu, self.written) = (Some(ends), mtu, None);
        for ip in &config.addresses {
            let done = tools.netlink.add_address(ends.device, *ip).await;
            done.map_err(|error| format!("{name} cannot have {ip}: {error}"))?;
        }
        for to in &config.routes {
            let done = tools.netlink.add_route(ends.device, *to).await;
            let new = done.map_err(|error| format!("{to} cannot be sent over {name}: {error}"))?;
            let there = tools.kernel.route(to.address());
            if !new && !matches!(there.await, Route::Via { ifindex, .. } if ifindex == ends.device)
            {
                return Err(format!("there is another route to {to} already: {name} has it not"));
            }
        }
        (self.settled, self.trouble) = (true, None);
        Ok(())
    }

    /// Writes what follows from the links as they are.
    fn write(&mut self, tools: &Tools<'_>) {
        let Some(ends) = self.ends else { return };
        let turn = |track: &Track| Turn {
            alive: track.life.alive() && track.ifindex.is_some(),
            capacity: track.wanted.capacity.unwrap_or(0),
        };
        let turns: Vec<Turn> = self.tracks.iter().map(turn).collect();
        let policy = self.order(ends, tools);
        let member = |(track, (turn, hold)): (&Track, (&Turn, &Duration))| Member {
            ifindex: track.ifindex.unwrap_or(0),
            alive: turn.alive,
            held: !hold.is_zero(),
            v4: track.wanted.via.iter().find_map(|ip| match ip {
                IpAddr::V4(v4) => Some(*v4),
                IpAddr::V6(_) => None,
            }),
            v6: track.wanted.via.iter().find_map(|ip| match ip {
                IpAddr::V6(v6) => Some(*v6),
                IpAddr::V4(_) => None,
            }),
        };
        let links = self.tracks.iter().zip(turns.iter().zip(&self.holds));
        // In whole tenths of a millisecond, or each answer would change it.
        let gap = u64::try_from(self.gap().as_nanos()).unwrap_or(u64::MAX);
        let entry = Entry {
            policy,
            slots: Schedule::of(self.config.policy, &turns).slots().to_vec(),
            gap: gap.div_ceil(100_000).saturating_mul(100_000),
            members: links.map(member).collect(),
        };
        if self.written.as_ref() == Some(&entry) {
            return;
        }
        match tools.plane.set(ends, &entry) {
            Ok(()) => {
                let before = self.written.replace(entry);
                self.let_go(before.as_ref(), tools);
            }
            Err(error) => self.say(chain(&error), tools),
        }
    }

    /// Packets that were given to a link which has none from now on may wait there for its next hop.
    fn let_go(&self, before: Option<&Entry>, tools: &Tools<'_>) {
        let Some((before, now)) = before.zip(self.written.as_ref()) else { return };
        for (old, new) in before.members.iter().zip(&now.members) {
            if old.alive && !new.alive {
                let hops = old.v4.map(IpAddr::V4).into_iter().chain(old.v6.map(IpAddr::V6));
                hops.for_each(|hop| tools.netlink.let_go(old.ifindex, hop));
            }
        }
    }

    /// Says what became of a link.
    fn told(&mut self, number: usize, changed: Option<Why>, tools: &Tools<'_>) {
        let Some(track) = self.tracks.get_mut(number) else { return };
        let Some(why) = changed else { return };
        let reason = track.because(why).to_owned();
        let (alive, name) = (track.life.alive(), &self.config.name);
        let left = self.tracks.iter().filter(|track| track.life.alive()).count();
        let of = self.tracks.len();
        let text = format!("bundle {name}: {reason}; {left} of {of} links live");
        if alive {
            tools.events.info("link-up", text);
        } else {
            tools.events.warn("link-down", text);
        }
    }

    fn note<E: std::error::Error>(&mut self, done: Result<(), E>, tools: &Tools<'_>) {
        if let Err(error) = done {
            self.say(chain(&error), tools);
        }
    }

    /// Says once what is wrong.
    fn say(&mut self, why: String, tools: &Tools<'_>) {
        if self.trouble.as_ref() != Some(&why) {
            tools.events.warn("bundle-trouble", format!("bundle {}: {why}", self.config.name));
            self.trouble = Some(why);
        }
    }
}
