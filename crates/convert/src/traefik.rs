//! Traefik: entry points become services, routers their rules, and services pools.
//!
//! Dynamic and static configuration may be in one file, as YAML or TOML, or in a Compose file with labels.

mod acme;
mod chain_effect;
mod client_fields;
mod constraints;
mod container_merge;
mod entry_points;
mod exposure;
mod fields;
mod health_check;
mod http;
mod key_files;
mod label_line;
mod labels;
mod limits;
mod matchers;
mod middlewares;
mod named_options;
mod option_tree;
mod paths;
mod pools;
mod priority_ties;
mod provider;
mod redirects;
mod routers;
mod rule_draft;
mod rule_reach;
mod rule_syntax;
mod server_url;
mod services;
mod statics;
mod sticky;
mod target_rules;
mod tcp;
mod tcp_pools;
mod tls;
mod tls_demand;
mod transports;

use std::collections::HashSet;

use crate::document::Document;
use crate::draft_check::{DraftChecker, RouterLayer};
use crate::empty_pool;
use crate::names::UniqueNames;
use crate::notes::ConversionNotes;
use crate::structured::toml::read_toml;
use crate::structured::yaml::read_yaml;

use entry_points::EntryPoint;
use http::RouterWriter;
use middlewares::MiddlewareSet;
use named_options::NamedOptions;
use option_tree::OptionNode;
use priority_ties::PriorityTies;
use provider::ObjectProvider;
use routers::{TrafficRouter, read_routers};
use rule_draft::RuleDraft;
use services::ServicePools;
use tcp::TcpWriter;
use tcp_pools::TcpPools;

/// Converts `text` into `document`.
pub fn convert(text: &str, document: &mut Document, notes: &mut ConversionNotes) {
    let tree = match is_toml(text) {
        true => read_toml(text, str::to_owned, notes),
        false => read_yaml(text, str::to_owned, notes),
    };
    let Some(tree) = tree else { return };
    let file = OptionNode::from_file(&tree);
    // A large file's tree takes room that is needed below.
    drop(tree);
    if labels::is_compose(&file) {
        let root = labels::read_compose(&file, notes);
        convert_options(&root, ObjectProvider::Containers, document, notes);
        notes.settle_written(document);
        root.note_rest(notes);
    } else {
        convert_options(&file, ObjectProvider::File, document, notes);
        notes.settle_written(document);
    }
    file.note_rest(notes);
}

/// Whether the first line that says something is one of TOML.
fn is_toml(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with('#') && *line != "---");
    first.is_some_and(|line| {
        let key = line.split('=').next().unwrap_or_default();
        line.starts_with('[') || line.contains('=') && !key.contains([':', '"', '-', '`'])
    })
}

/// What all routers share.
struct SharedParts {
    checker: DraftChecker,
    names: UniqueNames,
    pool_names: UniqueNames,
    provider: ObjectProvider,
}

/// What TCP routers leave of an entry point.
struct PointPlan {
    /// TCP routers have the whole entry point.
    is_owned: bool,
    /// Rules that refuse the connections of TCP routers beside HTTP routers.
    refusals: Vec<RuleDraft>,
}

fn convert_options(
    root: &OptionNode,
    provider: ObjectProvider,
    document: &mut Document,
    notes: &mut ConversionNotes,
) {
    let mut shared = SharedParts {
        checker: DraftChecker::default(),
        names: UniqueNames::default(),
        pool_names: empty_pool::reserve_name(),
        provider,
    };
    for layer in ["http", "tcp"] {
        let routers = root.find(&[layer, "routers"]).map(OptionNode::entries).unwrap_or_default();
        let unread = |router: &&OptionNode| router.number_of("priority").is_none();
        for priority in routers.iter().filter(unread).filter_map(|router| router.get("priority")) {
            let reason = "a priority is a whole number: the order of the routers is not known";
            notes.unreadable(priority.place(), &priority.text, reason, "write the number");
        }
    }
    let mut points = entry_points::read_entry_points(root, notes);
    tcp::note_udp(root, &points, notes);
    points.retain(|point| !point.is_udp);
    let http = root.find(&["http", "routers"]);
    if let Some(routers) = http {
        let reason = "servers are not told the name of this machine in X-Forwarded-Server, and clients' own is removed";
        notes.changed(routers.place(), "http.routers", reason, "`rewrite.set`");
    }
    let http = read_routers(http, RouterLayer::Http, &mut shared.checker);
    let tcp = root.find(&["tcp", "routers"]);
    let tcp = read_routers(tcp, RouterLayer::Tcp, &mut shared.checker);
    let plans = convert_tcp(root, &points, &tcp, &http, &mut shared, document, notes);
    convert_http(root, &points, &http, plans, &mut shared, document, notes);
    statics::note_sections(root, notes);
    notes.settle_written(document);
    note_unused_objects(root, notes);
}

