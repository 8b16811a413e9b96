//! The thread's life: what is waited for, and what follows in which order.

mod heed;
mod openness;
mod sources;
mod stand;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use l4::hops::{Request, Route};
use l4::plan::facts::Facts;
use model::config::{Config, Forward};
use model::moment::Moment;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::MissedTickBehavior;

use super::alarms::Alarms;
use super::facts;
use super::netlink::{Address, Kernel, News, Preferred};
use super::order::Order;
use super::site::{Site, chain};
use super::tables::Tables;
use super::view::View;
use crate::control::{Control, Picture};
use crate::event::Events;
use crate::insight::Insight;
use crate::local_time::offset_seconds;

/// Between two looks at next hops.
const TICK: Duration = Duration::from_millis(200);
/// Ticks between two sweeps.
const SWEEP: u32 = 5;
/// Ticks between two attempts at a plane that could not be opened.
const AGAIN: u32 = 10;
/// How long what is ahead of the others stays so.
const AHEAD: Duration = Duration::from_secs(10);
/// Ticks between two looks at who uses return addresses.
const BUSY: u32 = 25;

/// What is forwarded before it is in force for others.
struct Ahead {
    picture: Arc<Picture>,
    done: Option<oneshot::Sender<()>>,
    since: Instant,
}

/// Follows the pictures until told to end.
pub(super) async fn run(
    control: Control,
    mut orders: mpsc::Receiver<Order>,
    (show, give): (watch::Sender<Arc<View>>, watch::Sender<Option<Arc<Tables>>>),
    insight: Arc<Insight>,
) {
    let mut pictures = control.watch();
    let mut life = Life::new(control.events().clone(), insight);
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut alive = true;
    let mut ahead: Option<Ahead> = None;
    let mut last: Option<Arc<Picture>> = None;
    loop {
        tokio::select! {
            order = orders.recv() => match order {
                Some(Order::Ahead { snapshot, config, done }) => {
                    let picture = Picture { snapshot, config, ..(*control.picture()).clone() };
                    let (picture, since) = (Arc::new(picture), Instant::now());
                    ahead = Some(Ahead { picture, done: Some(done), since });
                    life.dirty = true;
                }
                Some(Order::Hash(secret)) => life.hash(&secret),
                Some(Order::End { end, done }) => {
                    give.send_replace(None);
                    life.end(end, &control.picture().config);
                    show.send_replace(Arc::new(View::default()));
                    // Whoever asked may be gone.
                    let _ = done.send(());
                    return;
                }
                None => return,
            },
            changed = pictures.changed(), if alive => alive = changed.is_ok(),
            news = life.news() => life.hear(news),
            _ = tick.tick() => life.tick += 1,
        }
        let mut picture = pictures.borrow_and_update().clone();
        if last.as_ref().is_none_or(|last| !Arc::ptr_eq(last, &picture)) {
            (life.dirty, ahead) = (true, None);
            last = Some(Arc::clone(&picture));
        }
        if let Some(one) = ahead.take_if(|one| one.since.elapsed() > AHEAD) {
            // Whoever asked does not wait any more, and what was to come has not come.
            drop(one);
            life.dirty = true;
        }
        if let Some(one) = &ahead {
            picture = Arc::clone(&one.picture);
        }
        if picture.leaving {
            continue;
        }
        if life.step(&picture).await {
            show.send_replace(Arc::new(life.view.clone()));
        }
        if std::mem::take(&mut life.renewed) {
            give.send_replace(life.tables(&picture.config));
        }
        let waiting = ahead.as_mut().filter(|_| life.stands()).and_then(|one| one.done.take());
        if let Some(done) = waiting {
            let _ = done.send(());
        }
    }
}

struct Life {
    events: Events,
    site: Option<Site>,
    kernel: Option<Kernel>,
    origin: Instant,
    opened: Instant,
    addresses: Vec<Address>,
    /// What this machine's own connections may come from.
    preferred: Vec<Preferred>,
    facts: Facts,
    view: View,
    told: Option<String>,
    alarms: Alarms,
    /// What watched connections showed.
    insight: Arc<Insight>,
    /// Connections given up for new ones, at the last sweep.
    evicted: Option<u64>,
    /// Another process has the plane, which it is about to leave.
    held: bool,
    /// The tables, or what their indexes mean, may have changed.
    renewed: bool,
    /// Something changed that the maps must follow.
    dirty: bool,
    /// Links, addresses or routes changed.
    moved: bool,
    tick: u32,
    done: u32,
}

