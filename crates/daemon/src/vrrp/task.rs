//! The thread's life: what is waited for, and what follows in which order.

mod order;
mod pair;
mod seat;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use ha::advert::{Advert, Defect, Envelope, parse};
use ha::frame;
use ha::machine::{State, Why};
use l4::hops::Link;
use model::config::Config;
use model::moment::Moment;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior};

use super::alive::{self, Pulse};
use super::ear::{self, Ear, Heard};
use super::fit;
use super::gate::Gates;
use super::ground::ground;
use super::group::{Group, Tools};
use super::heartbeat::Heartbeat;
use super::heartbeat::word::{self, Word};
use super::order::Order;
use super::replica::Replication;
use super::restored::Here;
use super::view::View;
use crate::control::{Control, Picture};
use crate::event::Events;
use crate::packets::netlink::{Address, Kernel, News};
use crate::packets::tables::Source;
use crate::packets::view as packets;

/// Between two looks at links, addresses and whether the control lives.
const LOOK: Duration = Duration::from_millis(250);
/// Frames that may wait; more stay in the kernel's queue, and are lost there.
const FRAMES: usize = 256;

/// Follows the pictures until told to end.
pub(super) async fn run(
    control: Control,
    (pulse, packets, source): (Pulse, watch::Receiver<Arc<packets::View>>, Source),
    mut orders: mpsc::Receiver<Order>,
    show: watch::Sender<Arc<View>>,
) {
    let mut pictures = control.watch();
    let (to, mut frames) = mpsc::channel(FRAMES);
    let (say, mut words) = mpsc::channel(word::WAITING);
    let mut life = Life::new(control.events().clone(), to, say, source);
    let mut look = tokio::time::interval(LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut alive, mut stale) = (true, true);
    let mut states = Vec::new();
    loop {
        let due = life.due();
        tokio::select! {
            order = orders.recv() => match order {
                Some(Order::Move { how, group, done }) => {
                    // Whoever asked may be gone.
                    let _ = done.send(life.move_(how, group).await);
                }
                Some(Order::End { give, done }) => {
                    if give {
                        life.end().await;
                    }
                    show.send_replace(Arc::new(View::default()));
                    let _ = done.send(());
                    return;
                }
                None => return,
            },
            heard = frames.recv() => if let Some(heard) = heard { life.hear(&heard).await },
            word = words.recv() => if let Some(word) = word { life.hear_word(word) },
            () = tokio::time::sleep_until(due) => {}
            changed = pictures.changed(), if alive => (alive, stale) = (changed.is_ok(), true),
            news = life.news() => life.learn(news),
            _ = look.tick() => stale = true,
        }
        let looks = stale || life.moved;
        if looks {
            let picture = pictures.borrow_and_update().clone();
            let forwarded = packets.borrow().clone();
            life.follow(&picture, &pulse, &forwarded).await;
            stale = false;
        }
        life.tick().await;
        let now: Vec<State> = life.groups.values().map(Group::state).collect();
        if looks || now != states {
            show.send_replace(Arc::new(life.view()));
            states = now;
        }
    }
}

struct Life {
    events: Events,
    kernel: Option<Kernel>,
    gates: Gates,
    groups: BTreeMap<String, Group>,
    ears: HashMap<u32, Ear>,
    frames: mpsc::Sender<Heard>,
    heartbeat: Option<Heartbeat>,
    /// Where there is something that the other member is told of.
    replication: Option<Replication>,
    source: Source,
    /// Heartbeats that were begun.
    eras: u64,
    words: mpsc::Sender<Word>,
    links: HashMap<u32, Link>,
    addresses: Vec<Address>,
    /// Links or addresses changed.
    moved: bool,
    /// Packets that belong to no group, by what was wrong with them.
    dropped: BTreeMap<&'static str, u64>,
    told: Option<String>,
}

impl Life {
    fn new(
        events: Events,
        frames: mpsc::Sender<Heard>,
        words: mpsc::Sender<Word>,
        source: Source,
    ) -> Life {
        Life {
            events,
            kernel: None,
            gates: Gates::default(),
            groups: BTreeMap::new(),
            ears: HashMap::new(),
            frames,
            heartbeat: None,
            replication: None,
            source,
            eras: 0,
            words,
            links: HashMap::new(),
            addresses: Vec::new(),
            moved: true,
            dropped: BTreeMap::new(),
            told: None,
        }
    }

