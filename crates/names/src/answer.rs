//! What is said to a question that could be read: which records, or why there are none.
//!
//! One walk: the place of the name, aliases, the records of the type. It looks at no rate and counts nothing: `desk` does.

use std::net::IpAddr;

use model::config::NamePolicy;

use super::book::{Book, State};
use super::plan::{ALIASES, NamePlan, Node, What, ZonePlan};
use super::question::Question;
use super::record::{A, AAAA, ANY, CNAME, HINFO_KIND, HTTPS_KIND, IN, NS, SOA_KIND, SRV, TXT_KIND};
use super::set::{Order, Set};
use super::write::{Message, Owner};

/// How long the record of ANY is kept, seconds: it never changes.
const MINIMAL_TTL: u32 = 3_600;

/// What is to be said.
#[derive(Clone, Copy, Debug)]
pub enum Place<'b> {
    /// A name of ours.
    Here(&'b Node),
    /// A name that a zone of ours does not have.
    Missing(&'b ZonePlan),
    /// Nothing of ours, or nothing that is answered.
    Refused,
}

/// Who asks, as far as an answer depends on it.
#[derive(Clone, Copy, Debug)]
pub struct Client {
    /// The network's address that counts.
    pub address: IpAddr,
}

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Some record of the type, or an alias.
    pub records: bool,
    /// The name at the end of the aliases does not exist.
    pub missing: bool,
    /// Not all that belongs there did fit.
    pub truncated: bool,
    /// Bits of the client's address that it depends on.
    pub scope: u8,
    /// The name and the candidate that came first.
    pub given: Option<(usize, Option<usize>)>,
}

/// Where a question leads, before any alias.
pub fn place<'b>(book: &'b Book, question: &Question<'_>) -> Place<'b> {
    // Transfers, and the other types that ask for more than records of a name (RFC 6895 §3.1).
    let odd = question.class != IN || (128..=254).contains(&question.kind) || question.kind == 41;
    if odd {
        return Place::Refused;
    }
    locate(book, question.name())
}

fn locate<'b>(book: &'b Book, name: &[u8]) -> Place<'b> {
    if let Some(node) = book.plan.node(name) {
        return Place::Here(node);
    }
    book.plan.zone_of(name).map_or(Place::Refused, Place::Missing)
}

/// Writes what belongs to a place. `turn`: the number of this turn for a name and a family.
pub fn write(
    book: &Book,
    question: &Question<'_>,
    begin: Place<'_>,
    client: Client,
    turn: &mut impl FnMut(usize, bool) -> u64,
    message: &mut Message<'_>,
) -> Written {
    let mut written = Written::default();
    let mut owner = Owner::question(question.name().len());
    let mut place = begin;
    for _ in 0..=ALIASES {
        let node = match place {
            Place::Here(node) => node,
            Place::Missing(zone) => {
                written.missing = true;
                nothing(zone, owner, message, &mut written);
                return written;
            }
            Place::Refused => return written,
        };
        let Some(zone) = book.plan.zones.get(node.zone) else { return written };
        let What::Alias(target, ttl) = &node.what else {
            let alias = std::mem::take(&mut written.records);
            let found = Found { book, node, zone, owner, client };
            found.records(question, turn, message, &mut written);
            if !written.truncated && !written.records {
                nothing(zone, owner, message, &mut written);
            }
            written.records |= alias;
            return written;
        };
        if question.kind == ANY {
            written.truncated |=
                message.record(owner, HINFO_KIND, MINIMAL_TTL, &book.minimal).is_none();
            written.records = true;
            return written;
        }
        let Some(next) = message.record(owner, CNAME, *ttl, target.wire()) else {
            written.truncated = true;
            return written;
        };
        written.records = true;
        if question.kind == CNAME {
            return written;
        }
        (owner, place) = (next, locate(book, target.wire()));
    }
    written
}

