//! Prints the effective configuration: every value, and its origin.
//!
//! The output is a configuration: loading it gives the same one. It verifies nothing.

use std::fmt::Write;

use serde::Serialize;

use super::decode::key_path::quote_key;
use super::effective_settings::EffectiveSettings;
use super::schema::KeySchema;
use super::section::{ConfigSection, ContentView, SettingOrigin, SettingView};
use super::source_text::{LineIndex, SourceSpan};

/// The origin of every effective value.
#[derive(Clone, Debug)]
pub struct SettingOrigins {
    effective: EffectiveSettings,
    lines: LineIndex,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EffectiveSetting {
    pub key: String,
    /// The value as written in a file.
    pub value: String,
    /// The origin of the value: `default`, `line 12`, `global.timeout.idle at line 4`.
    pub origin: String,
}

/// The column of the comments, if the values leave room.
const COMMENTS: usize = 44;

impl SettingOrigins {
    pub fn new(effective: EffectiveSettings, lines: LineIndex) -> SettingOrigins {
        SettingOrigins { effective, lines }
    }

    pub fn effective(&self) -> &EffectiveSettings {
        &self.effective
    }

    /// Every effective value with its origin, in the order of the explanation.
    pub fn entries(&self) -> Vec<EffectiveSetting> {
        let mut entries = Vec::new();
        self.visit_items(&mut |item| {
            if let ExplanationItem::Value(entry) = item {
                entries.push(entry);
            }
        });
        entries
    }

    /// The effective configuration as TOML, each line with its origin.
    pub fn explain(&self) -> String {
        let mut text = String::new();
        self.visit_items(&mut |item| {
            // Writing into a String cannot fail.
            let _ = match item {
                ExplanationItem::Header(header) => {
                    writeln!(text, "{}{header}", if text.is_empty() { "" } else { "\n" })
                }
                ExplanationItem::Value(entry) => {
                    let key = entry.key.rsplit('.').next().unwrap_or_default();
                    let line = format!("{key} = {}", entry.value);
                    writeln!(text, "{line:COMMENTS$} # {}", entry.origin)
                }
            };
        });
        text
    }

    fn visit_items(&self, visit: &mut dyn FnMut(ExplanationItem)) {
        self.visit_section(&self.effective.global, "global", "[global]", &|_, _| true, visit);
        let packets = |service: &ConfigSection| {
            matches!(service.text("forward"), Some("mac" | "nat" | "tunnel"))
        };
        if self.effective.services.iter().any(packets) {
            self.visit_section(
                &self.effective.packets,
                "packets",
                "[packets]",
                &|_, _| true,
                visit,
            );
        }
        for group in &self.effective.vrrp {
            let path = format!("vrrp.{}", group.name);
            self.visit_section(group, &path, &format!("[{path}]"), &|_, _| true, visit);
        }
        for heartbeat in &self.effective.heartbeats {
            let path = format!("heartbeat.{}", heartbeat.name);
            self.visit_section(heartbeat, &path, &format!("[{path}]"), &|_, _| true, visit);
        }
        for object in &self.effective.auths {
            let path = format!("auth.{}", object.name);
            self.visit_section(object, &path, &format!("[{path}]"), &|_, _| true, visit);
        }
        for rule in &self.effective.captures {
            let path = format!("capture.{}", rule.name);
            self.visit_section(rule, &path, &format!("[{path}]"), &|_, _| true, visit);
        }
        for bundle in &self.effective.links {
            let path = format!("link.{}", bundle.name);
            self.visit_section(bundle, &path, &format!("[{path}]"), &|_, _| true, visit);
        }
        self.visit_network_tables(visit);
        self.visit_name_server(visit);
        for service in &self.effective.services {
            let path = format!("service.{}", service.name);
            let tcp = service.text("forward") == Some("tcp");
            self.visit_section(
                service,
                &path,
                &format!("[{path}]"),
                &|key, _| applies_to_mode(key, service.text("forward").unwrap_or_default(), tcp),
                visit,
            );
        }
        let uses = self.effective.pool_usage();
        for pool in &self.effective.pools {
            let path = format!("pool.{}", pool.name);
            let uses = uses.get(pool.name.as_str()).copied().unwrap_or_default();
            let tcp = !uses.http && (uses.tcp || uses.packets);
            let proxied = uses.http || uses.tcp || !uses.packets;
            let shown = |key: &KeySchema, setting: &SettingView<'_>| {
                !(tcp && key.http_only) && (proxied || !key.proxy_only)
                    || matches!(setting.origin, SettingOrigin::Written(_))
            };
            self.visit_section(pool, &path, &format!("[{path}]"), &shown, visit);
        }
    }

