//! What the configuration says that there is: zones, their names and what each is. It changes with the configuration
//! alone; what is up is the book's matter.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use model::config::{Config, NameSource, Named, Zone};

use super::candidate;
use super::domain::{Domain, LABEL_MAX, suffixes};
use super::near::Networks;
use super::record;

/// Aliases that are followed one after the other.
pub const ALIASES: usize = 8;

/// Everything that there is.
#[derive(Debug, Default)]
pub struct Plan {
    /// The zones.
    pub zones: Vec<ZonePlan>,
    /// The names, in their order.
    pub names: Vec<NamePlan>,
    nodes: HashMap<Domain, Node>,
}

/// A zone.
#[derive(Debug)]
pub struct ZonePlan {
    /// Its name.
    pub domain: Domain,
    /// The data of its SOA record.
    pub soa: Vec<u8>,
    /// The time to live of SOA, where it says that there is nothing (RFC 2308 §3).
    pub negative_ttl: u32,
    /// The time to live of the others.
    pub ttl: u32,
    /// Who answers for it.
    pub nameservers: Vec<Domain>,
    /// The data of its TXT records.
    pub texts: Vec<Vec<u8>>,
}

/// A name.
#[derive(Debug)]
pub struct NamePlan {
    /// As configured.
    pub config: Arc<Named>,
    /// Itself.
    pub domain: Domain,
    /// The time to live of its answers.
    pub ttl: u32,
    /// Networks of clients, by region.
    pub networks: Networks,
    /// Names below it for single candidates, where SRV needs them; in the candidates' order.
    pub targets: Vec<Option<Domain>>,
    /// The data of its HTTPS record.
    pub https: Option<Vec<u8>>,
    /// What is counted of it.
    pub live: Arc<Live>,
}

/// What is counted of a name. It outlives plans.
#[derive(Debug, Default)]
pub struct Live {
    /// Answers with addresses of it.
    pub answers: AtomicU64,
    /// How often each candidate came first in one, by name.
    pub given: Vec<(String, Arc<AtomicU64>)>,
}

/// A name that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Index of its zone.
    pub zone: usize,
    /// It is the zone's own name.
    pub apex: bool,
    /// What it is beside that.
    pub what: What,
}

/// What a name is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// There are only names below it.
    Nothing,
    /// One of `names`.
    Name(usize),
    /// A single candidate of one of `names`.
    Target(usize, usize),
    /// The SRV records of one of `names`.
    Srv(usize),
    /// Another name for this one; the time to live of that.
    Alias(Domain, u32),
}

impl Plan {
    /// What this configuration says. Counters of names that were there before go on.
    pub fn new(config: &Config, serial: u32, before: Option<&Plan>) -> Plan {
        let mut plan = Plan::default();
        for zone in config.zones.values() {
            if let Some(zone) = zone_plan(zone, serial) {
                let node = Node { zone: plan.zones.len(), apex: true, what: What::Nothing };
                plan.nodes.insert(zone.domain.clone(), node);
                plan.zones.push(zone);
            }
        }
        let old: HashMap<&str, &Arc<Live>> = before
            .iter()
            .flat_map(|plan| &plan.names)
            .map(|name| (name.config.name.as_str(), &name.live))
            .collect();
        for named in config.names.values() {
            plan.name(named, config, old.get(named.name.as_str()).copied());
        }
        // Names of tables come before those that follow from them.
        for at in 0..plan.names.len() {
            plan.below(at);
        }
        plan.between();
        plan
    }

    /// The name that is exactly this; lower-case.
    #[inline]
    pub fn node(&self, name: &[u8]) -> Option<&Node> {
        self.nodes.get(name)
    }

    /// The zone that a name lies in, whether it exists or not.
    pub fn zone_of(&self, name: &[u8]) -> Option<&ZonePlan> {
        // Every name from the zone's own down to one that exists is known.
        let node = suffixes(name).find_map(|suffix| self.nodes.get(suffix))?;
        self.zones.get(node.zone)
    }

