//! The thread's life: what is waited for, and what follows in which order.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use l4::abi;
use l4::hops::{Link, Request, Route};
use l4::plan::facts::Facts;
use model::config::Config;
use model::moment::Moment;
use tokio::sync::{mpsc, watch};
use tokio::time::MissedTickBehavior;

use super::netlink::{Address, Kernel, News};
use super::order::{End, Order};
use super::site::{Site, chain, remove_pinned};
use super::view::{InterfaceView, Sample, View};
use super::{attach, facts, shows};
use crate::control::{Control, Picture};
use crate::event::Events;

/// Between two looks at next hops.
const TICK: Duration = Duration::from_millis(200);
/// Ticks between two sweeps.
const SWEEP: u32 = 5;
/// Ticks between two attempts at a plane that could not be opened.
const AGAIN: u32 = 10;
/// How long next hops may take before the first packet is taken.
const READY: Duration = Duration::from_millis(800);
/// Ticks between two looks at who uses return addresses.
const BUSY: u32 = 25;

/// Follows the pictures until told to end.
pub(super) async fn run(
    control: Control,
    mut orders: mpsc::Receiver<Order>,
    show: watch::Sender<Arc<View>>,
) {
    let mut pictures = control.watch();
    let mut life = Life::new(control.events().clone());
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut alive = true;
    loop {
        tokio::select! {
            order = orders.recv() => {
                let Some(Order { end, done }) = order else { return };
                life.end(end, &control.picture().config);
                show.send_replace(Arc::new(View::default()));
                // Whoever asked may be gone.
                let _ = done.send(());
                return;
            }
            changed = pictures.changed(), if alive => match changed {
                Ok(()) => life.dirty = true,
                Err(_) => alive = false,
            },
            news = life.news() => life.hear(news),
            _ = tick.tick() => life.tick += 1,
        }
        let picture = pictures.borrow_and_update().clone();
        if picture.leaving {
            continue;
        }
        if life.step(&picture).await {
            show.send_replace(Arc::new(life.view.clone()));
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
    facts: Facts,
    view: View,
    told: Option<String>,
    /// Something changed that the maps must follow.
    dirty: bool,
    /// Links, addresses or routes changed.
    moved: bool,
    tick: u32,
    done: u32,
}

impl Life {
    fn new(events: Events) -> Life {
        let now = Instant::now();
        Life {
            events,
            site: None,
            kernel: None,
            origin: now,
            opened: now,
            addresses: Vec::new(),
            facts: Facts::default(),
            view: View::default(),
            told: None,
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
        if self.site.is_none() && (self.dirty || self.tick.is_multiple_of(AGAIN)) {
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
        }
        if self.dirty || self.facts.minute != facts::minute(SystemTime::now()) {
            self.change(picture).await;
        }
        if fresh {
            self.ask().await;
            self.stand(config);
        }
        if fresh && self.tick.is_multiple_of(SWEEP) {
            self.sweep(picture);
        }
        fresh
    }

    /// No service forwards packets: what is left of earlier ones goes.
    fn nothing(&mut self, config: &Config) -> bool {
        if !self.dirty {
            return false;
        }
        self.dirty = false;
        self.kernel = None;
        let removed = match self.site.take() {
            Some(site) => site.remove().map(|()| true),
            None => remove_pinned(&config.packets.pins),
        };
        match removed {
            Ok(true) => self.events.info("packets-removed", "no service forwards packets any more"),
            Ok(false) => {}
            Err(error) => self.tell(Some(chain(&error))),
        }
        self.view = View::default();
        true
    }

    fn open(&mut self, config: &Config) {
        match Site::open(config) {
            Ok(site) => {
                let how = if site.adopted() { "taken over with its connections" } else { "new" };
                self.events.info("packets-open", format!("the packet plane is {how}"));
                (self.view.broken, self.told) = (None, None);
                (self.view.adopted, self.view.memory) = (site.adopted(), site.memory());
                self.site = Some(site);
                self.opened = Instant::now();
                (self.dirty, self.moved) = (true, true);
            }
            Err(error) => {
                let why = chain(&error);
                self.view.broken = Some(why.clone());
                self.tell(Some(why));
            }
        }
    }

    /// Reads links, addresses and neighbours anew, and asks for every way.
    async fn look(&mut self, config: &Config) {
        let (Some(kernel), Some(site)) = (&self.kernel, &mut self.site) else { return };
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
                site.hops.links(links);
            }
            Err(error) => self.events.warn("packets-kernel", error.to_string()),
        }
        let requests = site.hops.reroute();
        self.carry_out(requests).await;
    }

    /// Brings the maps to the picture, and learns the ways that it needs.
    async fn change(&mut self, picture: &Picture) {
        self.facts.minute = facts::minute(SystemTime::now());
        self.facts.broken = None;
        for _ in 0..2 {
            self.dirty = false;
            let Some(site) = &mut self.site else { return };
            let done = site.change(&picture.snapshot, &picture.config, &self.facts);
            self.tell(done.err().map(|error| chain(&error)));
            // Ways may bring news that the plan needs: our address towards a server.
            self.ask().await;
            if !self.dirty {
                break;
            }
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

    /// Stands before the interfaces, once the ways are known or have had their time.
    fn stand(&mut self, config: &Config) {
        let Some(site) = &mut self.site else { return };
        let settled = site
            .hops
            .servers()
            .all(|ip| site.hops.state(ip).is_some_and(|state| state != l4::hops::State::Trying));
        if !settled && !site.adopted() && self.opened.elapsed() < READY {
            return;
        }
        let returns: BTreeSet<IpAddr> = facts::returns(config);
        let links = site.hops.all_links().clone();
        let names = attach::interfaces(config, &links, &self.addresses, &site.hops, &returns);
        let addresses = &self.addresses;
        let describe = |index: u32| {
            let (addr4, addr6) = attach::own(index, addresses);
            let mtu = links.get(&index).map_or(0, |link: &Link| link.mtu);
            abi::Interface { mtu, addr4, addr6, ..abi::Interface::default() }
        };
        let views = site.attach(&names, config.packets.mode, describe);
        for view in views.iter().filter(|view| !self.view.interfaces.contains(view)) {
            self.events.info("packets-interface", sentence(view));
        }
        let none = views.iter().all(|view| view.mode.is_none());
        self.view.interfaces = views;
        self.view.broken = none.then(|| match self.view.interfaces.first() {
            Some(view) => format!("no interface takes packets: {}", sentence(view)),
            None => {
                "no interface takes packets: name them in `interfaces` of `[packets]`".to_owned()
            }
        });
    }

    fn sweep(&mut self, picture: &Picture) {
        let Some(site) = &mut self.site else { return };
        let services: Vec<u32> =
            picture.config.services.keys().filter_map(|name| site.planner.service(name)).collect();
        let swept = site.sweep(facts::tick(), &services);
        match swept.and_then(|()| site.counts(&services)) {
            Ok(counts) => {
                let sample = Sample { at: Instant::now(), counts };
                shows::keep(&mut self.view, sample);
                shows::fill(&mut self.view, site, picture);
                self.tell(None);
            }
            Err(error) => self.tell(Some(chain(&error))),
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

    fn end(&mut self, end: End, config: &Config) {
        let site = self.site.take();
        if end == End::Detach {
            return;
        }
        let removed = match site {
            Some(site) => site.remove().map(|()| true),
            None => remove_pinned(&config.packets.pins),
        };
        if let Err(error) = removed {
            self.events.error("packets-failed", chain(&error));
        }
    }
}

fn sentence(view: &InterfaceView) -> String {
    match (&view.mode, &view.problem) {
        (Some(mode), _) => format!("{}: attached, {mode}", view.name),
        (None, Some(problem)) => problem.clone(),
        (None, None) => format!("{}: not attached", view.name),
    }
}