impl Life {
    fn new(events: Events, insight: Arc<Insight>) -> Life {
        let now = Instant::now();
        Life {
            events,
            site: None,
            kernel: None,
            origin: now,
            opened: now,
            addresses: Vec::new(),
            preferred: Vec::new(),
            facts: Facts::default(),
            view: View::default(),
            told: None,
            alarms: Alarms::default(),
            insight,
            evicted: None,
            held: false,
            renewed: true,
            dirty: true,
            moved: true,
            tick: 0,
            done: 0,
        }
    }

    fn now(&self) -> Moment {
        Moment::default() + self.origin.elapsed()
    }

    async fn news(&mut self) -> Option<News> {
        match &mut self.kernel {
            Some(kernel) => kernel.next().await,
            None => std::future::pending().await,
        }
    }

    fn hear(&mut self, news: Option<News>) {
        let now = self.now();
        match (news, &mut self.site) {
            (Some(News::Neighbour(ifindex, ip, heard)), Some(site)) => {
                site.hops.heard(ifindex, ip, heard, now);
                let written = site.write_ways();
                self.tell(written.err().map(|error| chain(&error)));
            }
            (Some(News::Neighbour(..)), None) => {}
            (Some(News::Other), _) => self.moved = true,
            // The connection is lost: another one is made.
            (None, _) => {
                self.kernel = None;
                self.moved = true;
            }
        }
    }

    /// Whether nothing is under way any more: packets are forwarded as was asked for last, or cannot be.
    fn stands(&self) -> bool {
        match &self.site {
            Some(_) => !self.dirty && !self.view.interfaces.is_empty(),
            None => self.view.broken.is_some(),
        }
    }

    /// Does what is due; true when there is something new to show.
    async fn step(&mut self, picture: &Picture) -> bool {
        let config = &picture.config;
        let wanted = config.services.values().any(|service| service.packets.is_some());
        if !wanted {
            return self.nothing(config);
        }
        self.view.wanted = true;
        let fresh = self.tick != self.done;
        self.done = self.tick;
        let again = self.held || self.tick.is_multiple_of(AGAIN);
        if self.site.is_none() && (self.dirty || fresh && again) {
            self.open(config);
        }
        if self.site.is_none() {
            self.dirty = false;
            return fresh;
        }
        if self.kernel.is_none() {
            match Kernel::connect() {
                Ok(kernel) => self.kernel = Some(kernel),
                Err(error) => {
                    self.tell(Some(format!("the kernel's routes cannot be read: {error}")))
                }
            }
        }
        let again = fresh && self.tick.is_multiple_of(BUSY);
        if self.moved || again || self.dirty {
            self.look(config).await;
            self.look_at_sources(config);
        }
        let changed = self.dirty;
        if self.dirty || self.facts.minute != facts::minute(SystemTime::now(), offset_seconds) {
            self.change(picture).await;
        }
        if fresh {
            self.heed(picture).await;
            self.ask().await;
            self.stand(config);
        }
        if fresh && self.tick.is_multiple_of(SWEEP) {
            self.sweep(picture);
        }
        fresh || changed
    }

    /// Reads links, addresses and neighbours anew, and asks for every way.
    async fn look(&mut self, config: &Config) {
        let (Some(kernel), Some(site)) = (&self.kernel, &mut self.site) else { return };
        let shared = facts::shared(config);
        if shared != *self.facts.shared {
            self.facts.shared = Arc::new(shared);
            self.dirty = true;
        }
        let returns = facts::returns(config);
        let busy = facts::busy(&returns);
        if busy != self.facts.busy {
            self.facts.busy = busy;
            self.dirty = true;
        }
        if !self.moved {
            return;
        }
        self.moved = false;
        let read =
            async { Ok::<_, std::io::Error>((kernel.links().await?, kernel.addresses().await?)) };
        match read.await {
            Ok((links, addresses)) => {
                let local = Arc::new(addresses.iter().map(|one| one.ip).collect());
                if local != self.facts.local {
                    self.facts.local = local;
                    self.dirty = true;
                }
                self.addresses = addresses;
                let names = links.iter().map(|(index, link)| (*index, link.name.clone())).collect();
                self.preferred = kernel.preferred(&names).await.unwrap_or_default();
                site.hops.links(links);
            }
            Err(error) => self.events.warn("packets-kernel", error.to_string()),
        }
        let requests = site.hops.reroute();
        self.carry_out(requests).await;
    }