/// Says that there is nothing, and for how long (RFC 2308 §2).
fn nothing(zone: &ZonePlan, owner: Owner, message: &mut Message<'_>, written: &mut Written) {
    message.authority();
    let apex = owner.above(zone.domain.wire().len());
    let ttl = zone.negative_ttl;
    written.truncated |= message.record(apex, SOA_KIND, ttl, &zone.soa).is_none();
}

/// A name that exists, and how it stands in the answer.
struct Found<'b> {
    book: &'b Book,
    node: &'b Node,
    zone: &'b ZonePlan,
    owner: Owner,
    client: Client,
}

impl Found<'_> {
    fn records(
        &self,
        question: &Question<'_>,
        turn: &mut impl FnMut(usize, bool) -> u64,
        message: &mut Message<'_>,
        written: &mut Written,
    ) {
        match question.kind {
            A | AAAA => self.addresses(question.kind == AAAA, turn, message, written),
            ANY => {
                let data = &self.book.minimal;
                written.truncated |=
                    message.record(self.owner, HINFO_KIND, MINIMAL_TTL, data).is_none();
                written.records = true;
            }
            SRV => self.services(message, written),
            HTTPS_KIND => {
                if let Some((name, _)) = self.name()
                    && let Some(data) = &name.https
                {
                    let full = message.record(self.owner, HTTPS_KIND, name.ttl, data).is_none();
                    (written.truncated, written.records) = (full, true);
                }
            }
            SOA_KIND | NS | TXT_KIND if self.node.apex => {
                self.apex(question.kind, message, written)
            }
            _ => {}
        }
    }

    fn name(&self) -> Option<(&NamePlan, &State)> {
        let What::Name(at) = self.node.what else { return None };
        Some((self.book.plan.names.get(at)?, self.book.states.get(at)?))
    }

    #[inline]
    fn addresses(
        &self,
        v6: bool,
        turn: &mut impl FnMut(usize, bool) -> u64,
        message: &mut Message<'_>,
        written: &mut Written,
    ) {
        let at = match self.node.what {
            What::Name(at) => at,
            What::Target(at, who) => return self.target(at, who, v6, message, written),
            _ => return,
        };
        let Some((name, state)) = self.name() else { return };
        let view = View::of(name, state, self.client.address);
        written.scope = view.scope;
        let set = view.families.of(v6);
        if set.is_empty() {
            return;
        }
        let order = view.order(name, || turn(at, v6));
        let first = set.pick(order);
        for step in 0..name.config.answers.min(set.len()) {
            if !message.ready(self.owner, set.record((first + step) % set.len())) {
                written.truncated = true;
                return;
            }
        }
        (written.records, written.given) = (true, Some((at, set.who(first))));
    }

    /// The addresses of a single candidate, whatever its state.
    fn target(
        &self,
        at: usize,
        who: usize,
        v6: bool,
        message: &mut Message<'_>,
        written: &mut Written,
    ) {
        let Some(name) = self.book.plan.names.get(at) else { return };
        for record in single(self.book, at, who, v6, name.ttl) {
            written.truncated |= !message.ready(self.owner, &record);
            written.records = true;
        }
    }

    fn services(&self, message: &mut Message<'_>, written: &mut Written) {
        let What::Srv(at) = self.node.what else { return };
        let plan = &self.book.plan;
        let (Some(name), Some(state)) = (plan.names.get(at), self.book.states.get(at)) else {
            return;
        };
        for target in &state.srv {
            if message.record(self.owner, SRV, name.ttl, &target.data).is_none() {
                written.truncated = true;
                return;
            }
            written.records = true;
        }
        // Addresses are a courtesy: what does not fit is asked for.
        message.additional();
        let base = self.owner.above(name.domain.wire().len());
        for target in &state.srv {
            let label = target.domain.wire();
            let label = &label[..label.len() - name.domain.wire().len()];
            for v6 in [false, true] {
                for record in single(self.book, at, target.who, v6, name.ttl) {
                    if !message.below(label, base, &record) {
                        return;
                    }
                }
            }
        }
    }

    fn apex(&self, kind: u16, message: &mut Message<'_>, written: &mut Written) {
        let zone = self.zone;
        match kind {
            SOA_KIND => {
                let full = message.record(self.owner, SOA_KIND, zone.ttl, &zone.soa).is_none();
                (written.truncated, written.records) = (full, true);
            }
            NS => {
                let mut servers = Vec::with_capacity(zone.nameservers.len());
                for server in &zone.nameservers {
                    match message.record(self.owner, NS, zone.ttl, server.wire()) {
                        Some(at) => servers.push((at, server)),
                        None => written.truncated = true,
                    }
                    written.records = true;
                }
                if written.truncated {
                    return;
                }
                message.additional();
                for (owner, server) in servers {
                    self.glue(owner, server.wire(), message);
                }
            }
            _ => {
                for text in &zone.texts {
                    written.truncated |=
                        message.record(self.owner, TXT_KIND, zone.ttl, text).is_none();
                    written.records = true;
                }
            }
        }
    }

    /// The addresses of a name server that has a name of ours.
    fn glue(&self, owner: Owner, name: &[u8], message: &mut Message<'_>) {
        let Some(What::Name(at)) = self.book.plan.node(name).map(|node| &node.what) else { return };
        let Some(state) = self.book.states.get(*at) else { return };
        for set in [&state.all.v4, &state.all.v6] {
            for record in (0..set.len()).map(|at| set.record(at)) {
                if !message.ready(owner, record) {
                    return;
                }
            }
        }
    }
}

