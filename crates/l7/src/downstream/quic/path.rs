//! Which address of a client is believed: the one whose path was validated last (RFC 9000 §8.2, §9.3).
//!
//! The machine of QUIC sends to a new address as soon as an authentic packet came from there, which also whoever holds
//! the connection can forge, and it does not report that the path is validated. But as long as it waits for the
//! PATH_RESPONSE, every packet of application data to that address carries a PATH_CHALLENGE. So the first one that carries
//! none tells. Counting PATH_RESPONSE frames would not: a client can send any number of wrong ones.
//!
//! It also bounds what is sent to addresses that are not validated, over all of them. It has no socket.

use std::net::SocketAddr;

/// Bytes sent for each byte that came, while an address is not validated (RFC 9000 §8.1).
const AMPLIFICATION: u64 = 3;

/// Bytes that are sent beyond that: a PATH_CHALLENGE is padded to 1,200 bytes (RFC 9000 §8.2.1), and a client whose first
/// packets from a new address are small could otherwise never be asked. Three of them, for those that get lost.
const CHALLENGE_ALLOWANCE: u64 = 3_600;

/// The validated address of one connection.
#[derive(Debug)]
pub struct ValidatedPath {
    validated: SocketAddr,
    /// Bytes that came from other addresses since it was validated.
    received: u64,
    /// Bytes that went to other addresses since.
    sent: u64,
}

/// Packets that the machine wants to have sent.
#[derive(Clone, Copy, Debug)]
pub struct OutgoingPackets {
    pub to: SocketAddr,
    /// All of them together.
    pub bytes: usize,
    /// It is the machine's current path, not an answer to somebody who only probes another one.
    pub current: bool,
    /// Any of them carries a PATH_CHALLENGE.
    pub challenges: bool,
    /// They carry application data: no probe of the path's size, no close, and the handshake is over.
    pub ordinary: bool,
}

impl ValidatedPath {
    /// A connection begins; the handshake validates its address.
    pub fn new(peer: SocketAddr) -> ValidatedPath {
        ValidatedPath { validated: peer, received: 0, sent: 0 }
    }

    /// The address that is believed.
    pub fn validated(&self) -> SocketAddr {
        self.validated
    }

    /// Bytes came for the connection.
    pub fn received_from(&mut self, from: SocketAddr, bytes: usize) {
        if from != self.validated {
            self.received = self.received.saturating_add(bytes as u64);
        }
    }

    /// Whether packets may be sent; they may also show that their path is validated.
    pub fn may_send(&mut self, packets: &OutgoingPackets) -> bool {
        if packets.to == self.validated {
            return true;
        }
        if packets.current && packets.ordinary && !packets.challenges {
            *self = ValidatedPath::new(packets.to);
            return true;
        }
        let most = self.received.saturating_mul(AMPLIFICATION).saturating_add(CHALLENGE_ALLOWANCE);
        // The machine bounds what it sends at a time by what came; the last packet may go beyond.
        if self.sent >= most {
            return false;
        }
        self.sent = self.sent.saturating_add(packets.bytes as u64);
        true
    }
}

#[cfg(test)]
mod tests;
