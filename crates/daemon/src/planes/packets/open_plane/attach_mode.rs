//! The interfaces to attach the plane to, in native or generic mode. In native mode, the plane must not send where
//! packets are lost: virtual Ethernet devices lose what XDP programs send while their peer has neither a program nor
//! GRO.

use std::collections::{BTreeMap, BTreeSet};

use bpf::{BpfAttachMode, NetworkInterface, XdpTransmitSupport};
use l4::abi;
use l4::next_hops::ServerRoute;
use model::config::AttachMode;

use super::{GenericFallback, OpenPlane, PlaneAttachment, error_chain, plane_error};
use crate::planes::packets::view::PlaneInterfaceView;

impl OpenPlane {
    /// Attaches to these interfaces and no others; errors at one do not affect the others.
    pub fn attach(
        &mut self,
        wanted: &BTreeSet<String>,
        mode: AttachMode,
        interface: impl Fn(u32) -> abi::Interface,
    ) -> Vec<PlaneInterfaceView> {
        if let Err(error) = self.install() {
            return vec![plane_error("*", &error_chain(&error))];
        }
        self.generic_fallback
            .take_if(|fallback| mode != AttachMode::Auto || fallback.interfaces != *wanted);
        let asked = match mode {
            AttachMode::Auto if self.generic_fallback.is_none() => BpfAttachMode::Auto,
            AttachMode::Native => BpfAttachMode::Native,
            AttachMode::Auto | AttachMode::Generic => BpfAttachMode::Generic,
        };
        let mut views = self.attach_in(wanted, asked, &interface);
        let native = |view: &PlaneInterfaceView| view.mode == Some("native");
        let mut losing = if views.iter().any(native) {
            self.find_lossy_interfaces(wanted)
        } else {
            BTreeSet::new()
        };
        if let Some(name) = losing.first().cloned() {
            if asked == BpfAttachMode::Auto {
                // Packets may be redirected there from any interface, so all of them change.
                self.generic_fallback = Some(GenericFallback {
                    interfaces: wanted.clone(),
                    reason: frame_loss_text(&name),
                });
                views = self.attach_in(wanted, BpfAttachMode::Generic, &interface);
                losing.clear();
            } else {
                explain(&mut views, &frame_loss_text(&name));
            }
        }
        if let Err(error) = self.block_lossy_interfaces(&losing) {
            return vec![plane_error("*", &error_chain(&error))];
        }
        if let Some(GenericFallback { reason, .. }) = &self.generic_fallback {
            explain(&mut views, reason);
        }
        views
    }

    /// Packets that would leave by one of these interfaces are dropped and counted: their drivers drop them silently.
    fn block_lossy_interfaces(&mut self, losing: &BTreeSet<String>) -> Result<(), bpf::MapError> {
        let of = |name: &String| NetworkInterface::find(name).ok().map(|interface| interface.index);
        let refusing: BTreeSet<u32> = losing.iter().filter_map(of).collect();
        if self.lossy_interfaces.as_ref() == Some(&refusing) {
            return Ok(());
        }
        let marked = |value: &abi::Interface| value.flags & abi::INTERFACE_REFUSES != 0;
        let before =
            self.plane.interfaces.entries()?.into_iter().filter(|(_, value)| marked(value));
        let before: BTreeMap<u32, abi::Interface> = before.collect();
        for index in before.keys().chain(&refusing) {
            let known = self.written_interfaces.get(index).or_else(|| before.get(index));
            let mut value = known.copied().unwrap_or_default();
            value.flags &= !abi::INTERFACE_REFUSES;
            value.flags |= if refusing.contains(index) { abi::INTERFACE_REFUSES } else { 0 };
            self.plane.interfaces.set(index, &value)?;
            self.written_interfaces.insert(*index, value);
        }
        let mut config = self.plane.config.get(&0)?.unwrap_or_default();
        config.refusing = u32::try_from(refusing.len()).unwrap_or(u32::MAX);
        self.plane.config.set(&0, &config)?;
        self.lossy_interfaces = Some(refusing);
        Ok(())
    }