    fn due(&self) -> Instant {
        let now = alive::now();
        let groups = self.groups.values().map(Group::due);
        let beats = self.heartbeat.iter().map(Heartbeat::due);
        let due = groups.chain(beats).min().unwrap_or(Moment::NEVER);
        Instant::now() + due.since(now).min(LOOK)
    }

    async fn news(&mut self) -> Option<News> {
        match &mut self.kernel {
            Some(kernel) => kernel.next().await,
            None => std::future::pending().await,
        }
    }

    fn learn(&mut self, news: Option<News>) {
        match news {
            Some(News::Neighbour(..)) => {}
            Some(News::Other) => self.moved = true,
            // The connection is lost: another one is made.
            None => (self.kernel, self.moved) = (None, true),
        }
    }

    /// Has the groups of this picture, each on its ground.
    async fn follow(&mut self, picture: &Picture, pulse: &Pulse, packets: &packets::View) {
        let config = &picture.config;
        if config.vrrp.is_empty() && config.heartbeats.is_empty() && !self.busy() {
            return;
        }
        if !self.look().await {
            return;
        }
        self.pair(picture);
        if config.vrrp.values().any(|group| group.dead_man.is_some()) {
            self.gates.open(config, &self.events);
        }
        self.gates.follow(config);
        self.replace(config).await;
        let gated = self.groups.values().flat_map(Group::gated);
        self.gates.keep(&gated.collect());
        let shared: BTreeSet<IpAddr> =
            config.vrrp.values().flat_map(|group| group.moves().map(|(ip, _)| ip)).collect();
        let hangs = pulse
            .hangs(alive::now())
            .map(|time| format!("the daemon's control has been hanging for {} s", time.as_secs()));
        let mut seatless = self.seats(config).await;
        let names: Vec<String> = self.groups.keys().cloned().collect();
        for name in names {
            let Some(mut group) = self.groups.remove(&name) else { continue };
            group.witness(self.heartbeat.as_ref().is_some_and(Heartbeat::witnessed));
            group.judge(fit::obstacle(&group.config, picture, packets), &self.events);
            let stands = ground(&group.config, &self.links, &self.addresses, &shared);
            let stands = seatless.remove(&name).map_or(stands, Err);
            let stands = hangs.clone().map_or(stands, Err);
            for place in stands.iter().flat_map(|ground| &ground.places) {
                self.listen(place.port);
            }
            let addresses = std::mem::take(&mut self.addresses);
            let links = std::mem::take(&mut self.links);
            if let Some(mut tools) = self.tools() {
                let here = Here { addresses: &addresses, links: &links };
                group.stand(stands, here, &mut tools).await;
            }
            (self.addresses, self.links) = (addresses, links);
            self.groups.insert(name, group);
        }
        if config.vrrp.is_empty() {
            self.gates.remove(self.links.values().map(|link| link.name.clone()));
        }
        self.tell();
    }

    /// Asks the kernel what there is, if something changed.
    async fn look(&mut self) -> bool {
        if self.kernel.is_none() {
            self.kernel = Kernel::connect().ok();
        }
        let Some(kernel) = &self.kernel else { return false };
        if self.moved {
            let (Ok(links), Ok(addresses)) = (kernel.links().await, kernel.addresses().await)
            else {
                return false;
            };
            (self.links, self.addresses, self.moved) = (links, addresses, false);
            let links = &self.links;
            self.ears.retain(|ifindex, ear| links.contains_key(ifindex) && ear.lives());
        }
        true
    }

    /// Groups that are gone or made anew give up; new ones have not begun.
    async fn replace(&mut self, config: &Config) {
        let names: Vec<String> = self.groups.keys().cloned().collect();
        for name in names {
            let Some(mut group) = self.groups.remove(&name) else { continue };
            match config.vrrp.get(&name) {
                Some(wanted) if Arc::ptr_eq(wanted, &group.config) || *wanted == group.config => {
                    self.groups.insert(name, group);
                }
                Some(wanted) if group.adopt(wanted) => {
                    self.groups.insert(name, group);
                }
                _ => {
                    if let Some(mut tools) = self.tools() {
                        group.end(Why::Ended, &mut tools).await;
                    }
                    self.moved = true;
                }
            }
        }
        for (name, wanted) in &config.vrrp {
            let new = || Group::new(Arc::clone(wanted));
            self.groups.entry(name.clone()).or_insert_with(new);
        }
    }

