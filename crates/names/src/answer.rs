//! The answer to a well-formed question: which records, or why there are none.
//!
//! One walk: the node of the name, aliases, the records of the type. It checks no rate and counts nothing: `responder`
//! does.

use std::net::IpAddr;

use model::config::NamePolicy;

use super::address_set::{AddressSet, SelectionOrder};
use super::message::{MessageWriter, OwnerName};
use super::question::DnsQuestion;
use super::record::{A, AAAA, ANY, CNAME, HINFO_KIND, HTTPS_KIND, IN, NS, SOA_KIND, SRV, TXT_KIND};
use super::zone_data::{NameState, ZoneData};
use super::zone_plan::{ALIASES, NameNode, NameNodeKind, NamePlan, ZonePlan};

/// The time to live of the ANY record in seconds: the record never changes, and an hour bounds the cache of a resolver
/// after an upgrade.
const MINIMAL_TTL: u32 = 3_600;

/// Where a question leads.
#[derive(Clone, Copy, Debug)]
pub enum QueryTarget<'b> {
    /// A name of our zones.
    Node(&'b NameNode),
    /// A name that does not exist in one of our zones.
    Missing(&'b ZonePlan),
    /// A name outside our zones, or a type that is not answered.
    Refused,
}

/// The properties of a client that an answer may depend on.
#[derive(Clone, Copy, Debug)]
pub struct QueryClient {
    /// The address that the regions are matched with: the client's own, or its subnet's.
    pub address: IpAddr,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WrittenAnswer {
    /// At least one record of the type, or an alias.
    pub has_records: bool,
    /// The name at the end of the aliases does not exist.
    pub is_nxdomain: bool,
    /// Not all records did fit.
    pub truncated: bool,
    /// Bits of the client's address that the answer depends on.
    pub scope: u8,
    pub first_choice: Option<FirstChoice>,
}

/// The first address of an answer, by positions in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstChoice {
    pub name: usize,
    /// The candidate of the name; `None`: the address belongs to none.
    pub candidate: Option<usize>,
}

/// Where a question leads, before any alias.
pub fn find_target<'b>(zone_data: &'b ZoneData, question: &DnsQuestion<'_>) -> QueryTarget<'b> {
    // Zone transfers and other types that do not ask for records of a name (RFC 6895 §3.1).
    let odd = question.class != IN || (128..=254).contains(&question.kind) || question.kind == 41;
    if odd {
        return QueryTarget::Refused;
    }
    find_node(zone_data, question.name())
}

fn find_node<'b>(zone_data: &'b ZoneData, name: &[u8]) -> QueryTarget<'b> {
    if let Some(node) = zone_data.plan.node(name) {
        return QueryTarget::Node(node);
    }
    zone_data.plan.zone_of(name).map_or(QueryTarget::Refused, QueryTarget::Missing)
}

/// Writes the records of a target. `turn` returns the turn's number for a name and a family.
pub fn write_answer(
    zone_data: &ZoneData,
    question: &DnsQuestion<'_>,
    begin: QueryTarget<'_>,
    client: QueryClient,
    turn: &mut impl FnMut(usize, bool) -> u64,
    message: &mut MessageWriter<'_>,
) -> WrittenAnswer {
    let mut written = WrittenAnswer::default();
    let mut owner = OwnerName::for_question(question.name().len());
    let mut place = begin;
    for _ in 0..=ALIASES {
        let node = match place {
            QueryTarget::Node(node) => node,
            QueryTarget::Missing(zone) => {
                written.is_nxdomain = true;
                write_negative(zone, owner, message, &mut written);
                return written;
            }
            QueryTarget::Refused => return written,
        };
        let Some(zone) = zone_data.plan.zones.get(node.zone) else { return written };
        let NameNodeKind::Alias(target, ttl) = &node.kind else {
            let alias = std::mem::take(&mut written.has_records);
            let found = FoundNode { zone_data, node, zone, owner, client };
            found.write_records(question, turn, message, &mut written);
            if !written.truncated && !written.has_records {
                write_negative(zone, owner, message, &mut written);
            }
            written.has_records |= alias;
            return written;
        };
        if question.kind == ANY {
            written.truncated |=
                message.write_record(owner, HINFO_KIND, MINIMAL_TTL, &zone_data.minimal).is_none();
            written.has_records = true;
            return written;
        }
        let Some(next) = message.write_record(owner, CNAME, *ttl, target.wire()) else {
            written.truncated = true;
            return written;
        };
        written.has_records = true;
        if question.kind == CNAME {
            return written;
        }
        owner = next;
        place = find_node(zone_data, target.wire());
    }
    written
}

