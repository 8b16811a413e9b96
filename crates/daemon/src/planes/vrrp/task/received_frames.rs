//! Frames that arrived: which group an advertisement is for, and who else claims an address.

use std::net::IpAddr;

use ha::advert::{AdvertisementDefect, IpHeader, VrrpAdvertisement, parse};
use ha::frame::{self, ClaimedAddress, VrrpFramePacket};

use super::super::group::GroupContext;
use super::super::rx_socket::{self, ReceivedFrame, RxSocket};
use super::VrrpTask;

impl VrrpTask {
    pub(super) fn open_rx_sockets(&mut self, ifindex: u32) {
        if self.rx_sockets.contains_key(&ifindex) {
            return;
        }
        match RxSocket::open(ifindex, &rx_socket::VRRP, self.frames.clone()) {
            Ok(ear) => drop(self.rx_sockets.insert(ifindex, ear)),
            Err(error) => {
                self.gate_error(format!("no socket for frames: {error}; it takes CAP_NET_RAW"))
            }
        }
    }

    /// Handles a frame of protocol 112, or one that claims an address.
    pub(super) async fn handle_frame(&mut self, heard: &ReceivedFrame) {
        let Some(VrrpFramePacket { header: envelope, advert: bytes }) =
            frame::parse_vrrp_frame(&heard.frame)
        else {
            let Some(ClaimedAddress { ip, link }) = frame::claimed_address(&heard.frame) else {
                return self.count("no-packet");
            };
            return self.handle_claim(heard.ifindex, ip, link);
        };
        match parse(bytes, &envelope) {
            Ok(advert) => self.deliver_advertisement(heard.ifindex, &envelope, &advert).await,
            Err(defect) => self.count(AdvertisementDefect::name(defect)),
        }
    }

    pub(super) async fn deliver_advertisement(
        &mut self,
        ifindex: u32,
        envelope: &IpHeader,
        advert: &VrrpAdvertisement,
    ) {
        let v6 = envelope.source.is_ipv6();
        let found = self.groups.iter().find(|(_, group)| group.matches(ifindex, advert.group, v6));
        let Some(name) = found.map(|(name, _)| name.clone()) else {
            return self.count("other-group");
        };
        let Some(mut group) = self.groups.remove(&name) else { return };
        if let Some(mut tools) = self.group_context() {
            group.receive_advertisement(envelope, advert, &mut tools).await;
        }
        self.groups.insert(name, group);
    }

    /// Handles a frame in which another host claims an address.
    pub(super) fn handle_claim(&mut self, ifindex: u32, ip: IpAddr, link: [u8; 6]) {
        let Some(kernel) = self.kernel.as_ref() else { return };
        let ears = &self.rx_sockets;
        let events = &self.events;
        let frames = &self.frames;
        let mut tools =
            GroupContext { kernel, gates: &mut self.gates, rx_sockets: ears, events, frames };
        for group in self.groups.values_mut() {
            group.handle_claim(ifindex, ip, link, &mut tools);
        }
    }

    pub(super) fn count(&mut self, what: &'static str) {
        *self.dropped.entry(what).or_default() += 1;
    }
}
