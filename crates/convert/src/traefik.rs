//! Traefik: entry points become services, routers their rules, and services pools.
//!
//! Dynamic and static configuration may be in one file, as YAML or TOML, or in a Compose file with labels.

mod acme;
mod chain_effect;
mod draft_check;
mod entry_points;
mod fields;
mod health_check;
mod http;
mod key_files;
mod labels;
mod limits;
mod matchers;
mod middlewares;
mod option_tree;
mod paths;
mod pools;
mod redirects;
mod routers;
mod rule_draft;
mod rule_syntax;
mod server_url;
mod services;
mod statics;
mod sticky;
mod tcp;
mod tcp_pools;
mod tls;
mod transports;

use crate::document::Document;
use crate::empty_pool;
use crate::names::UniqueNames;
use crate::notes::ConversionNotes;
use crate::structured::toml::read_toml;
use crate::structured::yaml::read_yaml;

use draft_check::DraftChecker;
use entry_points::EntryPoint;
use http::HttpWriter;
use matchers::RouterLayer;
use middlewares::MiddlewareSet;
use option_tree::OptionNode;
use routers::{TrafficRouter, read_routers};
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
    if labels::is_compose(&file) {
        let root = labels::read_compose(&file, notes);
        convert_options(&root, document, notes);
        notes.settle_written(document);
        root.note_rest(notes);
    } else {
        convert_options(&file, document, notes);
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

fn convert_options(root: &OptionNode, document: &mut Document, notes: &mut ConversionNotes) {
    let mut checker = DraftChecker::default();
    let points = entry_points::read_entry_points(root, notes);
    let http_routers = read_routers(root.find(&["http", "routers"]), RouterLayer::Http, &mut checker);
    let tcp_routers = read_routers(root.find(&["tcp", "routers"]), RouterLayer::Tcp, &mut checker);
    let mut names = UniqueNames::default();
    let mut pool_names = empty_pool::reserve_name();
    let mut http_middlewares = MiddlewareSet::new(root.find(&["http", "middlewares"]));
    let mut tcp_middlewares = MiddlewareSet::new(root.find(&["tcp", "middlewares"]));
    let mut http_pools = ServicePools::new(root);
    let mut tcp_pools = TcpPools::new(root);
    let mut written = Vec::new();
    tcp::note_udp(root, &points, notes);
    for point in points.iter().filter(|point| !point.is_udp) {
        let mut tcp = TcpWriter {
            root,
            routers: &tcp_routers,
            middlewares: tcp_middlewares,
            pools: tcp_pools,
            checker: &mut checker,
            names: &mut names,
            pool_names: &mut pool_names,
            notes,
        };
        let has_http = http_routers.iter().any(|router| router.is_attached(point));
        let owned = tcp.owns(point, has_http);
        let refusals = if owned { Vec::new() } else { tcp.refusals(point) };
        if owned {
            tcp.service(point, document);
        }
        tcp_middlewares = tcp.middlewares;
        tcp_pools = tcp.pools;
        if owned {
            continue;
        }
        let mut http = HttpWriter {
            root,
            points: &points,
            routers: &http_routers,
            middlewares: http_middlewares,
            pools: http_pools,
            checker: &mut checker,
            names: &mut names,
            pool_names: &mut pool_names,
            notes,
            written,
        };
        http.service(point, refusals, document);
        http_middlewares = http.middlewares;
        http_pools = http.pools;
        written = http.written;
    }
    note_unreached(&http_routers, &written, &points, notes);
    note_unreached_tcp(&tcp_routers, &points, notes);
    http_middlewares.note_unused(notes);
    tcp_middlewares.note_unused(notes);
    http_pools.note_unused(notes);
    tcp_pools.note_unused(notes);
    for table in http_pools.tables.into_iter().chain(tcp_pools.tables) {
        document.push(table);
    }
    statics::note_sections(root, notes);
}

/// Reports HTTP routers that no service has.
fn note_unreached(
    routers: &[TrafficRouter<'_>],
    written: &[&str],
    points: &[EntryPoint<'_>],
    notes: &mut ConversionNotes,
) {
    for router in routers.iter().filter(|router| !written.contains(&router.name())) {
        if points.iter().any(|point| !point.is_udp && router.is_attached(point)) {
            router.node.changed(notes, "no request reaches it where its entry points are", "");
        } else {
            let reason = "its entry points are not in this file: it has no requests";
            router.node.left_out(notes, reason, "add the entry points to the file");
        }
    }
}

fn note_unreached_tcp(
    routers: &[TrafficRouter<'_>],
    points: &[EntryPoint<'_>],
    notes: &mut ConversionNotes,
) {
    for router in routers {
        if !points.iter().any(|point| !point.is_udp && router.is_attached(point)) {
            let reason = "its entry points are not in this file: it has no connections";
            router.node.left_out(notes, reason, "add the entry points to the file");
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
    let rule = matches!(key, "rule") && ["Host", "Path", "ClientIP"].iter().any(|name| line.contains(name));
    let argument = text.to_ascii_lowercase().starts_with("entrypoints.") || line.contains("--entrypoints.");
    u32::from(KEYS.contains(&key)) * 3 + u32::from(rule || argument) * 5
}
