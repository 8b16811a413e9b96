//! The record of one table entry for the other member, as bytes and back. Pure.
//!
//! Both members hash connections with the same secret, so a connection is 8 bytes, whatever its family. A server is a
//! number that both derive from its service, address and port. A new translated connection is sent in full, because the
//! other member must know both of its sides. Later records name it by its hash.
//!
//! ```text
//! flow    1  hash 8  server 4  phase 1  ticks left 2                                                        16 bytes
//! stuck   2  hash 8  server 4           ticks left 2                                                        15
//! phase   3  hash 8            phase 1  ticks left 2                                                        12
//! opened  4  bits 1  left 2  client 4 + 2  service 4 + 2  return address 4 + port 2  server 4  (stamp 4)    26 (30)
//!         5  the same with addresses of 16 bytes                                                            62 (66)
//! ```
//! Bits of `opened`: 1–8 the phase, 16 UDP, 32 began with a SYN cookie (then a stamp follows), 64 the client's address
//! is preserved (then there is no return address; the port is the place in the server's share).

use std::net::{IpAddr, SocketAddr};

use super::defect::ReplicaDefect;

/// The phase of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplicatedPhase {
    /// The handshake is not complete.
    Opening,
    Open,
    /// The client has sent its FIN.
    ClientClosed,
    ServerClosed,
    /// Both ends have sent a FIN, or one end has reset it.
    Closing,
    Datagram,
}

impl ReplicatedPhase {
    const ALL: [ReplicatedPhase; 6] = [
        ReplicatedPhase::Opening,
        ReplicatedPhase::Open,
        ReplicatedPhase::ClientClosed,
        ReplicatedPhase::ServerClosed,
        ReplicatedPhase::Closing,
        ReplicatedPhase::Datagram,
    ];

    fn number(self) -> u8 {
        match self {
            ReplicatedPhase::Opening => 1,
            ReplicatedPhase::Open => 2,
            ReplicatedPhase::ClientClosed => 3,
            ReplicatedPhase::ServerClosed => 4,
            ReplicatedPhase::Closing => 5,
            ReplicatedPhase::Datagram => 6,
        }
    }

    fn from_number(number: u8) -> Result<ReplicatedPhase, ReplicaDefect> {
        let found = ReplicatedPhase::ALL.into_iter().find(|phase| phase.number() == number);
        found.ok_or(ReplicaDefect::Fields)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TranslatedConnection {
    pub phase: ReplicatedPhase,
    /// Ticks until the entry expires without further packets.
    pub ttl: u16,
    pub udp: bool,
    pub client: SocketAddr,
    /// The service's address and port towards the client.
    pub service: SocketAddr,
    /// Our address towards the server; `None`: the client's address is preserved.
    pub return_address: Option<IpAddr>,
    /// Our port towards the server. With a preserved client address: the place in the server's share.
    pub port: u16,
    pub server: u32,
    /// For a connection that began with a SYN cookie: the difference between our sequence numbers and the server's.
    pub stamp: Option<u32>,
}

/// A record of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplicaRecord {
    /// A connection with direct server return.
    Flow {
        fingerprint: u64,
        server: u32,
        phase: ReplicatedPhase,
        /// Ticks until the entry expires without further packets.
        left: u16,
    },
    /// A client with a sticky server.
    Sticky {
        /// The hash of the client and the pool.
        fingerprint: u64,
        server: u32,
        /// Ticks until the client may change its server.
        left: u16,
    },
    /// A new phase of a translated connection.
    Phase {
        fingerprint: u64,
        phase: ReplicatedPhase,
        /// Ticks until the entry expires.
        left: u16,
    },
    /// A translated connection in full.
    Translated(TranslatedConnection),
}

/// The wire format of records: the kind, in the first byte. Later versions never change the meaning of a number.
const FLOW: u8 = 1;
const STICKY: u8 = 2;
const PHASE: u8 = 3;
const OPENED_4: u8 = 4;
const OPENED_6: u8 = 5;

/// Bits of one byte of a record: four for the phase, then the flags.
const PHASE_BITS: u8 = 15;
const UDP: u8 = 16;
const COOKIE: u8 = 32;
const KEEPS_CLIENT_ADDRESS: u8 = 64;

impl ReplicaRecord {
    /// Appends the record. Returns `false`, and appends nothing, where its addresses are of two families.
    #[must_use]
    pub fn emit(&self, out: &mut Vec<u8>) -> bool {
        match *self {
            ReplicaRecord::Flow { fingerprint: print, server, phase, left } => {
                out.push(FLOW);
                out.extend(print.to_be_bytes());
                out.extend(server.to_be_bytes());
                out.push(phase.number());
                out.extend(left.to_be_bytes());
            }
            ReplicaRecord::Sticky { fingerprint: print, server, left } => {
                out.push(STICKY);
                out.extend(print.to_be_bytes());
                out.extend(server.to_be_bytes());
                out.extend(left.to_be_bytes());
            }
            ReplicaRecord::Phase { fingerprint: print, phase, left } => {
                out.push(PHASE);
                out.extend(print.to_be_bytes());
                out.push(phase.number());
                out.extend(left.to_be_bytes());
            }
            ReplicaRecord::Translated(opened) => return opened.emit(out),
        }
        true
    }

