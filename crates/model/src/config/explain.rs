//! The whole effective configuration as text: every value in force, and where it came from.
//!
//! What it prints is a configuration: loaded again it gives the same one. It judges nothing.

use std::fmt::Write;

use serde::Serialize;

use super::decode::quoted;
use super::resolve::Effective;
use super::schema::Key;
use super::section::{Origin, Section, Setting, Slot};
use super::source::{Lines, Place};

/// Where every value in force came from.
#[derive(Clone, Debug)]
pub struct Origins {
    effective: Effective,
    lines: Lines,
}

/// One value in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Its key path.
    pub key: String,
    /// As it would be written in the file.
    pub value: String,
    /// Where it came from: `default`, `line 12`, `global.timeout.idle at line 4`.
    pub origin: String,
}

/// The column in which the comments start, where the values leave room.
const COMMENTS: usize = 44;

impl Origins {
    /// Settings in force and the lines of their file.
    pub fn new(effective: Effective, lines: Lines) -> Origins {
        Origins { effective, lines }
    }

    /// The settings in force.
    pub fn effective(&self) -> &Effective {
        &self.effective
    }

    /// Every value in force with its origin, in the order of the explanation.
    pub fn entries(&self) -> Vec<Entry> {
        let mut entries = Vec::new();
        self.walk(&mut |item| {
            if let Item::Value(entry) = item {
                entries.push(entry);
            }
        });
        entries
    }

    /// The effective configuration as TOML, each line with its origin.
    pub fn explain(&self) -> String {
        let mut text = String::new();
        self.walk(&mut |item| {
            // Writing into a String cannot fail.
            let _ = match item {
                Item::Header(header) => {
                    writeln!(text, "{}{header}", if text.is_empty() { "" } else { "\n" })
                }
                Item::Value(entry) => {
                    let key = entry.key.rsplit('.').next().unwrap_or_default();
                    let line = format!("{key} = {}", entry.value);
                    writeln!(text, "{line:COMMENTS$} # {}", entry.origin)
                }
            };
        });
        text
    }

    fn walk(&self, visit: &mut dyn FnMut(Item)) {
        self.section(&self.effective.global, "global", "[global]", &|_, _| true, visit);
        let packets =
            |service: &Section| matches!(service.text("forward"), Some("mac" | "nat" | "tunnel"));
        if self.effective.services.iter().any(packets) {
            self.section(&self.effective.packets, "packets", "[packets]", &|_, _| true, visit);
        }
        for group in &self.effective.vrrp {
            let path = format!("vrrp.{}", group.name);
            self.section(group, &path, &format!("[{path}]"), &|_, _| true, visit);
        }
        for heartbeat in &self.effective.heartbeats {
            let path = format!("heartbeat.{}", heartbeat.name);
            self.section(heartbeat, &path, &format!("[{path}]"), &|_, _| true, visit);
        }
        for rule in &self.effective.captures {
            let path = format!("capture.{}", rule.name);
            self.section(rule, &path, &format!("[{path}]"), &|_, _| true, visit);
        }
        for bundle in &self.effective.links {
            let path = format!("link.{}", bundle.name);
            self.section(bundle, &path, &format!("[{path}]"), &|_, _| true, visit);
        }
        self.ways(visit);
        self.names(visit);
        for service in &self.effective.services {
            let path = format!("service.{}", service.name);
            let tcp = service.text("forward") == Some("tcp");
            self.section(
                service,
                &path,
                &format!("[{path}]"),
                &|key, _| fits(key, service.text("forward").unwrap_or_default(), tcp),
                visit,
            );
        }
        let uses = self.effective.uses();
        for pool in &self.effective.pools {
            let path = format!("pool.{}", pool.name);
            let uses = uses.get(pool.name.as_str()).copied().unwrap_or_default();
            let tcp = !uses.http && (uses.tcp || uses.packets);
            let proxied = uses.http || uses.tcp || !uses.packets;
            let shown = |key: &Key, setting: &Setting| {
                !(tcp && key.http_only) && (proxied || !key.proxy_only)
                    || matches!(setting.origin, Origin::Written(_))
            };
            self.section(pool, &path, &format!("[{path}]"), &shown, visit);
        }
    }

