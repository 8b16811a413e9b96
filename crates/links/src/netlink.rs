//! Netlink messages for subsystems without a client library here, and their replies. Pure.

/// Bytes of a message's header.
/// The size of `struct nlmsghdr` in the kernel's uapi header linux/netlink.h.
pub const HEADER: usize = 16;
/// `NLM_F_REQUEST`, `NLM_F_ACK`, of `linux/netlink.h`.
pub const REQUEST: u16 = 1;
/// The kernel acknowledges the request.
pub const ACK: u16 = 4;
/// `NLM_F_DUMP`: the reply contains all entries.
pub const DUMP: u16 = 0x300;
pub const CREATE: u16 = 0x400;
/// `NLM_F_APPEND`: behind the existing entries.
pub const APPEND: u16 = 0x800;
/// Types of replies: `NLMSG_ERROR`, `NLMSG_DONE`.
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// `NLA_F_NESTED`: the attribute contains attributes.
const NESTED: u16 = 0x8000;

/// A message from its type, flags, number and body.
pub fn message(kind: u16, flags: u16, number: u32, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(HEADER + body.len()).unwrap_or(u32::MAX);
    let mut out = length.to_ne_bytes().to_vec();
    out.extend(kind.to_ne_bytes());
    out.extend((flags | REQUEST).to_ne_bytes());
    out.extend(number.to_ne_bytes());
    out.extend([0; 4]);
    out.extend(body);
    out.resize(out.len().next_multiple_of(4), 0);
    out
}

pub fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = u16::try_from(4 + value.len()).unwrap_or(u16::MAX);
    let mut out = length.to_ne_bytes().to_vec();
    out.extend(kind.to_ne_bytes());
    out.extend(value);
    out.resize(out.len().next_multiple_of(4), 0);
    out
}

/// An attribute that contains attributes.
pub fn nested(kind: u16, parts: &[Vec<u8>]) -> Vec<u8> {
    attribute(kind | NESTED, &parts.concat())
}

/// A text with its terminating zero.
pub fn text(kind: u16, value: &str) -> Vec<u8> {
    attribute(kind, &[value.as_bytes(), &[0]].concat())
}

/// A reply of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NetlinkReply {
    /// Done, or refused with this `errno`.
    Done(i32),
    /// The end of a list.
    End,
    Payload(u16, Vec<u8>),
}

/// The replies in received bytes; a truncated one is left out.
pub fn parse_replies(mut bytes: &[u8]) -> Vec<NetlinkReply> {
    let mut out = Vec::new();
    while let Some(head) = bytes.get(..HEADER) {
        let length = u32::from_ne_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let kind = u16::from_ne_bytes([head[4], head[5]]);
        let Some(body) = bytes.get(HEADER..length) else { break };
        out.push(match (kind, body) {
            (ERROR, [a, b, c, d, ..]) => {
                NetlinkReply::Done(i32::from_ne_bytes([*a, *b, *c, *d]).wrapping_neg())
            }
            (DONE, _) => NetlinkReply::End,
            _ => NetlinkReply::Payload(kind, body.to_vec()),
        });
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    out
}

/// A received attribute with its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetlinkAttribute<'a> {
    /// The subsystem's number of the attribute, without `NLA_F_NESTED`.
    pub kind: u16,
    pub value: &'a [u8],
}

/// The attributes in their order; a malformed one ends the list.
pub fn parse_attributes(mut bytes: &[u8]) -> Vec<NetlinkAttribute<'_>> {
    let mut out = Vec::new();
    while let [a, b, c, d, ..] = bytes {
        let length = usize::from(u16::from_ne_bytes([*a, *b]));
        let kind = u16::from_ne_bytes([*c, *d]) & !NESTED;
        let Some(value) = bytes.get(4..length) else { break };
        out.push(NetlinkAttribute { kind, value });
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn netlink_replies_are_distinguished() {
        let refused = [(-17_i32).to_ne_bytes().to_vec(), vec![0; 16]].concat();
        let all = [
            message(ERROR, 0, 1, &refused),
            message(33, 0, 2, &[1, 2, 3]),
            message(DONE, 0, 3, &[0; 4]),
        ];
        let found = parse_replies(&all.concat());
        assert_eq!(
            found,
            [NetlinkReply::Done(17), NetlinkReply::Payload(33, vec![1, 2, 3]), NetlinkReply::End]
        );
    }

    proptest! {
        #[test]
        fn attributes_come_back(all in prop::collection::vec((0..99_u16, prop::collection::vec(any::<u8>(), 0..40)), 0..8)) {
            let bytes: Vec<u8> = all.iter().flat_map(|(kind, value)| attribute(*kind, value)).collect();
            let found: Vec<(u16, Vec<u8>)> =
                parse_attributes(&bytes).into_iter().map(|one| (one.kind, one.value.to_vec())).collect();
            prop_assert_eq!(found, all);
        }

        #[test]
        fn nothing_received_is_trusted(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse_attributes(&bytes);
            for answer in parse_replies(&bytes) {
                if let NetlinkReply::Payload(_, body) = answer {
                    let _ = parse_attributes(&body);
                }
            }
        }
    }
}
