//! What has to be done to listeners so that one state becomes the next, in order. Pure.
//!
//! Snapshots are not steps: there is one per change, installed between closing and opening.

use std::net::SocketAddr;

use l7::socket::needs_reopening;
use model::config::SocketOptions;
use model::id::ListenerId;

use super::applied_state::AppliedState;

/// A step for one listening address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenerStep {
    /// Open an address on which this process does not listen yet.
    Open { address: SocketAddr },
    /// Its sockets get other settings and stay.
    SetOptions {
        address: SocketAddr,
        /// The settings before, to go back to.
        before: SocketOptions,
    },
    /// Its settings take other sockets: new ones are opened beside, then the old ones are closed.
    Reopen { address: SocketAddr, old: ListenerId },
    /// Its sockets stay and go to another service.
    Rebind {
        address: SocketAddr,
        old: ListenerId,
        /// The settings before, when they differ.
        before: Option<SocketOptions>,
    },
    /// Close an address that is no longer configured.
    Close { address: SocketAddr, old: ListenerId },
}

impl ListenerStep {
    pub fn address(&self) -> SocketAddr {
        match self {
            ListenerStep::Open { address }
            | ListenerStep::SetOptions { address, .. }
            | ListenerStep::Reopen { address, .. }
            | ListenerStep::Rebind { address, .. }
            | ListenerStep::Close { address, .. } => *address,
        }
    }

    /// In a sentence, as it would be done.
    pub fn describe(&self) -> String {
        match self {
            ListenerStep::Open { address } => format!("open {address}"),
            ListenerStep::SetOptions { address, .. } => {
                format!("change the settings of {address}; open connections keep theirs")
            }
            ListenerStep::Reopen { address, .. } => {
                format!("open {address} anew beside the old sockets, then close those")
            }
            ListenerStep::Rebind { address, .. } => format!("give {address} to another service"),
            ListenerStep::Close { address, .. } => {
                format!("close {address} after taking what waits; open connections stay")
            }
        }
    }
}

/// The steps from `old` to `new`. Listeners that are opened anew get a new id in `new`.
pub fn listener_steps(old: &AppliedState, new: &mut AppliedState) -> Vec<ListenerStep> {
    let mut steps = Vec::new();
    for (address, before) in &old.listeners {
        if !new.listeners.contains_key(address) {
            steps.push(ListenerStep::Close { address: *address, old: before.id });
        }
    }
    let addresses: Vec<SocketAddr> = new.listeners.keys().copied().collect();
    for address in addresses {
        let Some(after) = new.listeners.get(&address) else { continue };
        let Some(before) = old.listeners.get(&address) else {
            steps.push(ListenerStep::Open { address });
            continue;
        };
        let moved = before.service != after.service;
        let same_settings = same_settings(&before.options, &after.options);
        if needs_reopening(&before.options, &after.options) || before.quic != after.quic {
            if !moved {
                new.renew_listener(&address);
            }
            steps.push(ListenerStep::Reopen { address, old: before.id });
        } else if moved {
            let before_options = (!same_settings).then(|| before.options.clone());
            steps.push(ListenerStep::Rebind { address, old: before.id, before: before_options });
        } else if !same_settings {
            steps.push(ListenerStep::SetOptions { address, before: before.options.clone() });
        }
    }
    steps
}

/// Whether a socket would be set the same way; the hint about a path is only for warnings.
fn same_settings(a: &SocketOptions, b: &SocketOptions) -> bool {
    a == &SocketOptions { path: a.path, ..b.clone() }
}
