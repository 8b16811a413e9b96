//! Routing rules and tables of uplinks in the kernel, and which interfaces and addresses there are. What has our number as
//! its origin is ours; nothing else is touched. It decides nothing.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::{BoxStream, TryStreamExt};
use links::uplink::plan::{Hop, Route, RoutingPlan, RoutingStep, Rule, RuleSelector, TableKey};
use links::uplink::source::InterfaceNetwork;
use rtnetlink::packet_core::NetlinkPayload;
use rtnetlink::packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage};
use rtnetlink::packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use rtnetlink::packet_route::route::{
    RouteAttribute, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use rtnetlink::packet_route::rule::{RuleAction, RuleAttribute, RuleMessage};
use rtnetlink::packet_route::{AddressFamily, RouteNetlinkMessage};
use rtnetlink::{
    Handle, IpVersion, MulticastGroup, RouteMessageBuilder, RouteNextHopBuilder,
    new_multicast_connection,
};
use rustix::io::Errno;
use tokio::task::JoinHandle;

/// The origin of our rules and routes, as `ip rule` and `ip route` show it (`proto 115`).
const OURS: u8 = 115;
/// The kernel answers at once; a socket that does not is given up.
const ANSWER: Duration = Duration::from_secs(2);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UplinkInterface {
    pub ifindex: u32,
    /// It is set up and has a carrier.
    pub carrier: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteChange {
    Interfaces,
    /// Rules, or routes in our tables: written by us, or removed by another program.
    Ours,
}

/// A connection to the kernel.
pub struct RouteNetlink {
    handle: Handle,
    changes: BoxStream<'static, RouteChange>,
    pump: JoinHandle<()>,
}

impl Drop for RouteNetlink {
    fn drop(&mut self) {
        self.pump.abort();
    }
}

impl RouteNetlink {
    /// Connects and begins to listen.
    ///
    /// # Errors
    /// There is no such socket.
    pub fn connect() -> io::Result<RouteNetlink> {
        let groups = [
            MulticastGroup::Link,
            MulticastGroup::Ipv4Ifaddr,
            MulticastGroup::Ipv6Ifaddr,
            MulticastGroup::Ipv4Rule,
            MulticastGroup::Ipv6Rule,
            MulticastGroup::Ipv4Route,
            MulticastGroup::Ipv6Route,
        ];
        let (connection, handle, messages) = new_multicast_connection(&groups)?;
        let pump = tokio::spawn(connection);
        let news = messages.filter_map(|(message, _)| async move {
            match message.payload {
                NetlinkPayload::InnerMessage(
                    RouteNetlinkMessage::NewLink(_)
                    | RouteNetlinkMessage::DelLink(_)
                    | RouteNetlinkMessage::NewAddress(_)
                    | RouteNetlinkMessage::DelAddress(_),
                ) => Some(RouteChange::Interfaces),
                NetlinkPayload::InnerMessage(RouteNetlinkMessage::DelRule(_)) => {
                    Some(RouteChange::Ours)
                }
                NetlinkPayload::InnerMessage(RouteNetlinkMessage::DelRoute(message)) => {
                    is_ours(&message).then_some(RouteChange::Ours)
                }
                _ => None,
            }
        });
        Ok(RouteNetlink { handle, changes: news.boxed(), pump })
    }

    /// The next change; `None` if the connection is lost.
    pub async fn next_change(&mut self) -> Option<RouteChange> {
        self.changes.next().await
    }

    /// All interfaces by name.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn interfaces(
        &self,
    ) -> impl Future<Output = io::Result<HashMap<String, UplinkInterface>>> + Send + use<> {
        let all = self.handle.link().get().execute().try_collect::<Vec<_>>();
        async move { Ok(with_timeout(all).await?.into_iter().filter_map(interface).collect()) }
    }

    /// All addresses of this machine that may be used.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn addresses(
        &self,
    ) -> impl Future<Output = io::Result<Vec<InterfaceNetwork>>> + Send + use<> {
        let all = self.handle.address().get().execute().try_collect::<Vec<_>>();
        async move { Ok(with_timeout(all).await?.iter().filter_map(address).collect()) }
    }

    /// Our rules as they stand.
    ///
    /// # Errors
    /// The kernel refuses.
    pub async fn rules(&self) -> io::Result<Vec<Rule>> {
        let mut rules = Vec::new();
        for version in [IpVersion::V4, IpVersion::V6] {
            let v6 = version == IpVersion::V6;
            let all = self.handle.rule().get(version).execute().try_collect::<Vec<_>>();
            rules.extend(with_timeout(all).await?.iter().filter_map(|message| rule(v6, message)));
        }
        Ok(rules)
    }

    /// Tables with routes of this daemon.
    ///
    /// # Errors
    /// The kernel refuses.
    pub async fn tables(&self) -> io::Result<Vec<TableKey>> {
        let mut places = Vec::new();
        for v6 in [false, true] {
            let mut question = RouteMessage::default();
            question.header.address_family = family(v6);
            let all = self.handle.route().get(question).execute().try_collect::<Vec<_>>();
            let found = with_timeout(all).await?.into_iter().filter(is_ours);
            places.extend(found.map(|one| (v6, table(one.header.table, &one))));
        }
        places.sort_unstable();
        places.dedup();
        Ok(places)
    }

    /// The rules and tables that this daemon has installed. The tables are without the content of their routes.
    ///
    /// # Errors
    /// The kernel refuses.
    pub async fn installed_plan(&self) -> io::Result<RoutingPlan> {
        // Like none that is wanted.
        let unknown = || Route { hops: Vec::new(), source: Some(Ipv4Addr::UNSPECIFIED.into()) };
        let routes = self.tables().await?.into_iter().map(|place| (place, unknown())).collect();
        Ok(RoutingPlan { rules: self.rules().await?, routes })
    }

    /// Carries a step out; no error when it is done already.
    ///
    /// # Errors
    /// The kernel refuses.
    pub async fn apply_step(&self, step: &RoutingStep) -> io::Result<()> {
        match step {
            RoutingStep::Route((v6, table), route) => {
                let message = message(*v6, *table, Some(route));
                done(self.handle.route().add(message).replace().execute(), None).await
            }
            RoutingStep::Clear((v6, table)) => {
                // One after the other: routes of several ways may be several here.
                let request = || self.handle.route().del(message(*v6, *table, None)).execute();
                done(request(), Some(Errno::SRCH)).await
            }
            RoutingStep::Add(rule) => {
                let mut request = self.handle.rule().add();
                *request.message_mut() = parse_route(rule);
                done(request.execute(), Some(Errno::EXIST)).await
            }
            RoutingStep::Remove(rule) => {
                done(self.handle.rule().del(parse_route(rule)).execute(), Some(Errno::NOENT)).await
            }
        }
    }
}

