//! Determines a client's trusted address: the last one whose path was validated (RFC 9000 §8.2, §9.3).
//!
//! `quinn-proto` sends to a new address as soon as an authentic packet arrives from there. An attacker on the path can
//! forge that source address, and the library does not report when a path is validated. While it waits for the
//! PATH_RESPONSE, every packet with application data to that address carries a PATH_CHALLENGE. So the first such packet
//! without a PATH_CHALLENGE shows that the path is validated. Counting PATH_RESPONSE frames would not work: a client
//! can send any number of wrong ones.
//!
//! This module also limits the bytes sent to all addresses that are not validated. It has no socket.

use std::net::SocketAddr;

/// Bytes sent per received byte while an address is not validated (RFC 9000 §8.1).
const AMPLIFICATION: u64 = 3;

/// Bytes sent beyond that limit. A PATH_CHALLENGE is padded to 1,200 bytes (RFC 9000 §8.2.1), so a client whose first
/// packets from a new address are small could not be challenged otherwise. Three of them, in case packets are lost.
const CHALLENGE_ALLOWANCE: u64 = 3_600;

/// The validated address of one connection.
#[derive(Debug)]
pub struct ValidatedPath {
    validated: SocketAddr,
    /// Bytes received from other addresses since the validation.
    received: u64,
    /// Bytes sent to other addresses since the validation.
    sent: u64,
}

/// Packets that the library wants to send.
#[derive(Clone, Copy, Debug)]
pub struct OutgoingPackets {
    pub to: SocketAddr,
    /// Total size in bytes.
    pub bytes: usize,
    /// They are for the library's current path, not a response to a probe from another address.
    pub current: bool,
    /// Any of them carries a PATH_CHALLENGE.
    pub challenges: bool,
    /// They carry application data: no path MTU probe, no close, and the handshake is complete.
    pub ordinary: bool,
}

impl ValidatedPath {
    /// A new connection; the handshake validates its address.
    pub fn new(peer: SocketAddr) -> ValidatedPath {
        ValidatedPath { validated: peer, received: 0, sent: 0 }
    }

    /// The client's validated address.
    pub fn validated(&self) -> SocketAddr {
        self.validated
    }

    /// Counts bytes received for the connection.
    pub fn received_from(&mut self, from: SocketAddr, bytes: usize) {
        if from != self.validated {
            self.received = self.received.saturating_add(bytes as u64);
        }
    }

    /// Whether packets may be sent. Packets can also show that their path is validated.
    pub fn may_send(&mut self, packets: &OutgoingPackets) -> bool {
        if packets.to == self.validated {
            return true;
        }
        if packets.current && packets.ordinary && !packets.challenges {
            *self = ValidatedPath::new(packets.to);
            return true;
        }
        let most = self.received.saturating_mul(AMPLIFICATION).saturating_add(CHALLENGE_ALLOWANCE);
        // The library limits each send by the bytes received; the last packet may exceed the limit.
        if self.sent >= most {
            return false;
        }
        self.sent = self.sent.saturating_add(packets.bytes as u64);
        true
    }
}

#[cfg(test)]
mod tests;