    /// The name server where there is something to answer for.
    fn ways(&self, visit: &mut dyn FnMut(Item)) {
        let Effective { mptcp, outward, uplinks, .. } = &self.effective;
        if mptcp.wrote("bundle") || mptcp.wrote("endpoints") {
            self.section(mptcp, "mptcp", "[mptcp]", &|_, _| true, visit);
        }
        if !uplinks.is_empty() {
            self.section(outward, "uplinks", "[uplinks]", &|_, _| true, visit);
        }
        for uplink in uplinks {
            let path = format!("uplink.{}", uplink.name);
            self.section(uplink, &path, &format!("[{path}]"), &|_, _| true, visit);
        }
    }

    fn names(&self, visit: &mut dyn FnMut(Item)) {
        let Effective { names, zones, hosts, .. } = &self.effective;
        if !zones.is_empty() {
            self.section(names, "names", "[names]", &|_, _| true, visit);
        }
        let zones = zones.iter().map(|zone| ("zone", zone));
        for (kind, one) in zones.chain(hosts.iter().map(|host| ("name", host))) {
            let path = format!("{kind}.{}", quoted(&one.name));
            self.section(one, &path, &format!("[{path}]"), &|_, _| true, visit);
        }
    }

    /// Values first, then tables, then lists of tables: so TOML wants it.
    fn section(
        &self,
        section: &Section,
        path: &str,
        header: &str,
        shown: &dyn Fn(&Key, &Setting) -> bool,
        visit: &mut dyn FnMut(Item),
    ) {
        visit(Item::Header(header.to_owned()));
        let settings = || section.settings().filter(|(key, setting)| shown(key, setting));
        for (key, setting) in settings() {
            if let Slot::Value(value) = &setting.slot {
                let key = format!("{path}.{}", key.name);
                let origin = self.origin(setting.origin, &key);
                visit(Item::Value(Entry { key, value: value.to_string(), origin }));
            }
        }
        for (key, setting) in settings() {
            let path = format!("{path}.{}", key.name);
            match &setting.slot {
                Slot::Table(inner) => {
                    // Inside a list the header is the list's own path: TOML means its last element.
                    let header = format!("[{}]", without_indices(&path));
                    self.section(inner, &path, &header, shown, visit);
                }
                Slot::List(list) => {
                    for (at, inner) in list.iter().enumerate() {
                        self.section(
                            inner,
                            &format!("{path}[{at}]"),
                            &format!("[[{}]]", without_indices(&path)),
                            shown,
                            visit,
                        );
                    }
                }
                Slot::Value(_) | Slot::Broken => {}
            }
        }
    }

    fn origin(&self, origin: Origin, key: &str) -> String {
        let line = |place: Place| self.lines.line(place);
        // `service.shop.timeout.idle` is `timeout.idle` above; `pool.web.servers[1].weight` is `weight` in the pool.
        let mut segments = key.splitn(3, '.');
        let (kind, name, rest) =
            (segments.next(), segments.next(), segments.next().unwrap_or_default());
        match origin {
            Origin::Default => "default".to_owned(),
            Origin::Derived(why) => format!("default: {why}"),
            Origin::Written(place) => format!("line {}", line(place)),
            Origin::Global(place) => format!("global.{rest} at line {}", line(place)),
            Origin::Pool(place) => {
                let rest = rest.split_once('.').map(|(_, rest)| rest).unwrap_or_default();
                let (kind, name) = (kind.unwrap_or_default(), name.unwrap_or_default());
                format!("inherited from {kind}.{name}.{rest} at line {}", line(place))
            }
        }
    }
}

/// Whether a service's key means something for its method.
fn fits(key: &Key, forward: &str, tcp: bool) -> bool {
    match forward {
        "mac" | "nat" | "tunnel" => {
            let owner = match key.name {
                "tunnel" if key.packets_only => "tunnel",
                "mss-clamp" => "nat",
                _ => forward,
            };
            !key.http_only && !key.proxy_only && owner == forward
        }
        _ => !(key.packets_only || tcp && key.http_only),
    }
}

enum Item {
    Header(String),
    Value(Entry),
}

fn without_indices(path: &str) -> String {
    let mut inside = false;
    let outside = |c: &char| {
        inside = (inside || *c == '[') && *c != ']';
        !inside && *c != ']'
    };
    path.chars().filter(outside).collect()
}