fn is_ours(message: &RouteMessage) -> bool {
    message.header.protocol == RouteProtocol::Other(OURS)
}

fn interface(message: LinkMessage) -> Option<(String, UplinkInterface)> {
    let flags = message.header.flags;
    let carrier = flags.contains(LinkFlags::Up) && flags.contains(LinkFlags::LowerUp);
    let ifindex = message.header.index;
    let name = message.attributes.into_iter().find_map(|attribute| match attribute {
        LinkAttribute::IfName(name) => Some(name),
        _ => None,
    })?;
    Some((name, UplinkInterface { ifindex, carrier }))
}

fn address(message: &AddressMessage) -> Option<InterfaceNetwork> {
    let unusable = AddressHeaderFlags::Tentative | AddressHeaderFlags::Dadfailed;
    if message.header.flags.intersects(unusable) {
        return None;
    }
    let mut local = None;
    let mut plain = None;
    for attribute in &message.attributes {
        match attribute {
            AddressAttribute::Local(ip) => local = Some(*ip),
            AddressAttribute::Address(ip) => plain = Some(*ip),
            _ => {}
        }
    }
    let ip = local.or(plain)?;
    let ifindex = message.header.index;
    let bits = message.header.prefix_len;
    Some(InterfaceNetwork { ifindex, ip, peer: plain.unwrap_or(ip), bits })
}

fn family(v6: bool) -> AddressFamily {
    if v6 { AddressFamily::Inet6 } else { AddressFamily::Inet }
}

fn table(short: u8, message: &RouteMessage) -> u32 {
    let long = message.attributes.iter().find_map(|attribute| match attribute {
        RouteAttribute::Table(table) => Some(*table),
        _ => None,
    });
    long.unwrap_or(u32::from(short))
}

