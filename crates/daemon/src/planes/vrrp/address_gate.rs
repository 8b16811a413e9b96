//! The gate of the dead-man timer as the groups use it: opened when the first group wants it, and reported when it
//! cannot be loaded. What the packet plane forwards past it has the same deadlines in a map of its own, whenever there
//! is a plane.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use bpf::{AddressGate, BlockedPackets, GateError, MapError, PinDirectory};
use l4::address_leases::{AddressLeaseError, AddressLeases};
use model::config::Config;
use model::monotonic_time::MonotonicTime;

use crate::planes::packets::open_plane::error_chain;
use crate::util::bpf_pins;
use crate::util::event::EventLog;

/// The loaded gate with the directory that has its pins.
#[derive(Debug)]
struct OpenGate {
    gate: AddressGate,
    pin_directory: PinDirectory,
}

/// The gate, or why there is none.
#[derive(Debug, Default)]
pub struct AddressGates {
    open_gate: Option<OpenGate>,
    /// That of the packet plane, if there is one.
    packet_plane: Option<AddressLeases>,
    /// Until when packets of each shared address are forwarded: 0 for addresses that another member holds.
    until: BTreeMap<IpAddr, MonotonicTime>,
    /// Interfaces to which it is attached.
    attached: BTreeSet<String>,
    /// Why it does not stand, for people.
    pub last_error: Option<String>,
}

impl AddressGates {
    /// Opens the gate; on failure the reason is stored.
    pub fn open(&mut self, config: &Config, events: &EventLog) {
        if self.open_gate.is_some() {
            return;
        }
        let opened = bpf_pins::PinnedPlane::Gate.claim(config).map_err(GateError::from);
        let open = |pin_directory| {
            Ok(OpenGate { gate: AddressGate::open(&pin_directory)?, pin_directory })
        };
        match opened.and_then(open) {
            Ok(open) => {
                bpf_pins::PinnedPlane::Gate.warn_if_not_persistent(&open.pin_directory, events);
                self.open_gate = Some(open);
                self.last_error = None;
            }
            Err(error) => self.last_error = Some(error_chain(&error)),
        }
    }

    /// Writes the times to the packet plane if that is a new one.
    pub fn follow_packet_plane(&mut self, config: &Config) {
        let packets = &config.packets.pins;
        if !bpf_pins::PinnedPlane::Packets.is_own(config) {
            // Another daemon's packet plane follows that daemon's groups.
            self.packet_plane = None;
            return;
        }
        if self.packet_plane.as_ref().is_some_and(|plane| plane.is_current(packets)) {
            return;
        }
        self.packet_plane = None;
        let told = AddressLeases::open(packets).and_then(|found| {
            let Some(plane) = found else { return Ok(None) };
            plane.retain(&self.until.keys().copied().collect())?;
            for (ip, until) in &self.until {
                plane.lease_address(*ip, until.0)?;
            }
            Ok::<_, AddressLeaseError>(Some(plane))
        });
        match told {
            Ok(plane) => self.packet_plane = plane,
            Err(error) => self.last_error = Some(error_chain(&error)),
        }
    }

    /// Sets the gated addresses; those that this member does not hold are closed.
    pub fn retain(&mut self, gated: &BTreeSet<IpAddr>) {
        if self.until.keys().eq(gated) {
            return;
        }
        self.until.retain(|ip, _| gated.contains(ip));
        let kept = self.packet_plane.as_ref().map_or(Ok(()), |plane| plane.retain(gated));
        self.record_result(kept);
        for ip in gated {
            if !self.until.contains_key(ip) {
                // The lease of the previous process applies until it expires.
                let said = self
                    .packet_plane
                    .as_ref()
                    .and_then(|plane| plane.leased_until(*ip).ok().flatten());
                self.set_forwarding(*ip, MonotonicTime(said.unwrap_or(0)));
            }
        }
    }

    /// Sets until when the packet plane forwards.
    fn set_forwarding(&mut self, ip: IpAddr, until: MonotonicTime) {
        self.until.insert(ip, until);
        let held =
            self.packet_plane.as_ref().map_or(Ok(()), |plane| plane.lease_address(ip, until.0));
        self.record_result(held);
    }

    fn record_result(&mut self, done: Result<(), MapError>) {
        if let Err(error) = done {
            self.last_error = Some(error_chain(&error));
        }
    }

    /// Attaches the gate to these interfaces; returns those from which it had been detached.
    pub fn attach<'a>(&mut self, interfaces: impl IntoIterator<Item = &'a str>) -> Vec<String> {
        let Some(OpenGate { gate, .. }) = &self.open_gate else { return Vec::new() };
        let mut failed = None;
        let mut taken_off = Vec::new();
        for name in interfaces {
            match gate.attach(name) {
                // One that is new to this process may have been there before, or not.
                Ok(new) => {
                    let known = !self.attached.insert(name.to_owned());
                    if new && known {
                        taken_off.push(name.to_owned());
                    }
                }
                Err(error) => failed = failed.or_else(|| Some(error_chain(&error))),
            }
        }
        self.last_error = failed;
        taken_off
    }

    /// The addresses may be answered for until then.
    pub fn lease_addresses(&mut self, addresses: &[IpAddr], until: MonotonicTime) {
        for ip in addresses {
            self.set_forwarding(*ip, until);
        }
        self.for_each_address(addresses, |gate, ip| gate.lease_address(ip, until.0));
    }

    /// The addresses are no longer set here: only the packet plane must still treat them as another member's.
    pub fn remove_addresses(&mut self, addresses: &[IpAddr]) {
        self.for_each_address(addresses, AddressGate::remove_address);
    }

    /// Whether all of the addresses may be answered for now.
    pub fn are_leased(&self, addresses: &[IpAddr], now: MonotonicTime) -> bool {
        let Some(OpenGate { gate, .. }) = &self.open_gate else { return false };
        let held =
            |ip: &IpAddr| gate.leased_until(*ip).ok().flatten().is_some_and(|until| now.0 < until);
        addresses.iter().all(held)
    }

    /// Until when all of the addresses may be answered for.
    pub fn leased_until(&self, addresses: &[IpAddr]) -> MonotonicTime {
        let Some(OpenGate { gate, .. }) = &self.open_gate else { return MonotonicTime::default() };
        let until = |ip: &IpAddr| MonotonicTime(gate.leased_until(*ip).ok().flatten().unwrap_or(0));
        addresses.iter().map(until).min().unwrap_or_default()
    }

    /// Packets that the gate blocked.
    pub fn blocked_packets(&self) -> Option<BlockedPackets> {
        self.open_gate.as_ref().and_then(|open| open.gate.blocked_packets().ok())
    }

    /// Removes every trace of it.
    pub fn remove(&mut self, interfaces: impl Iterator<Item = String>) {
        let Some(OpenGate { gate, pin_directory }) = self.open_gate.take() else { return };
        self.attached.clear();
        for interface in interfaces {
            // The links go with their pins below.
            let _ = gate.detach(&interface);
        }
        self.last_error = pin_directory.clear().err().map(|error| error_chain(&error));
    }

    fn for_each_address(
        &mut self,
        addresses: &[IpAddr],
        act: impl Fn(&AddressGate, IpAddr) -> Result<(), GateError>,
    ) {
        let Some(OpenGate { gate, .. }) = &self.open_gate else { return };
        let failed = addresses.iter().find_map(|ip| act(gate, *ip).err());
        if let Some(error) = failed {
            self.last_error = Some(error_chain(&error));
        }
    }
}
