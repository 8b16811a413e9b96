//! Writes into the kernel what follows from how uplinks stand: programs, rules, tables and translations, each only as far as
//! it differs from what was written. It decides nothing.

use std::io;
use std::path::{Path as File, PathBuf};

use bpf::Home;
use links::uplink::mark::{Marks, UPLINKS, hash};
use links::uplink::plan::{Ground, Plan};
use links::uplink::plane::{Counts, Plane};
use links::uplink::table::Settings;
use links::uplink::translate::{Translation, change};
use links::uplink::wheel::{Candidate, Wheel};
use model::config::{Config, Uplinks};

use super::path::Path;
use super::routes::Netlink;
use super::{sys, talk};
use crate::event::Events;
use crate::packets::site::chain;
use crate::pins;

/// Where the kernel's list of mounts is.
const MOUNTS: &str = "/proc/self/mountinfo";
/// `NETLINK_NETFILTER`.
const NETFILTER: isize = 12;

/// The programs, and what was written.
#[derive(Debug, Default)]
pub(super) struct Written {
    plane: Option<(Plane, Home)>,
    settings: Option<Settings>,
    wheels: [Option<Wheel>; 2],
    inside: Vec<String>,
    own: bool,
    plan: Option<Plan>,
    /// What stood when that came to be doubted.
    stood: Option<Plan>,
    /// Rules and routes that stood and were gone.
    pub lost: usize,
    /// Interfaces from which another program had taken ours.
    pub taken_off: Vec<String>,
    translated: [Option<Vec<Translation>>; 2],
    /// What does not stand, in sentences.
    pub troubles: Vec<String>,
}

impl Written {
    /// Loads the programs, unless they are. Whose number each uplink's was.
    pub fn open(&mut self, config: &Config, events: &Events) -> Vec<u64> {
        self.troubles.clear();
        if self.plane.is_none() {
            match load(config, events) {
                Ok(plane) => self.plane = Some(plane),
                Err(why) => {
                    self.troubles.push(format!("no uplink is drawn for single connections: {why}"))
                }
            }
        }
        let owners = self.plane.as_ref().map(|(plane, _)| plane.owners());
        owners.and_then(Result::ok).unwrap_or_default()
    }

    /// Everything is to be written again: somebody else may have changed it.
    pub fn doubt(&mut self) {
        self.doubt_routes();
        (self.settings, self.wheels) = (None, [None, None]);
        (self.translated, self.own) = ([None, None], false);
    }

    /// Rules and routes are to be compared with the kernel's.
    pub fn doubt_routes(&mut self) {
        self.stood = self.plan.take().or(self.stood.take());
    }

    /// What the programs go by.
    pub fn programs(&mut self, config: &Uplinks, paths: &[Path]) {
        let Some((plane, _)) = &self.plane else { return };
        let mut troubles = Vec::new();
        if let Err(error) = own_numbers(plane, paths) {
            troubles.push(error);
        }
        for (at, v6) in [(0, false), (1, true)] {
            let wheel = wheel(paths, v6);
            if self.wheels[at].as_ref() != Some(&wheel) {
                match plane.turn(v6, &wheel) {
                    Ok(()) => self.wheels[at] = Some(wheel),
                    Err(error) => troubles.push(chain(&error)),
                }
            }
        }
        match settings(config, paths) {
            Ok(settings) if self.settings.as_ref() == Some(&settings) => {}
            Ok(settings) => match plane.set(&settings) {
                Ok(()) => self.settings = Some(settings),
                Err(error) => troubles.push(chain(&error)),
            },
            Err(error) => troubles.push(format!("this network namespace has no number: {error}")),
        }
        self.troubles.extend(troubles);
    }

    /// The programs' places: sockets, and interfaces inside.
    pub fn places(&mut self, config: &Uplinks) {
        let Some((plane, _)) = &self.plane else { return };
        if !self.own {
            match groups().ok_or_else(|| "version 2 of control groups is not mounted".to_owned()) {
                Ok(group) => match plane.own(&group) {
                    Ok(()) => self.own = true,
                    Err(error) => self.troubles.push(alone(&chain(&error))),
                },
                Err(why) => self.troubles.push(alone(&why)),
            }
        }
        for gone in self.inside.iter().filter(|name| !config.inside.contains(name)) {
            if let Err(error) = plane.leave(gone) {
                self.troubles.push(chain(&error));
            }
        }
        let before = std::mem::take(&mut self.inside);
        for name in &config.inside {
            match plane.inside(name) {
                Ok(new) => {
                    if new && before.contains(name) {
                        self.taken_off.push(name.clone());
                    }
                    self.inside.push(name.clone());
                }
                Err(error) => self.troubles.push(format!(
                    "what comes in by {name} is not shared for single connections: {}",
                    chain(&error)
                )),
            }
        }
    }