    /// Brings the maps to the picture, and learns the ways that it needs.
    async fn change(&mut self, picture: &Picture) {
        self.facts.minute = facts::minute(SystemTime::now(), offset_seconds);
        self.facts.broken = None;
        self.facts.paired = !picture.config.heartbeats.is_empty();
        self.renewed = true;
        for _ in 0..2 {
            self.dirty = false;
            let Some(site) = &mut self.site else { return };
            let before = site.obstacles.clone();
            match site.change(&picture.snapshot, &picture.config, &self.facts) {
                Ok(()) => self.view.generation = picture.generation,
                Err(error) => self.tell(Some(chain(&error))),
            }
            self.changed(&before, picture);
            self.fragment(&picture.config);
            // Ways may bring news that the plan needs: our address towards a server.
            self.ask().await;
            if !self.dirty {
                break;
            }
        }
    }

    /// Makes fragments while some service's packets go through tunnels.
    fn fragment(&mut self, config: &Config) {
        let Some(site) = &mut self.site else { return };
        let wanted = config.services.values().any(|service| service.forward == Forward::Tunnel);
        if let Err(error) = site.make_fragments(wanted) {
            let why = chain(&error);
            self.tell(Some(format!(
                "packets that do not fit a tunnel are not sent on as fragments, their senders are told instead: {why}"
            )));
        }
    }

    /// Asks the kernel what is due, and writes ways that changed.
    async fn ask(&mut self) {
        let now = self.now();
        let Some(site) = &mut self.site else { return };
        let mut requests = site.ask(now);
        self.carry_out(std::mem::take(&mut requests)).await;
        let now = self.now();
        if let (Some(kernel), Some(site)) = (&self.kernel, &mut self.site)
            && (self.tick.is_multiple_of(SWEEP)
                || !self.view.adopted && self.view.interfaces.is_empty())
            && let Ok(all) = kernel.neighbours().await
        {
            // News may be lost when there is too much of it; the table says the same again.
            all.into_iter().for_each(|(at, ip, heard)| site.hops.heard(at, ip, heard, now));
        }
        let Some(site) = &mut self.site else { return };
        let written = site.write_ways();
        self.tell(written.err().map(|error| chain(&error)));
    }

    async fn carry_out(&mut self, requests: Vec<Request>) {
        let Some(kernel) = &self.kernel else { return };
        let mut routed = false;
        for request in requests {
            let Request::Route(ip) = request else {
                kernel.request(request).await;
                continue;
            };
            let route = kernel.route(ip).await;
            let Some(site) = &mut self.site else { return };
            routed = true;
            site.hops.routed(ip, route);
        }
        let Some(site) = self.site.as_mut().filter(|_| routed) else { return };
        let source = |ip: IpAddr| match site.hops.route(ip)? {
            Route::Via { source, .. } => Some((ip, (*source)?)),
            Route::Local | Route::None(_) => None,
        };
        let sources = Arc::new(site.hops.servers().filter_map(source).collect());
        let gateway = |ip: &IpAddr| matches!(site.hops.route(*ip), Some(Route::Via { next, .. }) if next != ip);
        let routed = Arc::new(site.hops.servers().filter(gateway).collect());
        if sources != self.facts.sources || routed != self.facts.routed {
            self.facts.sources = sources;
            self.facts.routed = routed;
            self.dirty = true;
        }
    }

    /// Tells trouble once, until there is other trouble or none.
    fn tell(&mut self, trouble: Option<String>) {
        let Some(trouble) = trouble else { return };
        if self.told.as_ref() != Some(&trouble) {
            self.events.error("packets-failed", trouble.clone());
            self.told = Some(trouble);
        }
    }
}