    fn name(&mut self, named: &Arc<Named>, config: &Config, old: Option<&Arc<Live>>) {
        let Some(domain) = Domain::parse(&named.name) else { return };
        let Some(zone) = self.zone_index(&domain) else { return };
        let ttl = seconds(named.ttl);
        if let NameSource::Cname(target) = &named.source {
            if let Some(target) = Domain::parse(target) {
                self.put(domain, zone, What::Alias(target, ttl));
            }
            return;
        }
        let candidates = candidate::names(named, config);
        let target = |name: &String| {
            let wanted = !named.srv.is_empty() && name.len() <= LABEL_MAX;
            wanted.then(|| domain.below(name)).flatten()
        };
        let given = candidates.iter().map(|name| {
            let before = old.and_then(|live| live.given.iter().find(|(known, _)| known == name));
            (name.clone(), before.map(|(_, count)| Arc::clone(count)).unwrap_or_default())
        });
        let given: Vec<_> = given.collect();
        let same = old.filter(|live| {
            let names = |list: &[(String, Arc<AtomicU64>)]| {
                list.iter().map(|it| it.0.clone()).collect::<Vec<_>>()
            };
            names(&live.given) == names(&given)
        });
        let answers = old.map_or(0, |live| live.answers.load(std::sync::atomic::Ordering::Relaxed));
        let live = same
            .cloned()
            .unwrap_or_else(|| Arc::new(Live { answers: AtomicU64::new(answers), given }));
        self.put(domain.clone(), zone, What::Name(self.names.len()));
        self.names.push(NamePlan {
            ttl,
            networks: Networks::new(named.near.iter().map(|region| region.client.clone())),
            targets: candidates.iter().map(target).collect(),
            https: (!named.https.is_empty()).then(|| record::https(&named.https).ok()).flatten(),
            live,
            config: Arc::clone(named),
            domain,
        });
    }

    /// Names that follow from SRV records: their own, and those of their targets.
    fn below(&mut self, at: usize) {
        let Some(name) = self.names.get(at) else { return };
        let Some(zone) = self.zone_index(&name.domain) else { return };
        let services = name.config.srv.iter().filter_map(|labels| name.domain.below(labels));
        let services: Vec<Domain> = services.collect();
        let targets: Vec<Option<Domain>> = name.targets.clone();
        for domain in services {
            self.put(domain, zone, What::Srv(at));
        }
        for (who, domain) in targets.into_iter().enumerate() {
            if let Some(domain) = domain {
                self.put(domain, zone, What::Target(at, who));
            }
        }
    }

    /// A name; the first thing that it is stands.
    fn put(&mut self, domain: Domain, zone: usize, what: What) {
        match self.nodes.entry(domain) {
            Entry::Occupied(mut known) if known.get().what == What::Nothing => {
                known.get_mut().what = what;
            }
            Entry::Occupied(_) => {}
            Entry::Vacant(place) => {
                place.insert(Node { zone, apex: false, what });
            }
        }
    }

    /// Names that are there because others are below them (RFC 8020 §2).
    fn between(&mut self) {
        let known: Vec<(Domain, usize)> =
            self.nodes.iter().map(|(domain, node)| (domain.clone(), node.zone)).collect();
        for (domain, zone) in known {
            let Some(apex) = self.zones.get(zone).map(|zone| zone.domain.wire().len()) else {
                continue;
            };
            let above = suffixes(domain.wire()).skip(1).take_while(|suffix| suffix.len() > apex);
            let above: Vec<Domain> =
                above.filter_map(|suffix| Domain::parse(&super::domain::text(suffix))).collect();
            for domain in above {
                self.put(domain, zone, What::Nothing);
            }
        }
    }

    /// The zone with the longest name that this one ends with.
    fn zone_index(&self, domain: &Domain) -> Option<usize> {
        suffixes(domain.wire())
            .find_map(|suffix| self.zones.iter().position(|zone| zone.domain.wire() == suffix))
    }
}

fn zone_plan(zone: &Zone, serial: u32) -> Option<ZonePlan> {
    let domain = Domain::parse(&zone.name)?;
    let nameservers: Vec<Domain> =
        zone.nameservers.iter().filter_map(|name| Domain::parse(name)).collect();
    let contact = match zone.contact.as_str() {
        "" => domain.below("hostmaster")?,
        contact => Domain::parse(contact)?,
    };
    let negative_ttl = seconds(zone.negative_ttl);
    let texts = zone.text.iter().filter_map(|text| record::text(text).ok()).collect();
    Some(ZonePlan {
        soa: record::soa(nameservers.first()?, &contact, serial, negative_ttl).ok()?,
        negative_ttl,
        ttl: seconds(zone.ttl),
        nameservers,
        texts,
        domain,
    })
}

fn seconds(time: std::time::Duration) -> u32 {
    u32::try_from(time.as_secs()).unwrap_or(u32::MAX)
}
