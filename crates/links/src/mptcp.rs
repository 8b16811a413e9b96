//! Messages about Multipath TCP to and from the kernel: endpoints from which connections open subflows, limits, and the
//! subflows of connections. Generic netlink (`linux/mptcp_pm.h`) and socket diagnosis (`linux/inet_diag.h`). Pure.

pub mod state;

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use model::config::EndpointPurpose;

use crate::netlink::{
    ACK, DUMP, NetlinkAttribute, attribute, message, nested, parse_attributes, text,
};
use state::{MptcpLimits, OwnMptcpEndpoint};

/// The numbers of our endpoints. Others use the lowest numbers, because the kernel counts from 1.
pub const OURS: std::ops::Range<u8> = 232..248;

/// `GENL_ID_CTRL`, its request for a family, and the reply's attribute.
/// Here and below, numbers of the kernel's uapi headers linux/genetlink.h, linux/mptcp.h and linux/mptcp_pm.h.
const CONTROL: u16 = 0x10;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;
const ADD: u8 = 1;
const REMOVE: u8 = 2;
const GET: u8 = 3;
const SET_LIMITS: u8 = 5;
const GET_LIMITS: u8 = 6;
const ADDRESS: u16 = 1;
const ACCEPTED_ADDRESSES: u16 = 2;
const SUBFLOWS: u16 = 3;
const FAMILY: u16 = 1;
const ID: u16 = 2;
const V4: u16 = 3;
const V6: u16 = 4;
const FLAGS: u16 = 6;
const INTERFACE: u16 = 7;
const SIGNAL: u32 = 1;
const SUBFLOW: u32 = 2;
const BACKUP: u32 = 4;

/// `SOCK_DIAG_BY_FAMILY`, protocols, and attributes of requests and replies.
const DIAGNOSE: u16 = 20;
const TCP: u8 = 6;
const MPTCP: u32 = 262;
const PROTOCOL: u16 = 3;
const INFO: u16 = 2;
const ABOVE: u16 = 19;
/// States with a far end: all except listening and closed.
const OPEN: u32 =
    (1 << 1) | (1 << 2) | (1 << 3) | (1 << 4) | (1 << 5) | (1 << 8) | (1 << 9) | (1 << 11);
/// Bytes of `struct inet_diag_msg`.
const HEAD: usize = 72;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MptcpEndpointEntry {
    pub id: u8,
    pub ip: IpAddr,
    /// The flags as the kernel defines them.
    pub flags: u32,
    /// The interface that its subflows leave by; 0: as routed.
    pub ifindex: u32,
}

/// A change of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndpointStep {
    Add(MptcpEndpointEntry),
    Remove(MptcpEndpointEntry),
}

/// The steps that set the endpoints as configured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndpointPlan {
    pub steps: Vec<EndpointStep>,
    /// Our endpoints after the steps.
    pub ours: Vec<OwnMptcpEndpoint>,
}

/// A subflow of a connection, or a connection as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MptcpFlow {
    pub local: SocketAddr,
    pub remote: SocketAddr,
    /// Connects a connection and its subflows.
    pub token: u32,
    /// Round trip in microseconds; 0 for a whole connection.
    pub round_trip_us: u32,
    /// Bytes that the far end has acknowledged.
    pub sent: u64,
    pub received: u64,
}

impl MptcpEndpointEntry {
    /// Connections from this machine open subflows from the endpoint.
    pub fn opens_subflows(&self) -> bool {
        self.flags & SUBFLOW != 0
    }

    /// The endpoint is announced to the far end.
    pub fn is_announced(&self) -> bool {
        self.flags & SIGNAL != 0
    }

    /// Its part that the state file holds.
    pub fn owned(&self) -> OwnMptcpEndpoint {
        OwnMptcpEndpoint { id: self.id, ip: self.ip }
    }

    /// Used only while no other subflow is.
    pub fn is_backup(&self) -> bool {
        self.flags & BACKUP != 0
    }
}

