//! Options in the labels of a Compose file, and in the arguments of the balancer's own container.

use crate::notes::ConversionNotes;
use crate::source::SourcePlace;

use super::constraints;
use super::container_merge;
use super::exposure;
use super::label_line::{LabelLine, label_line, label_lines};
use super::option_tree::{OptionNode, OptionValue, parse_flag};

/// The most names before a value, several times what any option has.
const DEEP: usize = 16;
/// The most elements of one list that labels number.
const ELEMENTS: usize = 1_000;

/// Whether a file is a Compose file with labels or arguments for Traefik.
pub fn is_compose(root: &OptionNode) -> bool {
    root.get("services").is_some_and(|services| {
        services
            .entries()
            .iter()
            .any(|service| service.get("labels").is_some() || service.get("image").is_some())
    }) && root.get("http").is_none()
}

/// The options of all containers of a Compose file.
pub fn read_compose(root: &OptionNode, notes: &mut ConversionNotes) -> OptionNode {
    let mut out = OptionNode { value: OptionValue::Table(Vec::new()), ..OptionNode::default() };
    let services = root.get("services").map(OptionNode::entries).unwrap_or_default();
    for service in services {
        exposure::refuse_environment(service, notes);
        merge(&mut out, read_arguments(service, notes), notes);
    }
    let exposed = exposure::exposes_by_default(&out);
    let mut containers = Vec::new();
    for service in services {
        containers.push(read_labels(service, &out, exposed, notes));
    }
    container_merge::merge_containers(&mut out, containers, notes);
    note_other_keys(root, notes);
    out
}

/// Reports what a Compose file says besides labels and arguments.
fn note_other_keys(root: &OptionNode, notes: &mut ConversionNotes) {
    let reason = "it tells how containers run, not how requests are forwarded";
    for key in root.entries().iter().filter(|key| !key.key.eq_ignore_ascii_case("services")) {
        key.not_needed(notes, reason);
    }
    let services = root.get("services").map(OptionNode::entries).unwrap_or_default();
    for key in services.iter().flat_map(OptionNode::entries) {
        let is_unused = key.key == "expose" && !notes.ledger.is_settled(first_place(key));
        if is_unused || !matches!(key.key.as_str(), "labels" | "command" | "deploy" | "expose") {
            key.not_needed(notes, reason);
        }
    }
}

/// The place of the first value of an option.
fn first_place(node: &OptionNode) -> SourcePlace {
    node.children().first().map_or(node.source, first_place)
}

fn is_balancer(service: &OptionNode) -> bool {
    service.text_of("image").is_some_and(|image| image.contains("traefik"))
}

fn read_arguments(service: &OptionNode, notes: &mut ConversionNotes) -> OptionNode {
    let mut out = OptionNode { value: OptionValue::Table(Vec::new()), ..OptionNode::default() };
    let Some(command) = service.get("command") else { return out };
    if !is_balancer(service) {
        command.not_needed(notes, "it is the command of another program");
        return out;
    }
    let lines: Vec<LabelLine> = match &command.value {
        OptionValue::Text(text) => {
            let words = text.split_whitespace();
            words.map(|word| label_line(word, command.source, word)).collect()
        }
        _ => command
            .items()
            .iter()
            .filter_map(|item| Some(label_line(item.as_text()?, item.source, &item.text)))
            .collect(),
    };
    for line in lines {
        let name = line.name.trim_start_matches('-').to_owned();
        let value = if line.text.contains('=') { line.value.clone() } else { "true".to_owned() };
        if line.name.starts_with("--") {
            insert_line(&mut out, &name, LabelLine { value, ..line }, notes);
        } else {
            notes.not_needed(line.source, &line.text, "it is no option of the balancer");
        }
    }
    out
}

/// `settings`: the arguments of the balancer. `exposed`: containers are published without a label.
fn read_labels(
    service: &OptionNode,
    settings: &OptionNode,
    exposed: bool,
    notes: &mut ConversionNotes,
) -> OptionNode {
    let mut out = OptionNode { value: OptionValue::Table(Vec::new()), ..OptionNode::default() };
    let mut lines = Vec::new();
    let all = label_lines(service);
    let admitted = constraints::admit(settings, &all);
    for line in all {
        match line.name.get(..8).is_some_and(|start| start.eq_ignore_ascii_case("traefik.")) {
            true => lines.push(line),
            false => notes.not_needed(
                line.source.whole(),
                &line.text,
                "it is a label of another program",
            ),
        }
    }
    note_deployment(service, notes);
    let enabled = lines.iter().find(|line| line.name.eq_ignore_ascii_case("traefik.enable"));
    let enabled = enabled.map_or(exposed, |line| parse_flag(&line.value).unwrap_or(false));
    if !enabled || admitted == Some(false) {
        for line in &lines {
            let reason = "the container is not exposed";
            notes.not_needed(line.source.whole(), &line.text, reason);
        }
        return out;
    }
    if admitted.is_none() {
        for line in &lines {
            let reason = "whether the constraints of the provider let the container in is not known here: it is not exposed";
            notes.left_out(
                line.source.whole(),
                &line.text,
                reason,
                "constraints with `Label` alone",
            );
        }
        return out;
    }
    for line in lines {
        let name = line.name[8..].to_owned();
        if name.eq_ignore_ascii_case("enable") {
            notes.converted(line.source.whole());
        } else if name.to_ascii_lowercase().starts_with("docker.") {
            let reason = "servers are reached under the container's name; the balancer has to be in its network";
            notes.changed(line.source.whole(), &line.text, reason, "");
        } else {
            insert_line(&mut out, &name, line, notes);
        }
    }
    complete(&mut out, service, notes);
    out
}