    /// The tables of Multipath TCP and of uplinks, if they are in use.
    fn visit_network_tables(&self, visit: &mut dyn FnMut(ExplanationItem)) {
        let EffectiveSettings { mptcp, uplinks_common: outward, uplinks, .. } = &self.effective;
        if mptcp.is_written("bundle") || mptcp.is_written("endpoints") {
            self.visit_section(mptcp, "mptcp", "[mptcp]", &|_, _| true, visit);
        }
        if !uplinks.is_empty() {
            self.visit_section(outward, "uplinks", "[uplinks]", &|_, _| true, visit);
        }
        for uplink in uplinks {
            let path = format!("uplink.{}", uplink.name);
            self.visit_section(uplink, &path, &format!("[{path}]"), &|_, _| true, visit);
        }
    }

    fn visit_name_server(&self, visit: &mut dyn FnMut(ExplanationItem)) {
        let EffectiveSettings { name_server: names, zones, dns_names: hosts, .. } = &self.effective;
        if !zones.is_empty() {
            self.visit_section(names, "names", "[names]", &|_, _| true, visit);
        }
        let zones = zones.iter().map(|zone| ("zone", zone));
        for (kind, one) in zones.chain(hosts.iter().map(|host| ("name", host))) {
            let path = format!("{kind}.{}", quote_key(&one.name));
            self.visit_section(one, &path, &format!("[{path}]"), &|_, _| true, visit);
        }
    }

    /// Values first, then tables, then lists of tables, as TOML requires.
    fn visit_section(
        &self,
        section: &ConfigSection,
        path: &str,
        header: &str,
        shown: &dyn Fn(&KeySchema, &SettingView<'_>) -> bool,
        visit: &mut dyn FnMut(ExplanationItem),
    ) {
        visit(ExplanationItem::Header(header.to_owned()));
        let settings = || section.settings().filter(|(key, setting)| shown(key, setting));
        for (key, setting) in settings() {
            if let ContentView::Value(value) = setting.content {
                let key = format!("{path}.{}", key.name);
                let origin = self.describe_origin(setting.origin, &key);
                visit(ExplanationItem::Value(EffectiveSetting {
                    key,
                    value: value.to_string(),
                    origin,
                }));
            }
        }
        for (key, setting) in settings() {
            let path = format!("{path}.{}", key.name);
            match setting.content {
                ContentView::Table(inner) => {
                    // Inside a list the header is the list's own path: TOML means its last element.
                    let header = format!("[{}]", strip_indices(&path));
                    self.visit_section(inner, &path, &header, shown, visit);
                }
                ContentView::List(list) => {
                    for (at, inner) in list.iter().enumerate() {
                        self.visit_section(
                            inner,
                            &format!("{path}[{at}]"),
                            &format!("[[{}]]", strip_indices(&path)),
                            shown,
                            visit,
                        );
                    }
                }
                ContentView::Value(_) | ContentView::Invalid => {}
            }
        }
    }

    fn describe_origin(&self, origin: SettingOrigin, key: &str) -> String {
        let line = |place: SourceSpan| self.lines.line(place);
        // `service.shop.timeout.idle` is `timeout.idle` above; `pool.web.servers[1].weight` is `weight` in the pool.
        let mut segments = key.splitn(3, '.');
        let kind = segments.next();
        let name = segments.next();
        let rest = segments.next().unwrap_or_default();
        match origin {
            SettingOrigin::Default => "default".to_owned(),
            SettingOrigin::Derived(why) => format!("default: {why}"),
            SettingOrigin::Written(place) => format!("line {}", line(place)),
            SettingOrigin::Global(place) => format!("global.{rest} at line {}", line(place)),
            SettingOrigin::Pool(place) => {
                let rest = rest.split_once('.').map(|(_, rest)| rest).unwrap_or_default();
                let kind = kind.unwrap_or_default();
                let name = name.unwrap_or_default();
                format!("inherited from {kind}.{name}.{rest} at line {}", line(place))
            }
        }
    }
}

/// Whether a service's key applies to its forwarding method.
fn applies_to_mode(key: &KeySchema, forward: &str, tcp: bool) -> bool {
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

enum ExplanationItem {
    Header(String),
    Value(EffectiveSetting),
}

fn strip_indices(path: &str) -> String {
    let mut inside = false;
    let outside = |c: &char| {
        inside = (inside || *c == '[') && *c != ']';
        !inside && *c != ']'
    };
    path.chars().filter(outside).collect()
}
