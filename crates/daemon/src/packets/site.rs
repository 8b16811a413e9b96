//! The open packet plane with everything that keeps it true: planner, next hops, interfaces, sweep.
//!
//! It is driven by `task`; each method does one thing now.

mod place;
mod told;

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use bpf::{Dispatcher, Home, Mode, Slot};
use l4::abi::Notice;
use l4::counts::{Counts, Outcomes};
use l4::hops::{Hops, Request};
use l4::insight::Watcher;
use l4::notices::Notices;
use l4::plan::{Planner, facts::Facts};
use l4::replica::Replica;
use l4::sweep::{Census, Sweeper};
use l4::write::Write;
use l4::{Plane, Sizes, abi, apply};
use model::config::Config;
use model::insight::{Change, Follow};
use model::moment::Moment;
use model::snapshot::Snapshot;

use super::fragmenter::{Fragmenter, FragmenterError, Sums};
use super::view::{InsightView, InterfaceView};
use crate::event::Events;
use crate::pins;

/// The open plane.
pub struct Site {
    home: Home,
    dispatcher: Dispatcher,
    plane: Plane,
    sweeper: Sweeper,
    /// For replication, once there is a heartbeat.
    replica: OnceCell<Arc<Replica>>,
    watcher: Watcher,
    follow: Follow,
    notices: Notices,
    fragmenter: Option<Fragmenter>,
    /// Packets of services and servers that are gone since this process began, and of those before it.
    gone: Outcomes,
    gone_before: Option<u64>,
    installed: bool,
    sizes: Sizes,
    /// How to change the maps.
    pub planner: Planner,
    /// Ways to servers.
    pub hops: Hops,
    /// What the sweep counted last.
    pub census: Census,
    /// Clients that stick to servers that drain and keep them, by index, as the sweep counted last.
    pub stuck: HashMap<u32, u32>,
    /// Services that are not forwarded, and why.
    pub obstacles: BTreeMap<String, String>,
    known: BTreeMap<IpAddr, abi::Way>,
    attached: BTreeMap<String, (Mode, u32)>,
    /// Interfaces at which generic mode stands for native, and why.
    fallen: Option<(BTreeSet<String>, String)>,
    /// Interfaces from which another program had taken ours.
    pub taken_off: Vec<String>,
    written: HashMap<u32, abi::Interface>,
    /// Interfaces whose drivers lose what is sent, by index; `None`: what the process before left.
    refusing: Option<BTreeSet<u32>>,
}