pub fn endpoint_flags(purpose: EndpointPurpose, backup: bool) -> u32 {
    let flag = |set: bool, flag: u32| if set { flag } else { 0 };
    flag(purpose.announces_address(), SIGNAL)
        | flag(purpose.opens_subflows(), SUBFLOW)
        | flag(backup, BACKUP)
}

/// The steps that set these endpoints. `own_endpoints`: the endpoints that this daemon set before.
///
/// An address that is another program's endpoint is left alone, regardless of its number: the kernel assigns numbers
/// above the highest one in use, which may be this daemon's.
pub fn plan_endpoints(
    wanted: &[MptcpEndpointEntry],
    there: &[MptcpEndpointEntry],
    own_endpoints: &[OwnMptcpEndpoint],
) -> EndpointPlan {
    let wants = |ip: IpAddr| wanted.iter().any(|spot| spot.ip == ip);
    // A wanted endpoint with such a number was set by an earlier daemon that did not record its endpoints.
    let ours = |spot: &&MptcpEndpointEntry| {
        OURS.contains(&spot.id) && (own_endpoints.contains(&spot.owned()) || wants(spot.ip))
    };
    let is_foreign = |ip: IpAddr| there.iter().any(|spot| spot.ip == ip && !ours(&spot));
    let same = |a: &MptcpEndpointEntry, b: &MptcpEndpointEntry| {
        (a.ip, a.flags, a.ifindex) == (b.ip, b.flags, b.ifindex)
    };
    let mut wanted: Vec<MptcpEndpointEntry> =
        wanted.iter().filter(|spot| !is_foreign(spot.ip)).copied().collect();
    let mut seen = HashSet::new();
    wanted.retain(|spot| seen.insert(spot.ip));
    let goes = |spot: &&MptcpEndpointEntry| ours(spot) && !wanted.iter().any(|one| same(one, spot));
    let (gone, left): (Vec<&MptcpEndpointEntry>, Vec<&MptcpEndpointEntry>) =
        there.iter().partition(goes);
    let mut plan = EndpointPlan {
        ours: left.iter().copied().filter(ours).map(MptcpEndpointEntry::owned).collect(),
        steps: gone.into_iter().map(|spot| EndpointStep::Remove(*spot)).collect(),
    };
    let mut free = OURS.filter(|id| !left.iter().any(|spot| spot.id == *id));
    for spot in wanted.iter().filter(|spot| !left.iter().any(|one| same(one, spot))) {
        if let Some(id) = free.next() {
            plan.steps.push(EndpointStep::Add(MptcpEndpointEntry { id, ..*spot }));
            plan.ours.push(OwnMptcpEndpoint { id, ip: spot.ip });
        }
    }
    plan
}

/// Requests the number of the kernel's family.
pub fn family_request() -> Vec<u8> {
    message(
        CONTROL,
        ACK,
        1,
        &[generic_header(GET_FAMILY, 1), text(FAMILY_NAME, "mptcp_pm")].concat(),
    )
}

/// The family's number, from the reply.
pub fn parse_family(body: &[u8]) -> Option<u16> {
    let id = find_attribute(body.get(4..)?, FAMILY_ID)?;
    Some(u16::from_ne_bytes(id.try_into().ok()?))
}

pub fn list_request(family: u16) -> Vec<u8> {
    message(family, DUMP, 1, &generic_header(GET, 1))
}

/// An endpoint, from a reply.
pub fn parse_endpoint(body: &[u8]) -> Option<MptcpEndpointEntry> {
    let address = find_attribute(body.get(4..)?, ADDRESS)?;
    let mut id = 0;
    let mut ip = None;
    let mut flags = 0;
    let mut ifindex = 0;
    for NetlinkAttribute { kind, value } in parse_attributes(address) {
        match kind {
            ID => id = *value.first()?,
            V4 => ip = <[u8; 4]>::try_from(value).ok().map(IpAddr::from),
            V6 => ip = <[u8; 16]>::try_from(value).ok().map(IpAddr::from),
            FLAGS => flags = read_u32(value, 0)?,
            INTERFACE => ifindex = read_u32(value, 0)?,
            _ => {}
        }
    }
    Some(MptcpEndpointEntry { id, ip: ip?, flags: flags & (SIGNAL | SUBFLOW | BACKUP), ifindex })
}