    /// Interfaces that send packets and whose drivers lose the packets that XDP programs in native mode send.
    fn find_lossy_interfaces(&self, wanted: &BTreeSet<String>) -> BTreeSet<String> {
        let links = self.hops.all_links();
        let via = |ip| match self.hops.route(ip) {
            Some(ServerRoute::Via { ifindex, .. }) => {
                links.get(ifindex).map(|link| link.name.clone())
            }
            _ => None,
        };
        let names: BTreeSet<String> =
            wanted.iter().cloned().chain(self.hops.servers().filter_map(via)).collect();
        let sending = |name: String| {
            let sending =
                NetworkInterface::find(&name).and_then(|interface| interface.transmit_support());
            sending.ok().map(|sending| (name, sending))
        };
        expand_lossy(names.into_iter().filter_map(sending).collect())
    }

    fn attach_in(
        &mut self,
        wanted: &BTreeSet<String>,
        mode: BpfAttachMode,
        interface: &impl Fn(u32) -> abi::Interface,
    ) -> Vec<PlaneInterfaceView> {
        let mut views = Vec::new();
        for name in self.dispatcher.interfaces().unwrap_or_default() {
            let other = self.attached.get(&name).is_some_and(|before| before.mode != mode);
            if !wanted.contains(&name) || other {
                // An interface whose pin cannot be removed stays in the list, so the next change repeats the attempt.
                let _ = self.dispatcher.detach(&name);
                self.attached.remove(&name);
            }
        }
        for name in wanted {
            match self.dispatcher.attach(name, mode) {
                Ok(attached) => {
                    let native = attached.native;
                    let stood = self.attached.get(name).map(|before| before.ifindex);
                    if !attached.adopted && stood == Some(attached.index) {
                        self.detached.push(name.clone());
                    }
                    let mut value = interface(attached.index);
                    value.flags |= if native { abi::INTERFACE_NATIVE } else { 0 };
                    let refuses = self
                        .lossy_interfaces
                        .as_ref()
                        .is_some_and(|all| all.contains(&attached.index));
                    value.flags |= if refuses { abi::INTERFACE_REFUSES } else { 0 };
                    self.attached
                        .insert(name.clone(), PlaneAttachment { mode, ifindex: attached.index });
                    views.push(match self.describe(attached.index, value) {
                        Ok(()) => PlaneInterfaceView {
                            name: name.clone(),
                            mode: Some(if native { "native" } else { "generic" }),
                            last_error: None,
                        },
                        Err(error) => plane_error(name, &error_chain(&error)),
                    });
                }
                Err(error) => views.push(plane_error(name, &error_chain(&error))),
            }
        }
        views
    }
}

/// The warning about an interface that loses frames in native mode.
fn frame_loss_text(name: &str) -> String {
    format!(
        "the driver of {name} loses what programs send out of it: a virtual cable needs a program or GRO at its far end \
         (`ethtool -K … gro on`)"
    )
}

fn explain(views: &mut [PlaneInterfaceView], why: &str) {
    for view in views.iter_mut().filter(|view| view.mode.is_some()) {
        view.last_error = Some(why.to_owned());
    }
}

/// Interfaces that lose frames. Where the kernel reports the abilities of one driver, drivers without a report have
/// none.
fn expand_lossy(all: Vec<(String, XdpTransmitSupport)>) -> BTreeSet<String> {
    let knows = all.iter().any(|(_, sending)| *sending != XdpTransmitSupport::Unknown);
    let loses = |sending: &XdpTransmitSupport| match sending {
        XdpTransmitSupport::Supported => false,
        XdpTransmitSupport::Dropped => true,
        XdpTransmitSupport::Unknown => knows,
    };
    all.into_iter().filter(|(_, sending)| loses(sending)).map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_that_lose_frames_are_found() {
        use XdpTransmitSupport::{Dropped, Supported, Unknown};
        for (all, expected) in [
            (&[Supported, Supported][..], &[][..]),
            (&[Dropped, Supported, Dropped], &["0", "2"]),
            (&[Unknown, Unknown], &[]),
            (&[Unknown, Supported], &["0"]),
            (&[], &[]),
        ] {
            let all = all.iter().enumerate().map(|(at, one)| (at.to_string(), *one)).collect();
            assert!(expand_lossy(all).iter().eq(expected), "{expected:?}");
        }
    }
}