/// Why the plane is not open.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Rights, kernel or the directory for pins.
    #[error(transparent)]
    Home(#[from] bpf::HomeError),
    /// The dispatcher.
    #[error(transparent)]
    Attach(#[from] bpf::AttachError),
    /// The plane itself.
    #[error(transparent)]
    Plane(#[from] l4::OpenError),
    /// The maps cannot be read.
    #[error(transparent)]
    Table(#[from] bpf::TableError),
    /// The tables cannot be laid into memory.
    #[error("the tables of connections cannot be laid into memory: {0}")]
    Map(#[source] io::Error),
}

impl Site {
    /// Opens the plane under a configuration, or takes over the one that runs.
    ///
    /// # Errors
    /// See `OpenError`; a plane that runs goes on.
    pub fn open(config: &Config) -> Result<Site, OpenError> {
        let home = pins::Plane::Packets.claim(config)?;
        let dispatcher = Dispatcher::open(&home)?;
        let sizes = Sizes::of(config);
        let plane = Plane::open(&home, &sizes, false)?;
        let mut planner = Planner::new(&apply::capacity(&plane));
        let mut known = BTreeMap::new();
        if plane.adopted() {
            let found = apply::found(&plane)?;
            known = apply::ways(&plane, &found)?;
            planner.recover(found);
        }
        let sweeper = Sweeper::new(&plane).map_err(OpenError::Map)?;
        let watcher = Watcher::new(&plane).map_err(OpenError::Map)?;
        let notices = Notices::open(&plane).map_err(l4::OpenError::from)?;
        let gone_before = (!plane.adopted()).then_some(0);
        Ok(Site {
            home,
            dispatcher,
            plane,
            sweeper,
            replica: OnceCell::new(),
            watcher,
            follow: Follow::default(),
            notices,
            fragmenter: None,
            gone: Outcomes::new(),
            gone_before,
            installed: false,
            sizes,
            planner,
            hops: Hops::default(),
            census: Census::default(),
            stuck: HashMap::new(),
            obstacles: BTreeMap::new(),
            known,
            attached: BTreeMap::new(),
            fallen: None,
            taken_off: Vec::new(),
            written: HashMap::new(),
            refusing: None,
        })
    }

    /// Whether the tables were there before.
    pub fn adopted(&self) -> bool {
        self.plane.adopted()
    }

    /// Says so where the tables will not outlive the process.
    pub fn warn(&self, events: &Events) {
        pins::Plane::Packets.warn(&self.home, events);
    }

    /// Bytes that the tables take.
    pub fn memory(&self) -> u64 {
        self.sizes.memory()
    }

    /// Sends fragments from now on where tunnels have no room for a packet, or does not any more.
    ///
    /// # Errors
    /// A ring, a socket or a thread is refused: senders are told of such packets, and nothing else is missing.
    pub fn make_fragments(&mut self, wanted: bool) -> Result<(), FragmenterError> {
        if !wanted {
            self.fragmenter = None;
        } else if self.fragmenter.is_none() {
            self.fragmenter = Some(Fragmenter::start(self.plane.oversized()?)?);
        }
        Ok(())
    }

    /// What became of packets that were to be sent as fragments, since somebody makes some.
    pub fn fragments(&self) -> Sums {
        self.fragmenter.as_ref().map(Fragmenter::sums).unwrap_or_default()
    }

    /// Brings the maps to what a snapshot says.
    ///
    /// # Errors
    /// A map refused; what was written before stands.
    pub fn change(
        &mut self,
        snapshot: &Snapshot,
        config: &Config,
        facts: &Facts,
    ) -> Result<(), bpf::TableError> {
        let change = self.planner.change(snapshot, &config.packets, facts);
        self.carry_out(&change.writes)?;
        let packets = |name: &String| {
            config.services.get(name).is_some_and(|service| service.packets.is_some())
        };
        // A service that is in force has no obstacle any more; one that was not looked at keeps its own.
        self.obstacles.retain(|name, _| packets(name) && self.planner.service(name).is_none());
        self.obstacles.extend(change.obstacles);
        if let Some(ways) = self.planner.new_ways() {
            self.hops.want(&ways, &self.known);
        }
        Ok(())
    }

    /// Writes ways that changed.
    ///
    /// # Errors
    /// A map refused.
    pub fn write_ways(&mut self) -> Result<(), bpf::TableError> {
        let writes: Vec<Write> =
            self.hops.changed().into_iter().map(|(at, way)| Write::Way(at, way)).collect();
        apply::apply(&self.plane, &writes)
    }

    /// What is to be asked about next hops.
    pub fn ask(&mut self, now: Moment) -> Vec<Request> {
        self.hops.tick(now)
    }

    /// Puts this build's program in place of what runs; once, after the maps are right.
    fn install(&mut self) -> Result<(), OpenError> {
        if self.installed {
            return Ok(());
        }
        let program = self.plane.program().map_err(l4::OpenError::from)?;
        self.dispatcher.install(Slot::Balance, &program)?;
        self.installed = true;
        Ok(())
    }

    fn describe(&mut self, index: u32, value: abi::Interface) -> Result<(), bpf::TableError> {
        if self.written.get(&index) != Some(&value) {
            self.plane.interfaces.set(&index, &value)?;
            self.written.insert(index, value);
        }
        Ok(())
    }

    /// What is new of watched connections, one in `sample`; `None`: none is watched.
    ///
    /// # Errors
    /// A map refused.
    pub fn watched(
        &mut self,
        sample: Option<u32>,
        now: u64,
    ) -> Result<(Vec<Change>, InsightView), bpf::TableError> {
        if l4::insight::switch(&self.plane, &self.watcher, sample)? {
            self.follow.clear();
        }
        let seen = if sample.is_some() { self.watcher.read() } else { Vec::new() };
        let changes = self.follow.changes(seen, now);
        let drawn = l4::insight::drawn(&self.plane)?;
        Ok((changes, InsightView { sample, watched: self.follow.watched(), drawn }))
    }

    /// Counts connections, and clients that stick to the servers of these indexes, and gives back what servers that left
    /// had.
    ///
    /// # Errors
    /// A map refused.
    pub fn sweep(
        &mut self,
        tick: u32,
        services: &[u32],
        keeping: &BTreeSet<u32>,
    ) -> Result<(), bpf::TableError> {
        self.stuck = self.sweeper.stuck(keeping, tick);
        let census = self.sweeper.census(tick);
        let owners = self.planner.owners();
        let arrivals = l4::sweep::gauge(&self.plane, &census, &owners, services)?;
        let (change, forgotten) = self.planner.reclaim(&census, &arrivals);
        self.sweeper.unstick(&forgotten);
        self.carry_out(&change.writes)?;
        self.census = census;
        Ok(())
    }

    /// Carries writes out; what services and servers that go have counted is kept.
    fn carry_out(&mut self, writes: &[Write]) -> Result<(), bpf::TableError> {
        let (mut services, mut servers) = (Vec::new(), Vec::new());
        for write in writes {
            match write {
                Write::DropService(at) => services.push(*at),
                Write::DropServer(at) => servers.push(*at),
                _ => {}
            }
        }
        if !services.is_empty() || !servers.is_empty() {
            let counts = l4::counts::read(&self.plane, &services, &servers)?;
            l4::counts::add(&mut self.gone, &counts.of_services());
        }
        apply::apply(&self.plane, writes)
    }

    /// Reads the counters of these services and of all servers, with the services that those are of.
    ///
    /// # Errors
    /// A map cannot be read.
    pub fn counts(&mut self, services: &[u32]) -> Result<Counts, bpf::TableError> {
        let owners = self.planner.owners();
        let servers: BTreeSet<u32> = owners.keys().copied().collect();
        let services: BTreeSet<u32> = services.iter().chain(owners.values()).copied().collect();
        let (services, servers): (Vec<u32>, Vec<u32>) =
            (services.into_iter().collect(), servers.into_iter().collect());
        let mut counts = l4::counts::read(&self.plane, &services, &servers)?;
        counts.gone = self.gone.clone();
        let missing = counts.received.saturating_sub(counts.accounted());
        counts.gone_before = *self.gone_before.get_or_insert(missing);
        Ok(counts)
    }

    /// What the datapath has told since the last call.
    pub fn heard(&self) -> Vec<Notice> {
        self.notices.take()
    }

    /// Removes every trace: interfaces, programs, tables.
    ///
    /// # Errors
    /// A pin cannot be removed.
    pub fn remove(self) -> Result<(), OpenError> {
        take_down(&self.dispatcher, &self.home)
    }
}

/// Removes every trace of a plane that is not open here, if there is one.
///
/// # Errors
/// A pin cannot be removed.
pub fn remove_pinned(config: &Config) -> Result<bool, OpenError> {
    let there = config.packets.pins.join(l4::plane::TENANT).exists();
    // What another daemon left stays for that one, though it may be dead at the moment.
    if !there || !pins::Plane::Packets.is_own(config) {
        return Ok(false);
    }
    let home = pins::Plane::Packets.claim(config)?;
    take_down(&Dispatcher::open(&home)?, &home)?;
    Ok(true)
}

fn take_down(dispatcher: &Dispatcher, home: &Home) -> Result<(), OpenError> {
    for name in dispatcher.interfaces()? {
        dispatcher.detach(&name)?;
    }
    dispatcher.uninstall(Slot::Balance)?;
    home.clear()?;
    Ok(())
}

fn failed(name: &str, problem: &str) -> InterfaceView {
    InterfaceView { name: name.to_owned(), mode: None, problem: Some(problem.to_owned()) }
}

/// An error with what it came from.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let more = inner.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        source = inner.source();
    }
    text
}
