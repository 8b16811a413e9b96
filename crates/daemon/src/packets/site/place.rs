//! Where the plane stands: before which interfaces, and whether in their drivers or in the stack. In a driver nothing may be
//! sent where it is lost: virtual cables lose what programs send while their far end has neither a program nor GRO.

use std::collections::BTreeSet;

use bpf::{Interface, Mode, Sending};
use l4::abi;
use l4::hops::Route;
use model::config::AttachMode;

use super::{Site, chain, failed};
use crate::packets::view::InterfaceView;

impl Site {
    /// Stands before these interfaces and no others; those that cannot be had do not keep the rest from working.
    pub fn attach(
        &mut self,
        wanted: &BTreeSet<String>,
        mode: AttachMode,
        interface: impl Fn(u32) -> abi::Interface,
    ) -> Vec<InterfaceView> {
        if let Err(error) = self.install() {
            return vec![failed("*", &chain(&error))];
        }
        self.fallen.take_if(|(names, _)| mode != AttachMode::Auto || names != wanted);
        let asked = match mode {
            AttachMode::Auto if self.fallen.is_none() => Mode::Auto,
            AttachMode::Native => Mode::Native,
            AttachMode::Auto | AttachMode::Generic => Mode::Generic,
        };
        let mut views = self.attach_in(wanted, asked, &interface);
        let native = |view: &InterfaceView| view.mode == Some("native");
        let losing = if views.iter().any(native) { self.losing(wanted) } else { None };
        match (losing, asked) {
            // Whoever takes packets may send them there: all change.
            (Some(name), Mode::Auto) => {
                self.fallen = Some((wanted.clone(), lost(&name)));
                views = self.attach_in(wanted, Mode::Generic, &interface);
            }
            (Some(name), _) => explain(&mut views, &lost(&name)),
            (None, _) => {}
        }
        if let Some((_, why)) = &self.fallen {
            explain(&mut views, why);
        }
        views
    }

    /// An interface out of which packets are sent and whose driver loses what programs in drivers send.
    fn losing(&self, wanted: &BTreeSet<String>) -> Option<String> {
        let links = self.hops.all_links();
        let via = |ip| match self.hops.route(ip) {
            Some(Route::Via { ifindex, .. }) => links.get(ifindex).map(|link| link.name.clone()),
            _ => None,
        };
        let names: BTreeSet<String> =
            wanted.iter().cloned().chain(self.hops.servers().filter_map(via)).collect();
        let sending = |name: String| {
            let sending = Interface::find(&name).and_then(|interface| interface.sending());
            sending.ok().map(|sending| (name, sending))
        };
        first_losing(names.into_iter().filter_map(sending).collect())
    }

    fn attach_in(
        &mut self,
        wanted: &BTreeSet<String>,
        mode: Mode,
        interface: &impl Fn(u32) -> abi::Interface,
    ) -> Vec<InterfaceView> {
        let mut views = Vec::new();
        for name in self.dispatcher.interfaces().unwrap_or_default() {
            let other = self.attached.get(&name).is_some_and(|(before, _)| *before != mode);
            if !wanted.contains(&name) || other {
                let _ = self.dispatcher.detach(&name);
                self.attached.remove(&name);
            }
        }
        for name in wanted {
            match self.dispatcher.attach(name, mode) {
                Ok(attached) => {
                    let native = attached.native;
                    let stood = self.attached.get(name).map(|(_, index)| *index);
                    if !attached.adopted && stood == Some(attached.index) {
                        self.taken_off.push(name.clone());
                    }
                    let mut value = interface(attached.index);
                    value.flags |= if native { abi::INTERFACE_NATIVE } else { 0 };
                    self.attached.insert(name.clone(), (mode, attached.index));
                    views.push(match self.describe(attached.index, value) {
                        Ok(()) => InterfaceView {
                            name: name.clone(),
                            mode: Some(if native { "native" } else { "generic" }),
                            problem: None,
                        },
                        Err(error) => failed(name, &chain(&error)),
                    });
                }
                Err(error) => views.push(failed(name, &chain(&error))),
            }
        }
        views
    }
}

/// What an interface that loses frames makes of native mode.
fn lost(name: &str) -> String {
    format!(
        "the driver of {name} loses what programs send out of it: a virtual cable needs a program or GRO at its far end \
         (`ethtool -K … gro on`)"
    )
}

fn explain(views: &mut [InterfaceView], why: &str) {
    for view in views.iter_mut().filter(|view| view.mode.is_some()) {
        view.problem = Some(why.to_owned());
    }
}

/// The first that loses frames. Where the kernel says what one driver can do, those of which it says nothing can nothing.
fn first_losing(all: Vec<(String, Sending)>) -> Option<String> {
    let knows = all.iter().any(|(_, sending)| *sending != Sending::Unknown);
    let loses = |sending: &Sending| match sending {
        Sending::Sends => false,
        Sending::Loses => true,
        Sending::Unknown => knows,
    };
    all.into_iter().find(|(_, sending)| loses(sending)).map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_interface_that_loses_frames_is_enough() {
        use Sending::{Loses, Sends, Unknown};
        for (all, expected) in [
            (&[Sends, Sends][..], None),
            (&[Sends, Loses], Some("1")),
            (&[Unknown, Unknown], None),
            (&[Unknown, Sends], Some("0")),
            (&[], None),
        ] {
            let all = all.iter().enumerate().map(|(at, one)| (at.to_string(), *one)).collect();
            assert_eq!(first_losing(all).as_deref(), expected);
        }
    }
}
