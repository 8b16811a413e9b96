//! The probe of a next hop: ICMP echo (RFC 792, RFC 4443 §4.1) with our send time in it. Pure.
//!
//! A far end that is a Steelyard too reads the requests. One of them can carry a notice that a link has lost its
//! carrier. For every other host that is an ordinary request.

use model::monotonic_time::MonotonicTime;

/// ICMP types of request and reply.
const V4: (u8, u8) = (8, 0);
const V6: (u8, u8) = (128, 129);
/// Bytes before the payload: type, code, checksum, identifier, number.
/// RFC 792 and RFC 4443 §4.1.
const HEADER: usize = 8;
/// Bytes of the payload: a token of our own and the send time.
const PAYLOAD: usize = 16;
/// The marker of a notice that a link is down here; the token of its probes follows.
const DOWN: [u8; 8] = *b"SLY-DOWN";

/// A request, or the reply to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EchoRequest {
    /// Identifies our requests: replies with other tokens belong to others.
    pub token: u64,
    pub number: u16,
    /// When the request was sent.
    pub sent: MonotonicTime,
}

/// A received request of another host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedEcho {
    /// The request; its time is of the sender's clock.
    pub echo: EchoRequest,
    /// The token of a link's probes, if the sender reports that the link has no carrier.
    pub reports_link_down: Option<u64>,
}

impl EchoRequest {
    /// The request as an ICMP message; the kernel computes the checksum of version 6.
    pub fn to_request(&self, v6: bool) -> Vec<u8> {
        self.to_padded_request(v6, 0)
    }

    /// The request with at least this many bytes.
    pub fn to_padded_request(&self, v6: bool, bytes: usize) -> Vec<u8> {
        self.encode(v6, &[], bytes)
    }

    /// The request that reports a link without a carrier, by the token of that link's probes.
    pub fn to_down_notice(&self, v6: bool, down: u64) -> Vec<u8> {
        self.encode(v6, &[DOWN, down.to_be_bytes()].concat(), 0)
    }

    fn encode(&self, v6: bool, more: &[u8], bytes: usize) -> Vec<u8> {
        let kind = if v6 { V6.0 } else { V4.0 };
        let [high, low] = self.number.to_be_bytes();
        let [.., a, b] = self.token.to_be_bytes();
        let mut out = vec![kind, 0, 0, 0, a, b, high, low];
        out.extend(self.token.to_be_bytes());
        out.extend(self.sent.0.to_be_bytes());
        out.extend(more);
        // The checksum is computed over pairs of bytes.
        out.resize(out.len().max(bytes & !1), 0);
        if !v6 {
            let sum = checksum(&out);
            out[2..4].copy_from_slice(&sum.to_be_bytes());
        }
        out
    }

    /// Reads a reply from a raw socket: with the IP header for version 4, without for version 6. `None`: something
    /// else.
    pub fn parse_reply(bytes: &[u8], v6: bool) -> Option<EchoRequest> {
        parse_echo(icmp_message(bytes, v6)?, if v6 { V6.1 } else { V4.1 })
    }
}

impl ReceivedEcho {
    /// Reads a request from a raw socket in the same forms. `None`: not a request.
    pub fn read(bytes: &[u8], v6: bool) -> Option<ReceivedEcho> {
        let message = icmp_message(bytes, v6)?;
        let echo = parse_echo(message, if v6 { V6.0 } else { V4.0 })?;
        let more = &message[HEADER + PAYLOAD..];
        let down = more.strip_prefix(&DOWN).and_then(|rest| rest.first_chunk());
        Some(ReceivedEcho { echo, reports_link_down: down.map(|word| u64::from_be_bytes(*word)) })
    }
}

/// The ICMP message in a packet from a raw socket.
fn icmp_message(bytes: &[u8], v6: bool) -> Option<&[u8]> {
    if v6 {
        return Some(bytes);
    }
    let words = bytes.first().filter(|first| **first >> 4 == 4)? & 0xf;
    bytes.get(usize::from(words) * 4..)
}

fn parse_echo(message: &[u8], kind: u8) -> Option<EchoRequest> {
    if message.len() < HEADER + PAYLOAD || message[0] != kind || message[1] != 0 {
        return None;
    }
    let word = |at: usize| {
        let mut eight = [0; 8];
        eight.copy_from_slice(&message[at..at + 8]);
        u64::from_be_bytes(eight)
    };
    Some(EchoRequest {
        token: word(HEADER),
        number: u16::from_be_bytes([message[6], message[7]]),
        sent: MonotonicTime(word(HEADER + 8)),
    })
}

/// The Internet checksum (RFC 1071) of an even number of bytes.
fn checksum(bytes: &[u8]) -> u16 {
    let mut sum: u32 =
        bytes.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn answered(echo: EchoRequest, v6: bool) -> Vec<u8> {
        let mut message = echo.to_request(v6);
        message[0] = if v6 { V6.1 } else { V4.1 };
        if v6 { message } else { [&[0x45; 20][..], &message].concat() }
    }

    #[test]
    fn the_checksum_holds() {
        let echo = EchoRequest { token: 0x0102_0304_0506_0708, number: 9, sent: MonotonicTime(77) };
        assert_eq!(checksum(&echo.to_request(false)), 0);
        let long = echo.to_padded_request(false, 1_481);
        assert_eq!(
            (checksum(&long), long.len(), &long[8..24]),
            (0, 1_480, &echo.to_request(false)[8..])
        );
    }

    proptest! {
        #[test]
        fn a_reply_repeats_its_request(token: u64, number: u16, sent: u64, v6: bool) {
            let echo = EchoRequest { token, number, sent: MonotonicTime(sent) };
            prop_assert_eq!(EchoRequest::parse_reply(&answered(echo, v6), v6), Some(echo));
            prop_assert_eq!(EchoRequest::parse_reply(&echo.to_request(v6), v6), None, "a question is no answer");
        }

        #[test]
        fn a_notice_is_a_question_that_names_a_link(token: u64, number: u16, sent: u64, down: u64, v6: bool) {
            let echo = EchoRequest { token, number, sent: MonotonicTime(sent) };
            let came = |message: Vec<u8>| if v6 { message } else { [&[0x45; 20][..], &message].concat() };
            let notice = echo.to_down_notice(v6, down);
            prop_assert!(v6 || checksum(&notice) == 0);
            prop_assert_eq!(ReceivedEcho::read(&came(notice), v6), Some(ReceivedEcho { echo, reports_link_down: Some(down) }));
            // A host without support for notices replies to a notice like to any request, and the reply is valid.
            let mut answer = echo.to_down_notice(v6, down);
            answer[0] = if v6 { V6.1 } else { V4.1 };
            prop_assert_eq!(EchoRequest::parse_reply(&came(answer), v6), Some(echo));
            for plain in [echo.to_request(v6), echo.to_padded_request(v6, 1_400)] {
                prop_assert_eq!(ReceivedEcho::read(&came(plain), v6), Some(ReceivedEcho { echo, reports_link_down: None }));
            }
            prop_assert_eq!(ReceivedEcho::read(&answered(echo, v6), v6), None, "an answer is no question");
        }

        #[test]
        fn nothing_received_is_trusted(bytes in prop::collection::vec(any::<u8>(), 0..80), v6: bool) {
            let _ = (EchoRequest::parse_reply(&bytes, v6), ReceivedEcho::read(&bytes, v6));
        }
    }
}
