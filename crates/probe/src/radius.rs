//! RADIUS Status-Server (RFC 5997): a signed request, and a reply that only a holder of the secret can sign. The check
//! authenticates no user.

use crate::context::ProbeContext;
use crate::dialogue::{DialogueStep, ProbeDialogue};
use crate::md5::{hmac, md5};

/// Codes of packets (RFC 2865 §4, RFC 2866 §4, RFC 5997) and the type of Message-Authenticator (RFC 3579 §3.2).
const STATUS_SERVER: u8 = 12;
const ACCESS_ACCEPT: u8 = 2;
const ACCOUNTING_RESPONSE: u8 = 5;
const MESSAGE_AUTHENTICATOR: u8 = 80;
/// Code, identifier, length, authenticator (RFC 2865 §3).
const HEADER: usize = 20;
/// The longest packet (RFC 2865 §3).
const PACKET_BYTES: usize = 4_096;

#[derive(Debug)]
pub struct RadiusProbe {
    secret: Vec<u8>,
    authenticator: [u8; 16],
    id: u8,
}

impl RadiusProbe {
    pub fn new(context: &ProbeContext<'_>) -> RadiusProbe {
        let secret = context.secret.unwrap_or_default().to_vec();
        RadiusProbe { secret, authenticator: context.nonce(), id: context.random as u8 }
    }
}

impl ProbeDialogue for RadiusProbe {
    fn start(&mut self, out: &mut Vec<u8>) -> DialogueStep {
        let length = (HEADER + 18) as u16;
        let mut packet = vec![STATUS_SERVER, self.id];
        packet.extend(length.to_be_bytes());
        packet.extend(self.authenticator);
        packet.extend([MESSAGE_AUTHENTICATOR, 18]);
        // Signed with its own field zeroed (RFC 2869 §5.14).
        let signature = hmac(&self.secret, &[&packet[..], &[0; 16]].concat());
        packet.extend(signature);
        out.append(&mut packet);
        DialogueStep::Wait
    }

    fn receive(&mut self, bytes: &[u8], _: &mut Vec<u8>) -> DialogueStep {
        let [code, id, high, low, ..] = *bytes else {
            return DialogueStep::failure("the answer is not RADIUS");
        };
        let length = usize::from(u16::from_be_bytes([high, low]));
        let Some(packet) =
            bytes.get(..length).filter(|p| (HEADER..=PACKET_BYTES).contains(&p.len()))
        else {
            return DialogueStep::failure("the answer is not RADIUS");
        };
        if id != self.id {
            return DialogueStep::Wait;
        }
        let signed =
            [&packet[..4], &self.authenticator[..], &packet[HEADER..], &self.secret].concat();
        if md5(&signed) != packet[4..HEADER] {
            return DialogueStep::failure("the answer is not signed with our secret");
        }
        match code {
            ACCESS_ACCEPT | ACCOUNTING_RESPONSE => {
                DialogueStep::success("radius Status-Server answered")
            }
            code => {
                DialogueStep::failure(format!("radius Status-Server: answered with code {code}"))
            }
        }
    }

    fn awaited(&self) -> &'static str {
        "answer"
    }
}