    /// Rules and tables.
    pub async fn routes(&mut self, config: &Uplinks, paths: &[Path], netlink: &Netlink) {
        let ground = Ground { marks: marks(config), table: config.table, rule: config.rule };
        let planned: Vec<_> = paths.iter().filter_map(Path::planned).collect();
        let to = Plan::of(ground, &planned);
        let there = match self.plan.take() {
            Some(plan) => Ok(plan),
            None => netlink.there().await,
        };
        let mut there = match there {
            Ok(there) => there,
            Err(error) => return self.troubles.push(format!("no route is written: {error}")),
        };
        if let Some(stood) = self.stood.take() {
            self.lost += to.lost(&stood, &there);
        }
        let mut whole = true;
        for step in to.steps(&there) {
            match netlink.carry(&step).await {
                Ok(()) => there.take(&step),
                Err(error) => {
                    whole = false;
                    self.troubles.push(format!("a route or rule is refused: {error} ({step:?})"));
                }
            }
        }
        self.plan = whole.then_some(there);
    }

    /// Whose source is translated.
    pub fn translations(&mut self, config: &Uplinks, paths: &[Path]) {
        let marks = marks(config);
        for (at, v6) in [(0, false), (1, true)] {
            let wanted = config.translate.covers(v6) && !config.inside.is_empty();
            let of = |path: &Path| {
                let source = path.source.filter(|source| wanted && source.is_ipv6() == v6)?;
                let (mark, mask) = (marks.of(path.number), marks.mask());
                Some(Translation { mark, mask, ifindex: path.ifindex(), source })
            };
            let all: Vec<Translation> = paths.iter().filter_map(of).collect();
            if self.translated[at].as_ref() == Some(&all) {
                continue;
            }
            match talk::talk(NETFILTER, &change(v6, &all)) {
                Ok(_) => self.translated[at] = Some(all),
                // Without nf_tables there is nothing to be removed either.
                Err(_) if all.is_empty() => self.translated[at] = Some(all),
                Err(error) => self.troubles.push(format!(
                    "sources are not translated, which needs nf_tables with NAT in the kernel: {error}"
                )),
            }
        }
    }

    /// What was counted of an uplink.
    pub fn counts(&self, number: u8) -> Counts {
        let counts = self.plane.as_ref().map(|(plane, _)| plane.counts(number));
        counts.and_then(Result::ok).unwrap_or_default()
    }

    /// Leaves no trace. What is left all the same is returned, in sentences.
    pub async fn end(&mut self, pins: Option<&File>, netlink: &Netlink) -> Vec<String> {
        let mut left = Vec::new();
        match netlink.there().await {
            Ok(there) => {
                for step in Plan::default().steps(&there) {
                    if let Err(error) = netlink.carry(&step).await {
                        left.push(format!("{step:?} is left: {error}"));
                    }
                }
            }
            Err(error) => left.push(format!("rules and routes are left: {error}")),
        }
        for v6 in [false, true] {
            // Without nf_tables there is nothing to be removed.
            let _ = talk::talk(NETFILTER, &change(v6, &[]));
        }
        if let Some(pins) = pins.filter(|pins| pins.exists())
            && let Err(error) = Home::open(pins).and_then(|home| home.clear())
        {
            left.push(chain(&error));
        }
        *self = Written::default();
        left
    }
}

/// The wheel of a family.
pub(super) fn wheel(paths: &[Path], v6: bool) -> Wheel {
    let of = |path: &&Path| path.gateway.is_ipv6() == v6;
    let all: Vec<Candidate> = paths.iter().filter(of).map(Path::candidate).collect();
    Wheel::of(&all)
}

/// The marks as configured.
pub(super) fn marks(config: &Uplinks) -> Marks {
    Marks { bit: config.mark_bit }
}

fn alone(why: &str) -> String {
    format!("own connections go by a hash of their addresses, not one by one: {why}")
}

fn load(config: &Config, events: &Events) -> Result<(Plane, Home), String> {
    let home = pins::Plane::Uplinks.claim(config).map_err(|error| chain(&error))?;
    let plane = Plane::open(&home).map_err(|error| chain(&error))?;
    pins::Plane::Uplinks.warn(&home, events);
    Ok((plane, home))
}

fn own_numbers(plane: &Plane, paths: &[Path]) -> Result<(), String> {
    for path in paths {
        let owned = plane.own_number(path.number, hash(&path.config.name));
        owned.map_err(|error| chain(&error))?;
    }
    Ok(())
}

fn settings(config: &Uplinks, paths: &[Path]) -> io::Result<Settings> {
    let mut alive = [0; 2];
    let mut interfaces = [0; UPLINKS as usize];
    let spread = [false, true].map(|v6| wheel(paths, v6).spread);
    for path in paths {
        let one = path.candidate();
        if one.stands && (one.up || spread[usize::from(path.gateway.is_ipv6())]) {
            alive[usize::from(path.gateway.is_ipv6())] |= 1 << path.number;
        }
        if let Some(to) = interfaces.get_mut(usize::from(path.number) - 1) {
            *to = path.ifindex();
        }
    }
    let stays = [false, true].map(|v6| config.translate.covers(v6));
    Ok(Settings { home: sys::home()?, marks: Some(marks(config)), alive, stays, interfaces })
}

/// Where the root of version 2 of control groups is mounted.
fn groups() -> Option<PathBuf> {
    let mounts = std::fs::read_to_string(MOUNTS).ok()?;
    mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let mut words = place.split(' ').skip(3);
        let (root, at) = (words.next()?, words.next()?);
        (kind.starts_with("cgroup2 ") && root == "/").then(|| PathBuf::from(at))
    })
}