/// Writes a negative answer with the time for which it may be cached (RFC 2308 §2).
fn write_negative(
    zone: &ZonePlan,
    owner: OwnerName,
    message: &mut MessageWriter<'_>,
    written: &mut WrittenAnswer,
) {
    message.begin_authority();
    let apex = owner.ancestor(zone.domain.wire().len());
    let ttl = zone.negative_ttl;
    written.truncated |= message.write_record(apex, SOA_KIND, ttl, &zone.soa).is_none();
}

/// An existing name, and how it is referred to in the answer.
struct FoundNode<'b> {
    zone_data: &'b ZoneData,
    node: &'b NameNode,
    zone: &'b ZonePlan,
    owner: OwnerName,
    client: QueryClient,
}

impl FoundNode<'_> {
    fn write_records(
        &self,
        question: &DnsQuestion<'_>,
        turn: &mut impl FnMut(usize, bool) -> u64,
        message: &mut MessageWriter<'_>,
        written: &mut WrittenAnswer,
    ) {
        match question.kind {
            A | AAAA => self.write_addresses(question.kind == AAAA, turn, message, written),
            ANY => {
                let data = &self.zone_data.minimal;
                written.truncated |=
                    message.write_record(self.owner, HINFO_KIND, MINIMAL_TTL, data).is_none();
                written.has_records = true;
            }
            SRV => self.write_srv(message, written),
            HTTPS_KIND => {
                if let Some((name, _)) = self.name_state()
                    && let Some(data) = &name.https
                {
                    let full =
                        message.write_record(self.owner, HTTPS_KIND, name.ttl, data).is_none();
                    written.truncated = full;
                    written.has_records = true;
                }
            }
            SOA_KIND | NS | TXT_KIND if self.node.apex => {
                self.write_apex(question.kind, message, written)
            }
            _ => {}
        }
    }

    fn name_state(&self) -> Option<(&NamePlan, &NameState)> {
        let NameNodeKind::Name(at) = self.node.kind else { return None };
        Some((self.zone_data.plan.names.get(at)?, self.zone_data.states.get(at)?))
    }

    #[inline]
    fn write_addresses(
        &self,
        v6: bool,
        turn: &mut impl FnMut(usize, bool) -> u64,
        message: &mut MessageWriter<'_>,
        written: &mut WrittenAnswer,
    ) {
        let at = match self.node.kind {
            NameNodeKind::Name(at) => at,
            NameNodeKind::Target(at, who) => {
                return self.write_target(at, who, v6, message, written);
            }
            _ => return,
        };
        let Some((name, state)) = self.name_state() else { return };
        let view = ClientView::for_client(name, state, self.client.address);
        written.scope = view.scope;
        let set = view.families.family(v6);
        if set.is_empty() {
            return;
        }
        let order = view.selection_order(name, || turn(at, v6));
        let first = set.pick(order);
        for step in 0..name.config.answers.min(set.len()) {
            if !message.write_prepared(self.owner, set.record_bytes((first + step) % set.len())) {
                written.truncated = true;
                return;
            }
        }
        written.has_records = true;
        written.first_choice = Some(FirstChoice { name: at, candidate: set.candidate(first) });
    }

    /// The addresses of a single candidate, regardless of its state.
    fn write_target(
        &self,
        at: usize,
        who: usize,
        v6: bool,
        message: &mut MessageWriter<'_>,
        written: &mut WrittenAnswer,
    ) {
        let Some(name) = self.zone_data.plan.names.get(at) else { return };
        for record in candidate_records(self.zone_data, at, who, v6, name.ttl) {
            written.truncated |= !message.write_prepared(self.owner, &record);
            written.has_records = true;
        }
    }

    fn write_srv(&self, message: &mut MessageWriter<'_>, written: &mut WrittenAnswer) {
        let NameNodeKind::Srv(at) = self.node.kind else { return };
        let plan = &self.zone_data.plan;
        let (Some(name), Some(state)) = (plan.names.get(at), self.zone_data.states.get(at)) else {
            return;
        };
        for target in &state.srv {
            if message.write_record(self.owner, SRV, name.ttl, &target.data).is_none() {
                written.truncated = true;
                return;
            }
            written.has_records = true;
        }
        // The additional addresses are optional: a resolver queries those that do not fit.
        message.begin_additional();
        let base = self.owner.ancestor(name.domain.wire().len());
        for target in &state.srv {
            let label = target.domain.wire();
            let label = &label[..label.len() - name.domain.wire().len()];
            for v6 in [false, true] {
                for record in candidate_records(self.zone_data, at, target.candidate, v6, name.ttl)
                {
                    if !message.write_child(label, base, &record) {
                        return;
                    }
                }
            }
        }
    }

    fn write_apex(&self, kind: u16, message: &mut MessageWriter<'_>, written: &mut WrittenAnswer) {
        let zone = self.zone;
        match kind {
            SOA_KIND => {
                let full =
                    message.write_record(self.owner, SOA_KIND, zone.ttl, &zone.soa).is_none();
                written.truncated = full;
                written.has_records = true;
            }
            NS => {
                let mut servers = Vec::with_capacity(zone.nameservers.len());
                for server in &zone.nameservers {
                    match message.write_record(self.owner, NS, zone.ttl, server.wire()) {
                        Some(at) => servers.push((at, server)),
                        None => written.truncated = true,
                    }
                    written.has_records = true;
                }
                if written.truncated {
                    return;
                }
                message.begin_additional();
                for (owner, server) in servers {
                    self.write_glue(owner, server.wire(), message);
                }
            }
            _ => {
                for text in &zone.texts {
                    written.truncated |=
                        message.write_record(self.owner, TXT_KIND, zone.ttl, text).is_none();
                    written.has_records = true;
                }
            }
        }
    }

    /// The addresses of a name server whose name is in our zones.
    fn write_glue(&self, owner: OwnerName, name: &[u8], message: &mut MessageWriter<'_>) {
        let Some(NameNodeKind::Name(at)) = self.zone_data.plan.node(name).map(|node| &node.kind)
        else {
            return;
        };
        let Some(state) = self.zone_data.states.get(*at) else { return };
        for set in [&state.default_region.v4, &state.default_region.v6] {
            for record in (0..set.len()).map(|at| set.record_bytes(at)) {
                if !message.write_prepared(owner, record) {
                    return;
                }
            }
        }
    }
}