/// The request that carries out a step.
pub fn change_request(family: u16, step: &EndpointStep) -> Vec<u8> {
    let (command, spot) = match step {
        EndpointStep::Add(spot) => (ADD, spot),
        EndpointStep::Remove(spot) => (REMOVE, spot),
    };
    let (kind, ip) = match spot.ip {
        IpAddr::V4(v4) => (2_u16, attribute(V4, &v4.octets())),
        IpAddr::V6(v6) => (10, attribute(V6, &v6.octets())),
    };
    let mut parts = vec![attribute(FAMILY, &kind.to_ne_bytes()), attribute(ID, &[spot.id]), ip];
    parts.push(attribute(FLAGS, &spot.flags.to_ne_bytes()));
    if spot.ifindex != 0 {
        parts.push(attribute(INTERFACE, &spot.ifindex.to_ne_bytes()));
    }
    message(family, ACK, 1, &[generic_header(command, 1), nested(ADDRESS, &parts)].concat())
}

/// Requests the limits: accepted addresses of the far end, and subflows.
pub fn limits_request(family: u16) -> Vec<u8> {
    message(family, ACK, 1, &generic_header(GET_LIMITS, 1))
}

/// The limits, from the reply.
pub fn parse_limits(body: &[u8]) -> Option<MptcpLimits> {
    let all = body.get(4..)?;
    let of = |wanted| read_u32(find_attribute(all, wanted)?, 0);
    Some(MptcpLimits { accepted_addresses: of(ACCEPTED_ADDRESSES)?, subflows: of(SUBFLOWS)? })
}

pub fn set_limits_request(family: u16, limits: MptcpLimits) -> Vec<u8> {
    let parts = [
        generic_header(SET_LIMITS, 1),
        attribute(ACCEPTED_ADDRESSES, &limits.accepted_addresses.to_ne_bytes()),
        attribute(SUBFLOWS, &limits.subflows.to_ne_bytes()),
    ];
    message(family, ACK, 1, &parts.concat())
}

/// Requests whole connections, or TCP sockets, which include their subflows.
pub fn connections_request(v6: bool, whole: bool) -> Vec<u8> {
    let mut body = vec![if v6 { 10 } else { 2 }, TCP, 1 << (INFO - 1), 0];
    body.extend(OPEN.to_ne_bytes());
    body.resize(56, 0);
    if whole {
        body.extend(attribute(PROTOCOL, &MPTCP.to_ne_bytes()));
    }
    message(DIAGNOSE, DUMP, 1, &body)
}

/// A whole connection, from a reply.
pub fn parse_connection(body: &[u8]) -> Option<MptcpFlow> {
    let info = parse_info(body)?;
    let token = read_u32(info, 12)?;
    let sent = read_u64(info, 72)?;
    let received = read_u64(info, 64)?;
    parse_flow(body, token, 0, sent, received)
}

/// A subflow, from a reply; `None`: a socket of plain TCP.
pub fn parse_subflow(body: &[u8]) -> Option<MptcpFlow> {
    let above = find_attribute(body.get(HEAD..)?, ABOVE)?;
    let mptcp = find_attribute(above, 3)?;
    let token = read_u32(find_attribute(mptcp, 2)?, 0)?;
    let info = parse_info(body)?;
    parse_flow(body, token, read_u32(info, 68)?, read_u64(info, 120)?, read_u64(info, 128)?)
}

fn parse_info(body: &[u8]) -> Option<&[u8]> {
    find_attribute(body.get(HEAD..)?, INFO)
}

fn find_attribute(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    parse_attributes(bytes).into_iter().find(|one| one.kind == kind).map(|one| one.value)
}