fn convert_tcp<'t>(
    root: &'t OptionNode,
    points: &[EntryPoint<'t>],
    routers: &[TrafficRouter<'t>],
    http: &[TrafficRouter<'t>],
    shared: &mut SharedParts,
    document: &mut Document,
    notes: &mut ConversionNotes,
) -> Vec<PointPlan> {
    let mut writer = TcpWriter {
        root,
        tls_options: NamedOptions::new(root.find(&["tls", "options"]), shared.provider),
        routers,
        middlewares: MiddlewareSet::new(root.find(&["tcp", "middlewares"]), shared.provider),
        pools: TcpPools::new(root, shared.provider),
        ties: PriorityTies::new(),
        checker: &mut shared.checker,
        names: &mut shared.names,
        pool_names: &mut shared.pool_names,
        notes,
    };
    let mut plans = Vec::new();
    for point in points {
        let is_shared = !routers.iter().any(|router| router.names_entry_point(&point.name));
        let has_http = http.iter().any(|router| {
            router.names_entry_point(&point.name) || is_shared && router.is_attached(point)
        });
        let is_owned = writer.owns(point, has_http);
        let refusals = if is_owned { Vec::new() } else { writer.refusals(point) };
        if is_owned {
            writer.service(point, document);
        }
        plans.push(PointPlan { is_owned, refusals });
    }
    writer.finish(document);
    for router in routers.iter().filter(|router| !points.iter().any(|one| router.is_attached(one)))
    {
        let reason = "its entry points are not in this file: it has no connections";
        router.node.left_out(notes, reason, "add the entry points to the file");
    }
    plans
}

fn convert_http<'t>(
    root: &'t OptionNode,
    points: &[EntryPoint<'t>],
    routers: &[TrafficRouter<'t>],
    plans: Vec<PointPlan>,
    shared: &mut SharedParts,
    document: &mut Document,
    notes: &mut ConversionNotes,
) {
    let mut writer = RouterWriter {
        root,
        tls_options: NamedOptions::new(root.find(&["tls", "options"]), shared.provider),
        points,
        routers,
        middlewares: MiddlewareSet::new(root.find(&["http", "middlewares"]), shared.provider),
        pools: ServicePools::new(root, shared.provider),
        ties: PriorityTies::new(),
        checker: &mut shared.checker,
        names: &mut shared.names,
        pool_names: &mut shared.pool_names,
        notes,
        written: HashSet::new(),
    };
    for (point, plan) in points.iter().zip(plans).filter(|(_, plan)| !plan.is_owned) {
        writer.service(point, plan.refusals, document);
    }
    let written = writer.finish(document);
    for router in routers.iter().filter(|router| !written.contains(&router.name())) {
        if points.iter().any(|point| router.is_attached(point)) {
            router.node.changed(notes, "no request reaches it where its entry points are", "");
        } else if router.has_parents() {
            let reason = "routers below routers are not written: its requests are refused";
            router.node.left_out(notes, reason, "a router with the rules of both");
        } else {
            let reason = "its entry points are not in this file: it has no requests";
            router.node.left_out(notes, reason, "add the entry points to the file");
        }
    }
}

/// Reports options, resolvers and transports that nothing refers to.
fn note_unused_objects(root: &OptionNode, notes: &mut ConversionNotes) {
    for path in [
        &["tls", "options"][..],
        &["certificatesResolvers"],
        &["http", "serversTransports"],
        &["tcp", "serversTransports"],
    ] {
        for node in root.find(path).map(OptionNode::entries).unwrap_or_default() {
            if !node.is_touched(notes) {
                node.changed(notes, "nothing that is written uses it", "");
            }
        }
    }
}

/// How much a line looks like this dialect.
pub fn score_line(line: &str) -> u32 {
    const KEYS: [&str; 12] = [
        "entryPoints",
        "certificatesResolvers",
        "middlewares",
        "routers",
        "loadBalancer",
        "serversTransport",
        "passHostHeader",
        "certResolver",
        "stripPrefix",
        "serversTransports",
        "ipAllowList",
        "redirectScheme",
    ];
    let text = line.trim().trim_start_matches(['-', '"', '\'', ' ']);
    if text.to_ascii_lowercase().starts_with("traefik.") {
        return 5;
    }
    if ["[http.", "[tcp.", "[udp.", "[[http.", "[[tcp.", "[entryPoints", "[certificatesResolvers"]
        .iter()
        .any(|start| text.starts_with(start))
    {
        return 5;
    }
    let key = text.split([':', '=']).next().unwrap_or_default().trim();
    let rule = matches!(key, "rule")
        && ["Host", "Path", "ClientIP"].iter().any(|name| line.contains(name));
    let argument =
        text.to_ascii_lowercase().starts_with("entrypoints.") || line.contains("--entrypoints.");
    u32::from(KEYS.contains(&key)) * 3 + u32::from(rule || argument) * 5
}
