//! The configured zones and names. It changes only with the configuration; `zone_data` holds the state.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use model::config::{Config, NameConfig, NameSource, ZoneConfig};

use super::candidate;
use super::client_networks::ClientNetworks;
use super::domain::{DomainName, LABEL_MAX, suffixes};
use super::record;

/// Aliases that are followed in a row: bounds the work for one query.
/// A longer chain is a mistake or a loop.
pub const ALIASES: usize = 8;

#[derive(Debug, Default)]
pub struct ZonePlans {
    pub zones: Vec<ZonePlan>,
    /// The names in their order.
    pub names: Vec<NamePlan>,
    nodes: HashMap<DomainName, NameNode>,
}

#[derive(Debug)]
pub struct ZonePlan {
    pub domain: DomainName,
    pub soa: Vec<u8>,
    /// The time to live of SOA in negative answers (RFC 2308 §3).
    pub negative_ttl: u32,
    /// The time to live of the zone's other records.
    pub ttl: u32,
    /// The zone's name servers.
    pub nameservers: Vec<DomainName>,
    pub texts: Vec<Vec<u8>>,
}

#[derive(Debug)]
pub struct NamePlan {
    pub config: Arc<NameConfig>,
    pub domain: DomainName,
    /// The time to live of the name's answers.
    pub ttl: u32,
    /// Networks of clients, by region.
    pub networks: ClientNetworks,
    /// Names of single candidates below the name, where SRV needs them; in the candidates' order.
    pub targets: Vec<Option<DomainName>>,
    pub https: Option<Vec<u8>>,
    pub counters: Arc<NameCounters>,
}

/// Counters of a name, which outlive a plan.
#[derive(Debug, Default)]
pub struct NameCounters {
    /// Answers with addresses of the name.
    pub answers: AtomicU64,
    pub first_choices: Vec<FirstChoiceCount>,
}

/// How often a candidate was the first of an answer.
#[derive(Debug)]
pub struct FirstChoiceCount {
    /// The candidate's name.
    pub candidate: String,
    pub count: Arc<AtomicU64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameNode {
    pub zone: usize,
    /// The name is the zone's apex.
    pub apex: bool,
    pub kind: NameNodeKind,
}

/// The kind of an existing name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameNodeKind {
    /// An empty non-terminal: names exist only below it.
    Empty,
    Name(usize),
    /// A single candidate of an entry of `names`.
    Target(usize, usize),
    /// The SRV records of an entry of `names`.
    Srv(usize),
    /// An alias: its target and its time to live.
    Alias(DomainName, u32),
}

impl ZonePlans {
    /// The plan of this configuration. Counters of names that existed before continue.
    pub fn new(config: &Config, serial: u32, before: Option<&ZonePlans>) -> ZonePlans {
        let mut plan = ZonePlans::default();
        for zone in config.zones.values() {
            if let Some(zone) = build_zone(zone, serial) {
                let node =
                    NameNode { zone: plan.zones.len(), apex: true, kind: NameNodeKind::Empty };
                plan.nodes.insert(zone.domain.clone(), node);
                plan.zones.push(zone);
            }
        }
        let old: HashMap<&str, &Arc<NameCounters>> = before
            .iter()
            .flat_map(|plan| &plan.names)
            .map(|name| (name.config.name.as_str(), &name.counters))
            .collect();
        for named in config.names.values() {
            plan.add_name(named, config, old.get(named.name.as_str()).copied());
        }
        // Configured names take precedence over derived ones.
        for at in 0..plan.names.len() {
            plan.add_srv_names(at);
        }
        plan.add_empty_nodes();
        plan
    }

    /// The node with exactly this name; lower-case.
    #[inline]
    pub fn node(&self, name: &[u8]) -> Option<&NameNode> {
        self.nodes.get(name)
    }

    /// The zone of a name, whether or not the name exists.
    pub fn zone_of(&self, name: &[u8]) -> Option<&ZonePlan> {
        // Every name between the apex and an existing name has a node.
        let node = suffixes(name).find_map(|suffix| self.nodes.get(suffix))?;
        self.zones.get(node.zone)
    }