fn parse_flow(
    body: &[u8],
    token: u32,
    round_trip_us: u32,
    sent: u64,
    received: u64,
) -> Option<MptcpFlow> {
    let v6 = *body.first()? == 10;
    let port = |at: usize| Some(u16::from_be_bytes(body.get(at..at + 2)?.try_into().ok()?));
    let ip = |at: usize| -> Option<IpAddr> {
        if v6 {
            let octets: [u8; 16] = body.get(at..at + 16)?.try_into().ok()?;
            return Some(Ipv6Addr::from(octets).to_canonical());
        }
        let octets: [u8; 4] = body.get(at..at + 4)?.try_into().ok()?;
        Some(Ipv4Addr::from(octets).into())
    };
    let local = SocketAddr::new(ip(8)?, port(4)?);
    let remote = SocketAddr::new(ip(24)?, port(6)?);
    Some(MptcpFlow { local, remote, token, round_trip_us, sent, received })
}

fn generic_header(command: u8, version: u8) -> Vec<u8> {
    vec![command, version, 0, 0]
}

fn read_u32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn read_u64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::netlink::{NetlinkReply, parse_replies};

    fn at(id: u8, ip: &str, flags: u32) -> MptcpEndpointEntry {
        MptcpEndpointEntry { id, ip: ip.parse().unwrap(), flags, ifindex: 0 }
    }

    #[test]
    fn existing_and_foreign_endpoints_are_left_alone() {
        let there =
            [at(1, "10.0.0.1", SIGNAL), at(232, "10.0.0.2", SUBFLOW), at(233, "10.0.0.3", SUBFLOW)];
        let own_endpoints = [there[1].owned(), there[2].owned()];
        let wanted =
            [at(0, "10.0.0.1", SUBFLOW), at(0, "10.0.0.2", SUBFLOW), at(0, "10.0.0.4", SIGNAL)];
        let found = plan_endpoints(&wanted, &there, &own_endpoints);
        let new = at(233, "10.0.0.4", SIGNAL);
        assert_eq!(found.steps, [EndpointStep::Remove(there[2]), EndpointStep::Add(new)]);
        assert_eq!(found.ours, [own_endpoints[0], new.owned()]);
        assert_eq!(plan_endpoints(&[], &there, &own_endpoints).steps.len(), 2);
        assert!(plan_endpoints(&wanted[1..2], &there[..2], &own_endpoints).steps.is_empty());
        // Endpoints of a daemon that recorded nothing are recognised because they are wanted.
        assert!(plan_endpoints(&wanted[1..2], &there[..2], &[]).steps.is_empty());
    }

    #[test]
    fn one_of_somebody_elses_that_was_numbered_behind_ours_is_left() {
        let ours = at(232, "10.0.0.2", SIGNAL);
        let theirs = at(233, "10.0.0.3", SIGNAL);
        let own_endpoints = [ours.owned()];
        let wanted =
            [at(0, "10.0.0.2", SIGNAL), at(0, "10.0.0.4", SIGNAL), at(0, "10.0.0.4", SIGNAL)];
        let found = plan_endpoints(&wanted, &[ours, theirs], &own_endpoints);
        let new = at(234, "10.0.0.4", SIGNAL);
        assert_eq!(
            found,
            EndpointPlan {
                steps: vec![EndpointStep::Add(new)],
                ours: vec![own_endpoints[0], new.owned()]
            }
        );
        assert_eq!(
            plan_endpoints(&[], &[ours, theirs], &own_endpoints).steps,
            [EndpointStep::Remove(ours)]
        );
    }

    #[test]
    fn an_endpoint_comes_back_as_it_was_written() {
        for spot in [
            at(232, "10.0.0.1", SIGNAL | SUBFLOW),
            MptcpEndpointEntry { ifindex: 7, ..at(240, "fd00::1", BACKUP) },
        ] {
            let NetlinkReply::Payload(kind, body) =
                parse_replies(&change_request(33, &EndpointStep::Add(spot))).remove(0)
            else {
                panic!()
            };
            assert_eq!((kind, super::parse_endpoint(&body)), (33, Some(spot)));
        }
        assert_eq!(endpoint_flags(EndpointPurpose::Both, true), 7);
    }

    proptest! {
        #[test]
        fn nothing_received_is_trusted(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = (parse_family(&bytes), super::parse_endpoint(&bytes), parse_limits(&bytes));
            let _ = (parse_connection(&bytes), parse_subflow(&bytes));
        }
    }
}
