//! RADIUS Status-Server (RFC 5997): a signed question and an answer that only who knows the secret can give. It
//! authenticates nobody.

use crate::context::Context;
use crate::dialogue::{Dialogue, Step};
use crate::md5::{hmac, md5};

const STATUS_SERVER: u8 = 12;
const ACCESS_ACCEPT: u8 = 2;
const ACCOUNTING_RESPONSE: u8 = 5;
const MESSAGE_AUTHENTICATOR: u8 = 80;
/// Code, identifier, length, authenticator (RFC 2865 §3).
const HEADER: usize = 20;
/// The longest packet.
const PACKET_BYTES: usize = 4_096;

/// A dialogue under way.
#[derive(Debug)]
pub struct Radius {
    secret: Vec<u8>,
    authenticator: [u8; 16],
    id: u8,
}

impl Radius {
    /// Asks this server.
    pub fn new(context: &Context<'_>) -> Radius {
        let secret = context.secret.unwrap_or_default().to_vec();
        Radius { secret, authenticator: context.nonce(), id: context.draw as u8 }
    }
}

impl Dialogue for Radius {
    fn begin(&mut self, out: &mut Vec<u8>) -> Step {
        let length = (HEADER + 18) as u16;
        let mut packet = vec![STATUS_SERVER, self.id];
        packet.extend(length.to_be_bytes());
        packet.extend(self.authenticator);
        packet.extend([MESSAGE_AUTHENTICATOR, 18]);
        // Signed with its own place zeroed (RFC 2869 §5.14).
        let signature = hmac(&self.secret, &[&packet[..], &[0; 16]].concat());
        packet.extend(signature);
        out.append(&mut packet);
        Step::Wait
    }

    fn take(&mut self, bytes: &[u8], _: &mut Vec<u8>) -> Step {
        let [code, id, high, low, ..] = *bytes else {
            return Step::bad("the answer is not RADIUS");
        };
        let length = usize::from(u16::from_be_bytes([high, low]));
        let Some(packet) =
            bytes.get(..length).filter(|p| (HEADER..=PACKET_BYTES).contains(&p.len()))
        else {
            return Step::bad("the answer is not RADIUS");
        };
        if id != self.id {
            return Step::Wait;
        }
        let signed =
            [&packet[..4], &self.authenticator[..], &packet[HEADER..], &self.secret].concat();
        if md5(&signed) != packet[4..HEADER] {
            return Step::bad("the answer is not signed with our secret");
        }
        match code {
            ACCESS_ACCEPT | ACCOUNTING_RESPONSE => Step::good("radius Status-Server answered"),
            code => Step::bad(format!("radius Status-Server: answered with code {code}")),
        }
    }

    fn awaits(&self) -> &'static str {
        "answer"
    }
}
