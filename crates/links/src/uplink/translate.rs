//! The nf_tables messages that give forwarded connections the address of their uplink: a table with a rule for each
//! uplink, written as one transaction. Connection tracking does the rest. Pure.

use std::net::IpAddr;

use crate::netlink::{ACK, APPEND, CREATE, attribute, message, nested, text};

/// The name of our table, in each family.
const TABLE: &str = "steelyard-uplinks";
const CHAIN: &str = "out";
/// `NFNL_SUBSYS_NFTABLES`, and the messages around a transaction.
const SUBSYSTEM: u16 = 10;
const BEGIN: u16 = 0x10;
const END: u16 = 0x11;
const NEW_TABLE: u16 = 0;
const REMOVE_TABLE: u16 = 2;
const NEW_CHAIN: u16 = 3;
const NEW_RULE: u16 = 6;
/// `NF_INET_POST_ROUTING`, and the priority of source translation (`NF_IP_PRI_NAT_SRC`).
const POST_ROUTING: u32 = 4;
const SOURCES: u32 = 100;
/// `NFT_META_MARK`, `NFT_META_OIF`, a register.
const MARK: u32 = 3;
const INTERFACE: u32 = 5;
const REGISTER: u32 = 1;

/// Connections with this mark that leave by this interface get this source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceTranslation {
    pub mark: u32,
    /// The bits of the mark that count.
    pub mask: u32,
    pub ifindex: u32,
    pub source: IpAddr,
}

/// One transaction after which a family has exactly these translations; without any the table is removed. The kernel
/// answers each message except the first and the last.
pub fn nft_transaction(v6: bool, all: &[SourceTranslation]) -> Vec<Vec<u8>> {
    let mut bodies = vec![
        // Created first, so that it can be removed whether or not it existed.
        (NEW_TABLE, CREATE, vec![text(1, TABLE)]),
        (REMOVE_TABLE, 0, vec![text(1, TABLE)]),
    ];
    let all: Vec<&SourceTranslation> =
        all.iter().filter(|one| one.source.is_ipv6() == v6).collect();
    if !all.is_empty() {
        bodies.push((NEW_TABLE, CREATE, vec![text(1, TABLE)]));
        let hook = nested(4, &[word(1, POST_ROUTING), word(2, SOURCES)]);
        bodies.push((
            NEW_CHAIN,
            CREATE,
            vec![text(1, TABLE), text(3, CHAIN), hook, text(7, "nat")],
        ));
    }
    for one in all {
        let rule = vec![text(1, TABLE), text(2, CHAIN), nested(4, &rule_expressions(one))];
        bodies.push((NEW_RULE, CREATE | APPEND, rule));
    }
    let family = if v6 { 10 } else { 2 };
    let mut out = vec![message(BEGIN, 0, 0, &[0, 0, 0, 10])];
    for ((kind, flags, parts), number) in bodies.into_iter().zip(1_u32..) {
        let body = [vec![family, 0, 0, 0], parts.concat()].concat();
        out.push(message(SUBSYSTEM << 8 | kind, flags | ACK, number, &body));
    }
    out.push(message(END, 0, u32::MAX, &[0, 0, 0, 10]));
    out
}

fn rule_expressions(one: &SourceTranslation) -> [Vec<u8>; 7] {
    let (source, family) = match one.source {
        IpAddr::V4(v4) => (v4.octets().to_vec(), 2),
        IpAddr::V6(v6) => (v6.octets().to_vec(), 10),
    };
    let same = |value: u32| {
        expression("cmp", &[word(1, REGISTER), word(2, 0), data(3, &value.to_ne_bytes())])
    };
    let meta = |key| expression("meta", &[word(1, REGISTER), word(2, key)]);
    let masked = [
        word(1, REGISTER),
        word(2, REGISTER),
        word(3, 4),
        data(4, &one.mask.to_ne_bytes()),
        data(5, &[0; 4]),
    ];
    [
        meta(MARK),
        expression("bitwise", &masked),
        same(one.mark),
        meta(INTERFACE),
        same(one.ifindex),
        expression("immediate", &[word(1, REGISTER), data(2, &source)]),
        expression("nat", &[word(1, 0), word(2, family), word(3, REGISTER)]),
    ]
}

fn expression(name: &str, parts: &[Vec<u8>]) -> Vec<u8> {
    nested(1, &[text(1, name), nested(2, parts)])
}

/// A number in network byte order.
fn word(kind: u16, value: u32) -> Vec<u8> {
    attribute(kind, &value.to_be_bytes())
}

fn data(kind: u16, value: &[u8]) -> Vec<u8> {
    nested(kind, &[attribute(1, value)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::{NetlinkAttribute, NetlinkReply, parse_attributes, parse_replies};

    #[test]
    fn a_change_is_whole_and_names_what_it_is_about() {
        let one = |source: &str| SourceTranslation {
            mark: 0x0100_0000,
            mask: 0x1f00_0000,
            ifindex: 7,
            source: source.parse().unwrap(),
        };
        let all = [one("192.0.2.10"), one("fd00::1"), one("192.0.3.10")];
        let bytes = nft_transaction(false, &all);
        let kinds: Vec<u16> = parse_replies(&bytes.concat())
            .into_iter()
            .map(|answer| match answer {
                NetlinkReply::Payload(kind, _) => kind,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(kinds, [0x10, 0xa00, 0xa02, 0xa00, 0xa03, 0xa06, 0xa06, 0x11]);
        let rule = &bytes[5][20..];
        let names = parse_attributes(rule);
        assert_eq!(names[0], NetlinkAttribute { kind: 1, value: b"steelyard-uplinks\0" });
        let list = parse_attributes(names[2].value);
        let name = |at: usize| parse_attributes(list[at].value)[0].value.to_vec();
        assert_eq!((list.len(), name(0), name(6)), (7, b"meta\0".to_vec(), b"nat\0".to_vec()));
        assert_eq!(nft_transaction(true, &all).len(), 7, "one rule of IPv6");
        assert_eq!(nft_transaction(false, &[]).len(), 4, "made, and removed");
    }
}