/// Records of one candidate, regardless of its state.
fn candidate_records(
    zone_data: &ZoneData,
    at: usize,
    who: usize,
    v6: bool,
    ttl: u32,
) -> impl Iterator<Item = Vec<u8>> {
    let candidate = zone_data.states.get(at).and_then(|state| state.candidates.get(who));
    let addresses = candidate.into_iter().flat_map(|it| &it.addresses);
    addresses.filter(move |ip| ip.is_ipv6() == v6).map(move |ip| match ip {
        IpAddr::V4(v4) => super::record::build_record(A, ttl, &v4.octets()),
        IpAddr::V6(v6) => super::record::build_record(AAAA, ttl, &v6.octets()),
    })
}

/// A name as one client sees it.
#[derive(Debug)]
pub struct ClientView<'b> {
    /// The addresses for the client's region.
    pub families: &'b super::zone_data::AddressFamilies,
    pub region: Option<u16>,
    /// Bits of the client's address that the region depends on.
    pub scope: u8,
    /// The client's hash for `sticky`.
    hash: u64,
}

impl<'b> ClientView<'b> {
    /// A name as this client sees it.
    #[inline]
    pub fn for_client(name: &NamePlan, state: &'b NameState, client: IpAddr) -> ClientView<'b> {
        let whole = ClientView { families: &state.default_region, region: None, scope: 0, hash: 0 };
        match name.config.policy {
            NamePolicy::Nearest => {
                let found = name.networks.find(client);
                let near = found.region.and_then(|at| state.regions.get(usize::from(at)));
                let families = near.unwrap_or(&state.default_region);
                ClientView { families, region: found.region, scope: found.scope, hash: 0 }
            }
            NamePolicy::Sticky => {
                let client = client.to_canonical();
                let mask = if client.is_ipv4() { name.config.mask4 } else { name.config.mask6 };
                let network = model::config::IpPrefix::new(client, mask);
                let address = network.map_or(client, |network| network.address());
                ClientView { scope: mask, hash: model::hash::hash_client(address), ..whole }
            }
            _ => whole,
        }
    }

    /// How the first address is chosen. A turn is counted only where the policy uses turns.
    #[inline]
    pub fn selection_order(&self, name: &NamePlan, turn: impl FnOnce() -> u64) -> SelectionOrder {
        match name.config.policy {
            NamePolicy::RoundRobin => SelectionOrder::RoundRobin(turn()),
            NamePolicy::Weighted | NamePolicy::Nearest => SelectionOrder::Weighted(turn()),
            NamePolicy::Sticky => SelectionOrder::ClientHash(self.hash),
            NamePolicy::Failover => SelectionOrder::First,
        }
    }

    pub fn address_set(&self, v6: bool) -> &AddressSet {
        self.families.family(v6)
    }
}