/// A default route of this daemon; `None`: any.
fn message(v6: bool, table: u32, route: Option<&Route>) -> RouteMessage {
    let mut message = RouteMessageBuilder::<IpAddr>::new()
        .table_id(table)
        .protocol(RouteProtocol::Other(OURS))
        .build();
    message.header.address_family = family(v6);
    let Some(route) = route else {
        message.header.kind = RouteType::Unspec;
        message.header.scope = RouteScope::NoWhere;
        return message;
    };
    if route.hops.is_empty() {
        message.header.kind = RouteType::Unreachable;
    } else if let [Hop { ifindex, gateway, .. }] = route.hops[..] {
        message.attributes.push(RouteAttribute::Oif(ifindex));
        message.attributes.push(RouteAttribute::Gateway(gateway.into()));
    } else {
        let hop = |hop: &Hop| {
            let builder = RouteNextHopBuilder::new(family(v6)).interface(hop.ifindex);
            // As the kernel counts: 0 is the weight 1.
            let weight = u8::try_from(hop.weight.saturating_sub(1)).unwrap_or(u8::MAX);
            Some(builder.via(hop.gateway).ok()?.weight(weight).build())
        };
        message
            .attributes
            .push(RouteAttribute::MultiPath(route.hops.iter().filter_map(hop).collect()));
    }
    if let Some(source) = route.source {
        message.attributes.push(RouteAttribute::PrefSource(source.into()));
    }
    message
}

fn parse_route(rule: &Rule) -> RuleMessage {
    let mut message = RuleMessage::default();
    message.header.family = family(rule.v6);
    message.header.action = RuleAction::ToTable;
    message.attributes.push(RuleAttribute::Priority(rule.priority));
    message.attributes.push(RuleAttribute::Table(rule.table));
    message.attributes.push(RuleAttribute::Protocol(RouteProtocol::Other(OURS)));
    match rule.selector {
        RuleSelector::Mark { value, mask } => {
            message.attributes.push(RuleAttribute::FwMark(value));
            message.attributes.push(RuleAttribute::FwMask(mask));
        }
        RuleSelector::From(ip) => {
            message.header.src_len = if ip.is_ipv6() { 128 } else { 32 };
            message.attributes.push(RuleAttribute::Source(ip));
        }
        RuleSelector::Nearer => message.attributes.push(RuleAttribute::SuppressPrefixLen(0)),
        RuleSelector::Any => {}
    }
    message
}

/// An installed rule of this daemon. A rule of another form gets a mark that belongs to no uplink, so that it is
/// replaced.
fn rule(v6: bool, message: &RuleMessage) -> Option<Rule> {
    let mut rule = Rule {
        v6,
        priority: 0,
        selector: RuleSelector::Any,
        table: u32::from(message.header.table),
    };
    let mut ours = false;
    let mut value = None;
    let mut mask = u32::MAX;
    for attribute in &message.attributes {
        match attribute {
            RuleAttribute::Priority(priority) => rule.priority = *priority,
            RuleAttribute::Table(table) => rule.table = *table,
            RuleAttribute::Protocol(from) => ours = *from == RouteProtocol::Other(OURS),
            RuleAttribute::FwMark(mark) => value = Some(*mark),
            RuleAttribute::FwMask(bits) => mask = *bits,
            RuleAttribute::Source(ip) => rule.selector = RuleSelector::From(*ip),
            RuleAttribute::SuppressPrefixLen(0) => rule.selector = RuleSelector::Nearer,
            _ => {}
        }
    }
    if let Some(value) = value {
        rule.selector = RuleSelector::Mark { value, mask };
    }
    ours.then_some(rule)
}

/// The kernel's answer, of which one refusal may be as good as done.
async fn done(
    ask: impl Future<Output = Result<(), rtnetlink::Error>>,
    as_good: Option<Errno>,
) -> io::Result<()> {
    match tokio::time::timeout(ANSWER, ask).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(rtnetlink::Error::NetlinkError(message))) => {
            let error = message.to_io();
            let fine = as_good.is_some_and(|one| error.raw_os_error() == Some(one.raw_os_error()));
            if fine { Ok(()) } else { Err(error) }
        }
        Ok(Err(error)) => Err(io::Error::other(error)),
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}

async fn with_timeout<T>(ask: impl Future<Output = Result<T, rtnetlink::Error>>) -> io::Result<T> {
    match tokio::time::timeout(ANSWER, ask).await {
        Ok(answer) => answer.map_err(io::Error::other),
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}
