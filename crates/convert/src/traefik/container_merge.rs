//! Joins the options of several containers. As Traefik does, servers of one service are joined, and an object about which
//! containers contradict each other is dropped.

use std::collections::HashMap;

use crate::notes::ConversionNotes;

use super::option_tree::{OptionNode, OptionValue};

/// Keys of a load balancer that may differ between the containers of a service.
const SERVERS: [&str; 2] = ["servers", "server"];

/// What the containers say of one object, such as a router.
struct ObjectVersions {
    layer: String,
    section: String,
    versions: Vec<OptionNode>,
}

/// The objects of all containers in the order of their first labels.
#[derive(Default)]
struct ContainerObjects {
    list: Vec<ObjectVersions>,
    /// By layer, section and name in small letters.
    by_name: HashMap<String, usize>,
}

/// Adds the options of containers to those of the balancer itself.
pub fn merge_containers(
    into: &mut OptionNode,
    containers: Vec<OptionNode>,
    notes: &mut ConversionNotes,
) {
    let mut objects = ContainerObjects::default();
    for layer in containers.into_iter().flat_map(take_entries) {
        if !matches!(layer.value, OptionValue::Table(_)) {
            layer.left_out(notes, "it is no name of an object", "");
            continue;
        }
        let name = layer.key.clone();
        for section in take_entries(layer) {
            let key = section.key.clone();
            if !matches!(section.value, OptionValue::Table(_)) {
                section.left_out(notes, "it is no name of an object", "");
                continue;
            }
            take_entries(section).into_iter().for_each(|one| objects.add(&name, &key, one));
        }
    }
    for object in objects.list {
        if let Some(node) = join(object.versions, notes) {
            push(into, &object.layer, &object.section, node);
        }
    }
}

fn take_entries(node: OptionNode) -> Vec<OptionNode> {
    match node.value {
        OptionValue::Table(entries) => entries,
        _ => Vec::new(),
    }
}

impl ContainerObjects {
    fn add(&mut self, layer: &str, section: &str, node: OptionNode) {
        let name = format!("{layer}\0{section}\0{}", node.key).to_ascii_lowercase();
        let known = self.by_name.get(&name).and_then(|at| self.list.get_mut(*at));
        if let Some(known) = known {
            return known.versions.push(node);
        }
        self.by_name.insert(name, self.list.len());
        self.list.push(ObjectVersions {
            layer: layer.to_owned(),
            section: section.to_owned(),
            versions: vec![node],
        });
    }
}

/// One object of all its versions. `None`: they contradict each other.
fn join(versions: Vec<OptionNode>, notes: &mut ConversionNotes) -> Option<OptionNode> {
    let mut rest = versions.into_iter();
    let mut first = rest.next()?;
    let others: Vec<OptionNode> = rest.collect();
    if others.iter().any(|other| other.key != first.key || !is_same(&first, other)) {
        let reason = "containers contradict each other about it: Traefik drops it too";
        for version in std::iter::once(&first).chain(&others) {
            version.left_out(notes, reason, "the same labels at each container");
        }
        return None;
    }
    for other in others {
        join_servers(&mut first, &other);
        settle_shared(&other, notes);
    }
    Some(first)
}

/// The `servers` of both become those of the first.
fn join_servers(first: &mut OptionNode, other: &OptionNode) {
    let own = |node: &OptionNode| node.key.eq_ignore_ascii_case("loadbalancer");
    let more = other.find(&["loadbalancer", "servers"]).map(OptionNode::items).unwrap_or_default();
    let OptionValue::Table(entries) = &mut first.value else { return };
    let Some(balancer) = entries.iter_mut().find(|one| own(one)) else { return };
    let OptionValue::Table(entries) = &mut balancer.value else { return };
    let servers = entries.iter_mut().find(|one| one.key.eq_ignore_ascii_case("servers"));
    if let Some(OptionValue::List(items)) = servers.map(|servers| &mut servers.value) {
        items.extend(more.iter().cloned());
    }
}

/// What the first version says too has the outcome of that. Servers are options of their own.
fn settle_shared(node: &OptionNode, notes: &mut ConversionNotes) {
    if SERVERS.iter().any(|key| node.key.eq_ignore_ascii_case(key)) {
        return;
    }
    match node.children().is_empty() {
        true => node.converted(notes),
        false => node.children().iter().for_each(|inner| settle_shared(inner, notes)),
    }
}

/// Whether two options say the same, servers of load balancers apart.
fn is_same(one: &OptionNode, other: &OptionNode) -> bool {
    let is_balancer = one.key.eq_ignore_ascii_case("loadbalancer");
    let is_own =
        |key: &str| !is_balancer || !SERVERS.iter().any(|own| key.eq_ignore_ascii_case(own));
    match (&one.value, &other.value) {
        (OptionValue::Empty, OptionValue::Empty) => true,
        (OptionValue::Text(one), OptionValue::Text(other)) => one == other,
        (OptionValue::List(one), OptionValue::List(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|pair| is_same(pair.0, pair.1))
        }
        (OptionValue::Table(_), OptionValue::Table(_)) => {
            let has = |table: &OptionNode, entry: &OptionNode| {
                table.get(&entry.key).is_some_and(|known| is_same(entry, known))
            };
            one.entries().iter().filter(|entry| is_own(&entry.key)).all(|entry| has(other, entry))
                && other
                    .entries()
                    .iter()
                    .filter(|entry| is_own(&entry.key))
                    .all(|entry| one.get(&entry.key).is_some())
        }
        _ => false,
    }
}

/// Puts an object into its table.
fn push(into: &mut OptionNode, layer: &str, section: &str, node: OptionNode) {
    let table = table(into, layer).and_then(|layer| table(layer, section));
    if let Some(OptionValue::Table(entries)) = table.map(|table| &mut table.value) {
        entries.push(node);
    }
}

/// The table of this name, which is added if it is not there. `None` if a value stands in its place.
pub fn table<'n>(node: &'n mut OptionNode, key: &str) -> Option<&'n mut OptionNode> {
    if matches!(node.value, OptionValue::Empty) {
        node.value = OptionValue::Table(Vec::new());
    }
    let OptionValue::Table(entries) = &mut node.value else { return None };
    let known = entries.iter().position(|entry| entry.key.eq_ignore_ascii_case(key));
    let at = known.unwrap_or_else(|| {
        entries.push(OptionNode {
            key: key.to_owned(),
            text: format!("{key}:"),
            value: OptionValue::Table(Vec::new()),
            ..OptionNode::default()
        });
        entries.len() - 1
    });
    entries.get_mut(at)
}