/// Records of one candidate, whatever its state.
fn single(book: &Book, at: usize, who: usize, v6: bool, ttl: u32) -> impl Iterator<Item = Vec<u8>> {
    let candidate = book.states.get(at).and_then(|state| state.candidates.get(who));
    let addresses = candidate.into_iter().flat_map(|it| &it.addresses);
    addresses.filter(move |ip| ip.is_ipv6() == v6).map(move |ip| match ip {
        IpAddr::V4(v4) => super::record::ready(A, ttl, &v4.octets()),
        IpAddr::V6(v6) => super::record::ready(AAAA, ttl, &v6.octets()),
    })
}

/// What a client sees of a name.
#[derive(Debug)]
pub struct View<'b> {
    /// The addresses for it.
    pub families: &'b super::book::Families,
    /// Its region.
    pub region: Option<u16>,
    /// Bits of its address that this depends on.
    pub scope: u8,
    /// Its hash for `sticky`.
    hash: u64,
}

impl<'b> View<'b> {
    /// What this client sees.
    #[inline]
    pub fn of(name: &NamePlan, state: &'b State, client: IpAddr) -> View<'b> {
        let whole = View { families: &state.all, region: None, scope: 0, hash: 0 };
        match name.config.policy {
            NamePolicy::Nearest => {
                let found = name.networks.find(client);
                let near = found.region.and_then(|at| state.regions.get(usize::from(at)));
                let families = near.unwrap_or(&state.all);
                View { families, region: found.region, scope: found.scope, hash: 0 }
            }
            NamePolicy::Sticky => {
                let client = client.to_canonical();
                let mask = if client.is_ipv4() { name.config.mask4 } else { name.config.mask6 };
                let network = model::config::Prefix::new(client, mask);
                let address = network.map_or(client, |network| network.address());
                View { scope: mask, hash: model::hash::client(address), ..whole }
            }
            _ => whole,
        }
    }

    /// How the first address is found; a turn is taken only where turns count.
    #[inline]
    pub fn order(&self, name: &NamePlan, turn: impl FnOnce() -> u64) -> Order {
        match name.config.policy {
            NamePolicy::RoundRobin => Order::Turn(turn()),
            NamePolicy::Weighted | NamePolicy::Nearest => Order::Weight(turn()),
            NamePolicy::Sticky => Order::Client(self.hash),
            NamePolicy::Failover => Order::First,
        }
    }

    /// The addresses of one family.
    pub fn set(&self, v6: bool) -> &Set {
        self.families.of(v6)
    }
}
