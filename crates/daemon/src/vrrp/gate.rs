//! The dead man's gate as the groups use it: opened when the first group wants it, and said when it cannot be had.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use bpf::{Gate, GateError, Home, Shut};
use model::moment::Moment;

use crate::packets::site::chain;

/// The gate, or why there is none.
#[derive(Debug, Default)]
pub struct Gates {
    open: Option<(Gate, Home)>,
    /// Why it does not stand, for people.
    pub broken: Option<String>,
}

impl Gates {
    /// Opens it; where that fails, why is kept.
    pub fn open(&mut self, packets: &Path) {
        if self.open.is_some() {
            return;
        }
        let opened = Home::open(&pins(packets)).map_err(GateError::from);
        match opened.and_then(|home| Ok((Gate::open(&home)?, home))) {
            Ok(open) => (self.open, self.broken) = (Some(open), None),
            Err(error) => self.broken = Some(chain(&error)),
        }
    }

    /// Stands at an interface.
    pub fn attach(&mut self, interface: &str) {
        let Some((gate, _)) = &self.open else { return };
        self.broken = gate.attach(interface).err().map(|error| chain(&error));
    }

    /// The addresses may be answered for until then.
    pub fn hold(&mut self, addresses: &[IpAddr], until: Moment) {
        self.each(addresses, |gate, ip| gate.hold(ip, until.0));
    }

    /// The addresses are no business of the gate any more.
    pub fn forget(&mut self, addresses: &[IpAddr]) {
        self.each(addresses, Gate::forget);
    }

    /// Whether all of the addresses may be answered for now.
    pub fn held(&self, addresses: &[IpAddr], now: Moment) -> bool {
        let Some((gate, _)) = &self.open else { return false };
        let held = |ip: &IpAddr| gate.held(*ip).ok().flatten().is_some_and(|until| now.0 < until);
        addresses.iter().all(held)
    }

    /// What was kept from passing.
    pub fn shut(&self) -> Option<Shut> {
        self.open.as_ref().and_then(|(gate, _)| gate.shut().ok())
    }

    /// Removes every trace of it.
    pub fn remove(&mut self, interfaces: impl Iterator<Item = String>) {
        let Some((gate, home)) = self.open.take() else { return };
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

/// Beside the packet plane's pins, which go when no service forwards packets.
fn pins(packets: &Path) -> PathBuf {
    let mut name = packets.file_name().unwrap_or_default().to_owned();
    name.push("-vrrp");
    packets.with_file_name(name)
}
