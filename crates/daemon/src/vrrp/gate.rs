//! The dead man's gate as the groups use it: opened when the first group wants it, and said when it cannot be had. What
//! the packet plane forwards past it has the same times in a map of its own, whenever there is a plane.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use bpf::{Gate, GateError, Home, Shut, TableError};
use l4::holds::{Holds, HoldsError};
use model::config::Config;
use model::moment::Moment;

use crate::event::Events;
use crate::packets::site::chain;
use crate::pins;

/// The gate, or why there is none.
#[derive(Debug, Default)]
pub struct Gates {
    open: Option<(Gate, Home)>,
    /// That of the packet plane, if there is one.
    plane: Option<Holds>,
    /// Until when packets of each shared address are forwarded: 0 for those that are another member's.
    until: BTreeMap<IpAddr, Moment>,
    /// Interfaces where it stood.
    attached: BTreeSet<String>,
    /// Why it does not stand, for people.
    pub broken: Option<String>,
}

impl Gates {
    /// Opens it; where that fails, why is kept.
    pub fn open(&mut self, config: &Config, events: &Events) {
        if self.open.is_some() {
            return;
        }
        let opened = pins::Plane::Gate.claim(config).map_err(GateError::from);
        match opened.and_then(|home| Ok((Gate::open(&home)?, home))) {
            Ok(open) => {
                pins::Plane::Gate.warn(&open.1, events);
                (self.open, self.broken) = (Some(open), None);
            }
            Err(error) => self.broken = Some(chain(&error)),
        }
    }

    /// Tells the packet plane the times if it is another one than before, or the first.
    pub fn follow(&mut self, config: &Config) {
        let packets = &config.packets.pins;
        if !pins::Plane::Packets.is_own(config) {
            // Another daemon's plane goes by that one's groups.
            self.plane = None;
            return;
        }
        if self.plane.as_ref().is_some_and(|plane| plane.stands(packets)) {
            return;
        }
        self.plane = None;
        let told = Holds::open(packets).and_then(|found| {
            let Some(plane) = found else { return Ok(None) };
            plane.keep(&self.until.keys().copied().collect())?;
            for (ip, until) in &self.until {
                plane.hold(*ip, until.0)?;
            }
            Ok::<_, HoldsError>(Some(plane))
        });
        match told {
            Ok(plane) => self.plane = plane,
            Err(error) => self.broken = Some(chain(&error)),
        }
    }

    /// No others than these have a gate any more; those of them that nobody holds are shut.
    pub fn keep(&mut self, gated: &BTreeSet<IpAddr>) {
        if self.until.keys().eq(gated) {
            return;
        }
        self.until.retain(|ip, _| gated.contains(ip));
        let kept = self.plane.as_ref().map_or(Ok(()), |plane| plane.keep(gated));
        self.told(kept);
        for ip in gated {
            if !self.until.contains_key(ip) {
                // What the process before said stands, until it is over.
                let said = self.plane.as_ref().and_then(|plane| plane.held(*ip).ok().flatten());
                self.pass(*ip, Moment(said.unwrap_or(0)));
            }
        }
    }

    /// Says until when the packet plane forwards.
    fn pass(&mut self, ip: IpAddr, until: Moment) {
        self.until.insert(ip, until);
        let held = self.plane.as_ref().map_or(Ok(()), |plane| plane.hold(ip, until.0));
        self.told(held);
    }

    fn told(&mut self, done: Result<(), TableError>) {
        if let Err(error) = done {
            self.broken = Some(chain(&error));
        }
    }

    /// Stands at these interfaces; those from which it had been taken off.
    pub fn attach<'a>(&mut self, interfaces: impl IntoIterator<Item = &'a str>) -> Vec<String> {
        let Some((gate, _)) = &self.open else { return Vec::new() };
        let (mut failed, mut taken_off) = (None, Vec::new());
        for name in interfaces {
            match gate.attach(name) {
                // One that is new to this process may have been there before, or not.
                Ok(new) => {
                    let known = !self.attached.insert(name.to_owned());
                    if new && known {
                        taken_off.push(name.to_owned());
                    }
                }
                Err(error) => failed = failed.or_else(|| Some(chain(&error))),
            }
        }
        self.broken = failed;
        taken_off
    }

    /// The addresses may be answered for until then.
    pub fn hold(&mut self, addresses: &[IpAddr], until: Moment) {
        for ip in addresses {
            self.pass(*ip, until);
        }
        self.each(addresses, |gate, ip| gate.hold(ip, until.0));
    }

    /// The addresses are not set here any more: only the packet plane has still to know that they are another's.
    pub fn forget(&mut self, addresses: &[IpAddr]) {
        self.each(addresses, Gate::forget);
    }

    /// Whether all of the addresses may be answered for now.
    pub fn held(&self, addresses: &[IpAddr], now: Moment) -> bool {
        let Some((gate, _)) = &self.open else { return false };
        let held = |ip: &IpAddr| gate.held(*ip).ok().flatten().is_some_and(|until| now.0 < until);
        addresses.iter().all(held)
    }

    /// Until when all of the addresses may be answered for.
    pub fn until(&self, addresses: &[IpAddr]) -> Moment {
        let Some((gate, _)) = &self.open else { return Moment::default() };
        let until = |ip: &IpAddr| Moment(gate.held(*ip).ok().flatten().unwrap_or(0));
        addresses.iter().map(until).min().unwrap_or_default()
    }

    /// What was kept from passing.
    pub fn shut(&self) -> Option<Shut> {
        self.open.as_ref().and_then(|(gate, _)| gate.shut().ok())
    }

    /// Removes every trace of it.
    pub fn remove(&mut self, interfaces: impl Iterator<Item = String>) {
        let Some((gate, home)) = self.open.take() else { return };
        self.attached.clear();
        for interface in interfaces {
            // The links go with their pins below.
            let _ = gate.detach(&interface);
        }
        self.broken = home.clear().err().map(|error| chain(&error));
    }

    fn each(&mut self, addresses: &[IpAddr], act: impl Fn(&Gate, IpAddr) -> Result<(), GateError>) {
        let Some((gate, _)) = &self.open else { return };
        let failed = addresses.iter().find_map(|ip| act(gate, *ip).err());
        if let Some(error) = failed {
            self.broken = Some(chain(&error));
        }
    }
}