    /// Removes the first record; `None` at the end.
    ///
    /// # Errors
    /// The bytes are no record.
    pub fn take_first(bytes: &mut &[u8]) -> Result<Option<ReplicaRecord>, ReplicaDefect> {
        let Some((kind, rest)) = bytes.split_first() else { return Ok(None) };
        let mut from = RecordReader(rest);
        let record = match *kind {
            FLOW => ReplicaRecord::Flow {
                fingerprint: from.fingerprint()?,
                server: from.word()?,
                phase: ReplicatedPhase::from_number(from.byte()?)?,
                left: from.half()?,
            },
            STICKY => ReplicaRecord::Sticky {
                fingerprint: from.fingerprint()?,
                server: from.word()?,
                left: from.half()?,
            },
            PHASE => ReplicaRecord::Phase {
                fingerprint: from.fingerprint()?,
                phase: ReplicatedPhase::from_number(from.byte()?)?,
                left: from.half()?,
            },
            OPENED_4 => {
                ReplicaRecord::Translated(TranslatedConnection::read_from(&mut from, false)?)
            }
            OPENED_6 => {
                ReplicaRecord::Translated(TranslatedConnection::read_from(&mut from, true)?)
            }
            _ => return Err(ReplicaDefect::Fields),
        };
        *bytes = from.0;
        Ok(Some(record))
    }
}

impl TranslatedConnection {
    fn emit(&self, out: &mut Vec<u8>) -> bool {
        let v6 = self.client.is_ipv6();
        let others = [Some(self.service.ip()), self.return_address];
        if others.into_iter().flatten().any(|ip| ip.is_ipv6() != v6) {
            return false;
        }
        let mut bits = self.phase.number();
        bits |= u8::from(self.udp) * UDP;
        bits |= u8::from(self.stamp.is_some()) * COOKIE;
        bits |= u8::from(self.return_address.is_none()) * KEEPS_CLIENT_ADDRESS;
        out.extend([if v6 { OPENED_6 } else { OPENED_4 }, bits]);
        out.extend(self.ttl.to_be_bytes());
        for end in [self.client, self.service] {
            address(out, end.ip());
            out.extend(end.port().to_be_bytes());
        }
        if let Some(back) = self.return_address {
            address(out, back);
        }
        out.extend(self.port.to_be_bytes());
        out.extend(self.server.to_be_bytes());
        if let Some(stamp) = self.stamp {
            out.extend(stamp.to_be_bytes());
        }
        true
    }

    fn read_from(
        from: &mut RecordReader<'_>,
        v6: bool,
    ) -> Result<TranslatedConnection, ReplicaDefect> {
        let bits = from.byte()?;
        if bits & !(PHASE_BITS | UDP | COOKIE | KEEPS_CLIENT_ADDRESS) != 0 {
            return Err(ReplicaDefect::Fields);
        }
        let left = from.half()?;
        let client = SocketAddr::new(from.address(v6)?, from.half()?);
        let service = SocketAddr::new(from.address(v6)?, from.half()?);
        let back = if bits & KEEPS_CLIENT_ADDRESS == 0 { Some(from.address(v6)?) } else { None };
        let port = from.half()?;
        let server = from.word()?;
        let stamp = if bits & COOKIE == 0 { None } else { Some(from.word()?) };
        let phase = ReplicatedPhase::from_number(bits & PHASE_BITS)?;
        let udp = bits & UDP != 0;
        if udp != (phase == ReplicatedPhase::Datagram) || udp && stamp.is_some() {
            return Err(ReplicaDefect::Fields);
        }
        Ok(TranslatedConnection {
            phase,
            ttl: left,
            udp,
            client,
            service,
            return_address: back,
            port,
            server,
            stamp,
        })
    }
}

fn address(out: &mut Vec<u8>, ip: IpAddr) {
    match ip {
        IpAddr::V4(v4) => out.extend(v4.octets()),
        IpAddr::V6(v6) => out.extend(v6.octets()),
    }
}

/// Reads bytes from the front.
struct RecordReader<'a>(&'a [u8]);

impl RecordReader<'_> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], ReplicaDefect> {
        let (first, rest) = self.0.split_first_chunk::<N>().ok_or(ReplicaDefect::Fields)?;
        self.0 = rest;
        Ok(*first)
    }

    fn byte(&mut self) -> Result<u8, ReplicaDefect> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn half(&mut self) -> Result<u16, ReplicaDefect> {
        self.array().map(u16::from_be_bytes)
    }

    fn word(&mut self) -> Result<u32, ReplicaDefect> {
        self.array().map(u32::from_be_bytes)
    }

    /// The hashes 0 and 1 are reserved in the tables.
    fn fingerprint(&mut self) -> Result<u64, ReplicaDefect> {
        let print = self.array().map(u64::from_be_bytes)?;
        if print > 1 { Ok(print) } else { Err(ReplicaDefect::Fields) }
    }

    fn address(&mut self, v6: bool) -> Result<IpAddr, ReplicaDefect> {
        match v6 {
            false => self.array::<4>().map(IpAddr::from),
            true => self.array::<16>().map(IpAddr::from),
        }
    }
}

#[cfg(test)]
mod tests;