    fn listen(&mut self, ifindex: u32) {
        if self.ears.contains_key(&ifindex) {
            return;
        }
        match Ear::open(ifindex, &ear::VRRP, self.frames.clone()) {
            Ok(ear) => drop(self.ears.insert(ifindex, ear)),
            Err(error) => {
                self.trouble(format!("no socket for frames: {error}; it takes CAP_NET_RAW"))
            }
        }
    }

    /// A frame of protocol 112, or one that says where an address is.
    async fn hear(&mut self, heard: &Heard) {
        let Some((envelope, bytes)) = frame::vrrp(&heard.frame) else {
            let Some((ip, link)) = frame::says_where(&heard.frame) else {
                return self.count("no-packet");
            };
            return self.elsewhere(heard.ifindex, ip, link);
        };
        match parse(bytes, &envelope) {
            Ok(advert) => self.deliver(heard.ifindex, &envelope, &advert).await,
            Err(defect) => self.count(Defect::name(defect)),
        }
    }

    async fn deliver(&mut self, ifindex: u32, envelope: &Envelope, advert: &Advert) {
        let v6 = envelope.source.is_ipv6();
        let found = self.groups.iter().find(|(_, group)| group.is(ifindex, advert.group, v6));
        let Some(name) = found.map(|(name, _)| name.clone()) else {
            return self.count("other-group");
        };
        let Some(mut group) = self.groups.remove(&name) else { return };
        if let Some(mut tools) = self.tools() {
            group.receive(envelope, advert, &mut tools).await;
        }
        self.groups.insert(name, group);
    }

    /// Somebody says that an address is at its link.
    fn elsewhere(&mut self, ifindex: u32, ip: IpAddr, link: [u8; 6]) {
        let Some(kernel) = self.kernel.as_ref() else { return };
        let (ears, events, frames) = (&self.ears, &self.events, &self.frames);
        let mut tools = Tools { kernel, gates: &mut self.gates, ears, events, frames };
        for group in self.groups.values_mut() {
            group.elsewhere(ifindex, (ip, link), &mut tools);
        }
    }

    fn count(&mut self, what: &'static str) {
        *self.dropped.entry(what).or_default() += 1;
    }

    async fn tick(&mut self) {
        self.permit().await;
        self.consult().await;
        let now = alive::now();
        let due = self.groups.iter().filter(|(_, group)| group.due() <= now);
        let names: Vec<String> = due.map(|(name, _)| name.clone()).collect();
        for name in names {
            let Some(mut group) = self.groups.remove(&name) else { continue };
            if let Some(mut tools) = self.tools() {
                group.tick(&mut tools).await;
            }
            self.groups.insert(name, group);
        }
        self.permit().await;
        self.speak();
        self.permit().await;
    }

    /// Gives everything up and leaves no trace.
    async fn end(&mut self) {
        let mut parting = Vec::new();
        for (_, mut group) in std::mem::take(&mut self.groups) {
            if let Some(mut tools) = self.tools() {
                group.end(Why::Ended, &mut tools).await;
            }
            parting.push(ha::beat::Claim { state: State::Idle, ..group.claim() });
            if let Some(heartbeat) = &mut self.heartbeat {
                heartbeat.leave((group.config.id, group.config.v6()), (State::Idle, false), None);
            }
        }
        if let Some(heartbeat) = &mut self.heartbeat {
            heartbeat.speak(parting);
            heartbeat.part().await;
        }
        self.gates.remove(self.links.values().map(|link| link.name.clone()));
    }

    /// What groups work with; nothing is done without the kernel.
    fn tools(&mut self) -> Option<Tools<'_>> {
        let kernel = self.kernel.as_ref()?;
        let (ears, events, frames) = (&self.ears, &self.events, &self.frames);
        Some(Tools { kernel, gates: &mut self.gates, ears, events, frames })
    }

    /// Says once what is wrong with the gate.
    fn tell(&mut self) {
        if let Some(text) = self.gates.broken.clone() {
            self.trouble(format!("no dead man's gate: {text}"));
        }
    }

    fn trouble(&mut self, text: String) {
        if self.told.as_ref() != Some(&text) {
            self.events.warn("vrrp-trouble", text.clone());
            self.told = Some(text);
        }
    }

    fn view(&self) -> View {
        let groups = self.groups.iter().map(|(name, group)| (name.clone(), group.view()));
        View {
            groups: groups.collect(),
            heartbeats: self.beats(),
            dropped: self.dropped.clone(),
            shut: self.gates.shut(),
            broken: self.gates.broken.clone(),
        }
    }
}