/// Keys beside the labels of `deploy` are those of the container.
fn note_deployment(service: &OptionNode, notes: &mut ConversionNotes) {
    let deploy = service.get("deploy").map(OptionNode::entries).unwrap_or_default();
    for key in deploy.iter().filter(|key| !key.key.eq_ignore_ascii_case("labels")) {
        key.not_needed(notes, "it tells how containers run, not how requests are forwarded");
    }
}

/// Enters a label under its path. Variables that a tool has still to fill in make the file unreadable.
fn insert_line(
    root: &mut OptionNode,
    name: &str,
    mut line: LabelLine,
    notes: &mut ConversionNotes,
) {
    let plain = line.value.replace("$$", "");
    let open = plain.find('$').and_then(|at| plain[at + 1..].chars().next());
    if open.is_some_and(|next| next == '{' || next.is_ascii_alphabetic() || next == '_') {
        let reason = "a variable of the environment has still to be filled in";
        let instead = "convert what `docker compose config` prints";
        return notes.unreadable(line.source.whole(), &line.text, reason, instead);
    }
    line.value = line.value.replace("$$", "$");
    let path: Vec<&str> = name.split('.').collect();
    if path.len() > DEEP || path.iter().any(|part| part.is_empty()) {
        return notes.left_out(line.source.whole(), &line.text, "it is no name of an option", "");
    }
    if !insert(root, &path, &line) {
        let reason = "it contradicts another label or argument";
        notes.left_out(line.source.whole(), &line.text, reason, "");
    }
}

/// A part of a name: `domains[0]` has a position, `rule` has none.
struct PathPart<'p> {
    name: &'p str,
    position: Option<usize>,
}

fn path_part(text: &str) -> Option<PathPart<'_>> {
    match text.split_once('[') {
        None => Some(PathPart { name: text, position: None }),
        Some((name, rest)) => {
            let position = rest.strip_suffix(']')?.parse().ok()?;
            (position < ELEMENTS).then_some(PathPart { name, position: Some(position) })
        }
    }
}

/// Whether the line could be entered.
fn insert(node: &mut OptionNode, path: &[&str], line: &LabelLine) -> bool {
    let Some(first) = path.first() else { return enter(node, line) };
    let Some(part) = path_part(first) else { return false };
    let OptionValue::Table(entries) = &mut node.value else { return false };
    let known = entries.iter().position(|one| one.key.eq_ignore_ascii_case(part.name));
    let at = known.unwrap_or_else(|| {
        let key = part.name.to_owned();
        entries.push(OptionNode { key, text: format!("{first}:"), ..OptionNode::default() });
        entries.len() - 1
    });
    let Some(entry) = entries.get_mut(at) else { return false };
    let target = match part.position {
        None => Some(entry),
        Some(position) => element(entry, position),
    };
    let Some(target) = target else { return false };
    let is_switch = target.as_text().is_some_and(|text| text == "true");
    if path.len() > 1 && (is_switch || matches!(target.value, OptionValue::Empty)) {
        target.value = OptionValue::Table(Vec::new());
    }
    insert(target, &path[1..], line)
}

/// The element of a list. `None` if the value is no list.
fn element(node: &mut OptionNode, position: usize) -> Option<&mut OptionNode> {
    if matches!(node.value, OptionValue::Empty) {
        node.value = OptionValue::List(Vec::new());
    }
    let OptionValue::List(items) = &mut node.value else { return None };
    if items.len() <= position {
        items.resize(position + 1, OptionNode::default());
    }
    items.get_mut(position)
}

/// Enters a value. `tls=true` may stand beside options of `tls`.
fn enter(node: &mut OptionNode, line: &LabelLine) -> bool {
    let is_free = node.source == SourcePlace::NONE;
    match &node.value {
        OptionValue::Empty => node.value = OptionValue::Text(line.value.clone()),
        OptionValue::Table(_) if is_free && line.value == "true" => {}
        _ => return false,
    }
    node.source = line.source.whole();
    node.text.clone_from(&line.text);
    true
}

