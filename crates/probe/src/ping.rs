//! ICMP echo (RFC 792, RFC 4443 §4): the reply must contain the request's payload. The daemon has the socket, raw or
//! not.

use std::net::IpAddr;

use crate::context::ProbeContext;
use crate::dialogue::{DialogueStep, ProbeDialogue};

const V4: EchoTypes = EchoTypes { request: 8, reply: 0 };
const V6: EchoTypes = EchoTypes { request: 128, reply: 129 };
/// Bytes before the payload.
/// Type, code, checksum, identifier and sequence number (RFC 792, RFC 4443 §4.1).
const HEADER: usize = 8;

/// The ICMP types of an echo request and its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct EchoTypes {
    request: u8,
    reply: u8,
}

#[derive(Debug)]
pub struct PingProbe {
    types: EchoTypes,
    nonce: [u8; 16],
}

impl PingProbe {
    pub fn new(context: &ProbeContext<'_>) -> PingProbe {
        let types = match context.address.ip() {
            IpAddr::V4(_) => V4,
            IpAddr::V6(_) => V6,
        };
        PingProbe { types, nonce: context.nonce() }
    }
}

impl ProbeDialogue for PingProbe {
    fn start(&mut self, out: &mut Vec<u8>) -> DialogueStep {
        // The kernel sets the identifier on its ping sockets; the payload distinguishes replies.
        let mut message = vec![self.types.request, 0, 0, 0, self.nonce[0], self.nonce[1], 0, 1];
        message.extend_from_slice(&self.nonce);
        if self.types == V4 {
            let sum = checksum(&message);
            message[2..4].copy_from_slice(&sum.to_be_bytes());
        }
        out.append(&mut message);
        DialogueStep::Wait
    }

    fn receive(&mut self, bytes: &[u8], _: &mut Vec<u8>) -> DialogueStep {
        // Raw IPv4 sockets return the IP header too.
        let bytes = match bytes.first() {
            Some(first) if self.types == V4 && first >> 4 == 4 => {
                bytes.get(usize::from(first & 0xf) * 4..).unwrap_or_default()
            }
            _ => bytes,
        };
        let ours = bytes.first() == Some(&self.types.reply)
            && bytes.get(HEADER..HEADER + 16) == Some(&self.nonce[..]);
        if ours { DialogueStep::success("ping answered") } else { DialogueStep::Wait }
    }

    fn awaited(&self) -> &'static str {
        "echo reply"
    }
}

/// The Internet checksum (RFC 1071).
fn checksum(bytes: &[u8]) -> u16 {
    let pair = |pair: &[u8]| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |b| u32::from(*b));
    let mut sum: u32 = bytes.chunks(2).map(pair).sum();
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    !(sum as u16)
}