    fn add_name(
        &mut self,
        named: &Arc<NameConfig>,
        config: &Config,
        old: Option<&Arc<NameCounters>>,
    ) {
        let Some(domain) = DomainName::parse(&named.name) else { return };
        let Some(zone) = self.zone_index(&domain) else { return };
        let ttl = seconds(named.ttl);
        if let NameSource::Cname(target) = &named.source {
            if let Some(target) = DomainName::parse(target) {
                self.insert_node(domain, zone, NameNodeKind::Alias(target, ttl));
            }
            return;
        }
        let candidates = candidate::candidate_names(named, config);
        let target = |name: &String| {
            let wanted = !named.srv.is_empty() && name.len() <= LABEL_MAX;
            wanted.then(|| domain.child(name)).flatten()
        };
        let given = candidates.iter().map(|name| {
            let before =
                old.and_then(|live| live.first_choices.iter().find(|it| it.candidate == *name));
            FirstChoiceCount {
                candidate: name.clone(),
                count: before.map(|it| Arc::clone(&it.count)).unwrap_or_default(),
            }
        });
        let given: Vec<_> = given.collect();
        let same = old.filter(|live| {
            let names = |list: &[FirstChoiceCount]| {
                list.iter().map(|it| it.candidate.clone()).collect::<Vec<_>>()
            };
            names(&live.first_choices) == names(&given)
        });
        let answers = old.map_or(0, |live| live.answers.load(std::sync::atomic::Ordering::Relaxed));
        let live = same.cloned().unwrap_or_else(|| {
            Arc::new(NameCounters { answers: AtomicU64::new(answers), first_choices: given })
        });
        self.insert_node(domain.clone(), zone, NameNodeKind::Name(self.names.len()));
        self.names.push(NamePlan {
            ttl,
            networks: ClientNetworks::new(named.near.iter().map(|region| region.client.clone())),
            targets: candidates.iter().map(target).collect(),
            https: (!named.https.is_empty())
                .then(|| record::https_data(&named.https).ok())
                .flatten(),
            counters: live,
            config: Arc::clone(named),
            domain,
        });
    }

    /// Adds the names that SRV records need: their own names, and the names of their targets.
    fn add_srv_names(&mut self, at: usize) {
        let Some(name) = self.names.get(at) else { return };
        let Some(zone) = self.zone_index(&name.domain) else { return };
        let services = name.config.srv.iter().filter_map(|labels| name.domain.child(labels));
        let services: Vec<DomainName> = services.collect();
        let targets: Vec<Option<DomainName>> = name.targets.clone();
        for domain in services {
            self.insert_node(domain, zone, NameNodeKind::Srv(at));
        }
        for (who, domain) in targets.into_iter().enumerate() {
            if let Some(domain) = domain {
                self.insert_node(domain, zone, NameNodeKind::Target(at, who));
            }
        }
    }

    /// Adds a name; the first kind stays.
    fn insert_node(&mut self, domain: DomainName, zone: usize, what: NameNodeKind) {
        match self.nodes.entry(domain) {
            Entry::Occupied(mut known) if known.get().kind == NameNodeKind::Empty => {
                known.get_mut().kind = what;
            }
            Entry::Occupied(_) => {}
            Entry::Vacant(place) => {
                place.insert(NameNode { zone, apex: false, kind: what });
            }
        }
    }

    /// Adds empty non-terminals (RFC 8020 §2).
    fn add_empty_nodes(&mut self) {
        let known: Vec<(DomainName, usize)> =
            self.nodes.iter().map(|(domain, node)| (domain.clone(), node.zone)).collect();
        for (domain, zone) in known {
            let Some(apex) = self.zones.get(zone).map(|zone| zone.domain.wire().len()) else {
                continue;
            };
            let above = suffixes(domain.wire()).skip(1).take_while(|suffix| suffix.len() > apex);
            let above: Vec<DomainName> = above
                .filter_map(|suffix| DomainName::parse(&super::domain::format_name(suffix)))
                .collect();
            for domain in above {
                self.insert_node(domain, zone, NameNodeKind::Empty);
            }
        }
    }

    /// The zone with the longest matching suffix.
    fn zone_index(&self, domain: &DomainName) -> Option<usize> {
        suffixes(domain.wire())
            .find_map(|suffix| self.zones.iter().position(|zone| zone.domain.wire() == suffix))
    }
}

fn build_zone(zone: &ZoneConfig, serial: u32) -> Option<ZonePlan> {
    let domain = DomainName::parse(&zone.name)?;
    let nameservers: Vec<DomainName> =
        zone.nameservers.iter().filter_map(|name| DomainName::parse(name)).collect();
    let contact = match zone.contact.as_str() {
        "" => domain.child("hostmaster")?,
        contact => DomainName::parse(contact)?,
    };
    let negative_ttl = seconds(zone.negative_ttl);
    let texts = zone.text.iter().filter_map(|text| record::txt_data(text).ok()).collect();
    Some(ZonePlan {
        soa: record::soa_data(nameservers.first()?, &contact, serial, negative_ttl).ok()?,
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
