//! The device of a bundle: finds or creates it, configures it, and restores what another program removed.

use std::net::IpAddr;
use std::sync::Arc;

use bpf::NetworkInterface;
use l4::next_hops::ServerRoute;
use links::datapath::BundleDevice;
use model::config::LinkPolicy;

use super::super::device::peer_name;
use super::{ActiveBundle, BundleContext};
use crate::planes::packets::netlink::AssignedAddress;
use crate::planes::packets::open_plane::error_chain;

impl ActiveBundle {
    pub(super) async fn find_device(
        &self,
        tools: &BundleContext<'_>,
    ) -> Result<BundleDevice, String> {
        let name = &self.config.name;
        let index = |name: &str| NetworkInterface::find(name).ok().map(|one| one.index);
        let ends = || index(name).zip(index(&peer_name(name)));
        match (index(name), index(&peer_name(name))) {
            (Some(device), Some(other)) => return Ok(BundleDevice { device, peer_device: other }),
            (None, None) => {}
            _ => {
                return Err(format!("there is an interface {name} already, and it is no bundle's"));
            }
        }
        tools
            .netlink
            .create_device(name)
            .await
            .map_err(|error| format!("no device {name}: {error}"))?;
        let (device, other) = ends().ok_or_else(|| format!("the device {name} is gone again"))?;
        Ok(BundleDevice { device, peer_device: other })
    }

    /// Restores settings of the device that another program removed.
    pub(super) async fn restore(
        &mut self,
        ends: BundleDevice,
        tools: &BundleContext<'_>,
    ) -> Result<(), String> {
        let Ok(addresses) = tools.kernel.addresses().await else { return Ok(()) };
        let config = Arc::clone(&self.config);
        let mtu = self.mtu;
        let has =
            |ip: &IpAddr| addresses.contains(&AssignedAddress { ifindex: ends.device, ip: *ip });
        let mut gone: Vec<String> =
            config.addresses.iter().filter(|ip| !has(ip)).map(IpAddr::to_string).collect();
        let up = [ends.device, ends.peer_device].iter().all(|at| {
            // One that is not known yet was made just now.
            tools.links.get(at).is_none_or(|link| link.up)
        });
        if !up {
            gone.push("the device's being up".to_owned());
        }
        let name = &config.name;
        if !gone.is_empty() {
            self.set_up(ends, mtu, tools).await.map_err(|why| {
                format!("another program took {} from {name}: {why}", gone.join(", "))
            })?;
        }
        for to in &config.routes {
            let done = tools.netlink.add_route(ends.device, *to).await;
            if done.map_err(|error| format!("{to} cannot be sent over {name}: {error}"))? {
                gone.push(format!("the route to {to}"));
            }
        }
        if gone.is_empty() {
            return Ok(());
        }
        let gone = gone.join(", ");
        let text = format!("bundle {name}: another program took {gone} away; it is set again");
        tools.events.warn("kernel-restored", text);
        Ok(())
    }

    pub(super) async fn set_up(
        &mut self,
        ends: BundleDevice,
        mtu: u32,
        tools: &BundleContext<'_>,
    ) -> Result<(), String> {
        let config = Arc::clone(&self.config);
        let name = &config.name;
        let together = (config.policy == LinkPolicy::RoundRobin).then_some(config.burst);
        self.is_set_up = false;
        tools.plane.assign_slots(ends).map_err(|error| error_chain(&error))?;
        tools.plane.attach(name, &peer_name(name)).map_err(|error| error_chain(&error))?;
        for ifindex in [ends.peer_device, ends.device] {
            let done = tools.netlink.set_up(ifindex, mtu, together).await;
            done.map_err(|error| format!("{name} cannot be set up: {error}"))?;
        }
        if self.ends != Some(ends) {
            self.equalizer = None;
        }
        self.ends = Some(ends);
        self.mtu = mtu;
        self.written = None;
        for ip in &config.addresses {
            let done = tools.netlink.add_address(ends.device, *ip).await;
            done.map_err(|error| format!("{name} cannot have {ip}: {error}"))?;
        }
        for to in &config.routes {
            let done = tools.netlink.add_route(ends.device, *to).await;
            let new = done.map_err(|error| format!("{to} cannot be sent over {name}: {error}"))?;
            let there = tools.kernel.route(to.address());
            if !new
                && !matches!(there.await, ServerRoute::Via { ifindex, .. } if ifindex == ends.device)
            {
                return Err(format!("there is another route to {to} already: {name} has it not"));
            }
        }
        self.is_set_up = true;
        self.last_error = None;
        Ok(())
    }
}