/// Adds what Traefik derives from a container: the server's address, and the service of a router.
fn complete(options: &mut OptionNode, container: &OptionNode, notes: &mut ConversionNotes) {
    let exposed = container.texts_of("expose").into_iter().next().map(|port| port.text);
    for protocol in ["http", "tcp", "udp"] {
        let has_routers = options.find(&[protocol, "routers"]).is_some();
        let Some(table) = child_mut(options, protocol) else { continue };
        let Some(services) = container_merge::table(table, "services") else { continue };
        if has_routers && services.entries().is_empty() {
            let value = OptionValue::Table(Vec::new());
            push_entry(
                services,
                OptionNode { key: container.key.clone(), value, ..OptionNode::default() },
            );
        }
        let mut names = Vec::new();
        if let OptionValue::Table(entries) = &mut services.value {
            for service in entries {
                names.push(service.key.clone());
                add_server(service, &container.key, protocol, exposed.as_deref(), notes);
            }
        }
        let only = if names.len() == 1 { names.pop() } else { None };
        let Some((only, routers)) = only.zip(child_mut(table, "routers")) else { continue };
        if let OptionValue::Table(entries) = &mut routers.value {
            for router in entries.iter_mut().filter(|router| router.get("service").is_none()) {
                push_entry(router, OptionNode::implied("service", &only, SourcePlace::NONE));
            }
        }
    }
    if exposed.is_some() {
        container.convert_key("expose", notes);
    }
}

/// The server of a container: its name in the network, and the port that a label or the container names.
fn add_server(
    service: &mut OptionNode,
    container: &str,
    protocol: &str,
    exposed: Option<&str>,
    notes: &mut ConversionNotes,
) {
    const OTHER_KINDS: [&str; 4] = ["weighted", "mirroring", "failover", "highestrandomweight"];
    if OTHER_KINDS.iter().any(|kind| service.get(kind).is_some()) {
        return;
    }
    let Some(balancer) = container_merge::table(service, "loadbalancer") else { return };
    let server = balancer.get("server").cloned().unwrap_or_default();
    let scheme = server.text_of("scheme").unwrap_or("http");
    let address = match (server.text_of("url"), server.text_of("port").or(exposed)) {
        (Some(url), _) => url.to_owned(),
        (None, Some(port)) if protocol == "http" => format!("{scheme}://{container}:{port}"),
        (None, Some(port)) => format!("{container}:{port}"),
        (None, None) => return,
    };
    let mut place = SourcePlace::NONE;
    let mut fields = Vec::new();
    for field in server.entries() {
        if ["url", "port", "scheme"].iter().any(|key| field.key.eq_ignore_ascii_case(key)) {
            let reason = "the server is the container's name in its network, which a name server has to know";
            let instead = "an address, or `servers-from = { dns = … }`";
            field.changed(notes, reason, instead);
            place = field.source;
        } else {
            fields.push(field.clone());
        }
    }
    let key = if protocol == "http" { "url" } else { "address" };
    fields.push(OptionNode::implied(key, &address, place));
    let entry = OptionNode { value: OptionValue::Table(fields), ..OptionNode::default() };
    if let Some(servers) = container_merge::table(balancer, "servers") {
        match &mut servers.value {
            OptionValue::List(items) => items.push(entry),
            other => *other = OptionValue::List(vec![entry]),
        }
    }
}

fn push_entry(table: &mut OptionNode, entry: OptionNode) {
    if let OptionValue::Table(entries) = &mut table.value {
        entries.push(entry);
    }
}

fn child_mut<'n>(node: &'n mut OptionNode, key: &str) -> Option<&'n mut OptionNode> {
    match &mut node.value {
        OptionValue::Table(entries) => {
            entries.iter_mut().find(|entry| entry.key.eq_ignore_ascii_case(key))
        }
        _ => None,
    }
}

/// Adds the arguments of one balancer to those of another.
fn merge(into: &mut OptionNode, from: OptionNode, notes: &mut ConversionNotes) {
    let OptionValue::Table(entries) = from.value else { return };
    for entry in entries {
        let Some(known) = child_mut(into, &entry.key) else {
            push_entry(into, entry);
            continue;
        };
        match (&mut known.value, &entry.value) {
            (OptionValue::Table(_), OptionValue::Table(_)) => merge(known, entry, notes),
            (OptionValue::Text(text), OptionValue::Text(other)) if text == other => {
                entry.converted(notes);
            }
            _ => entry.left_out(notes, "another container says otherwise", ""),
        }
    }
}
