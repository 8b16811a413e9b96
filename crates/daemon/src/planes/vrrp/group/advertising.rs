//! Sends the advertisements of a group.

use std::net::IpAddr;

use ha::advert::{GROUP_V4, GROUP_V6, VrrpAdvertisement, emit};
use ha::frame::vrrp_frame;
use ha::state_machine::VrrpState;

use super::{GroupContext, VrrpGroup};

impl VrrpGroup {
    /// Sends an advertisement and extends the lease of the addresses. Only a sent advertisement extends the lease,
    /// because only that informs the peers.
    pub(super) fn send(&mut self, advert: &VrrpAdvertisement, tools: &mut GroupContext<'_>) {
        let (Some(mouth), Some(ground)) = (&self.tx_socket, &self.interface) else { return };
        let group = if ground.source.is_ipv4() { GROUP_V4.into() } else { GROUP_V6.into() };
        let everybody = [group];
        let peers = &self.config.peers;
        let to: &[IpAddr] = if peers.is_empty() { &everybody } else { peers };
        let mut sent = false;
        let mut failed = 0;
        for to in to {
            let bytes = emit(advert, ground.source, *to);
            let done = match self.config.virtual_mac() {
                Some(link) => {
                    let frame = vrrp_frame(&bytes, ground.source, link);
                    let missing = || Err(std::io::ErrorKind::NotFound.into());
                    tools
                        .rx_sockets
                        .get(&ground.ifindex)
                        .map_or_else(missing, |ear| ear.send(&frame))
                }
                None => mouth.send(&bytes, *to),
            };
            match done {
                Ok(()) => sent = true,
                Err(_) => failed += 1,
            }
        }
        *self.dropped.entry("not-sent").or_default() += failed;
        if !sent || self.state() != VrrpState::Active {
            return;
        }
        self.leased_until = self.machine.lease_until();
        tools.gates.lease_addresses(&self.gated_addresses(), self.leased_until);
    }
}
