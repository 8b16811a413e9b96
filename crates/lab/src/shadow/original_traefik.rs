//! How Traefik is started with one file: its static part and its dynamic part each become a file of their own.
//!
//! Pure. Lines are only shared out, so that Traefik reads what was written. Left out are sections that reach out: other
//! providers, resolvers of certificates, plugins and telemetry.

use std::net::{Ipv4Addr, SocketAddr};

use super::original_start::{OriginalStart, PlacedFile};

/// Where Traefik answers as soon as it has read its routers.
pub const READY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 65_531);

/// Sections of the dynamic part.
const DYNAMIC: [&str; 4] = ["http", "tcp", "udp", "tls"];
/// Sections that need a network.
const LEFT_OUT: [&str; 8] = [
    "providers",
    "certificatesresolvers",
    "metrics",
    "tracing",
    "experimental",
    "pilot",
    "spiffe",
    "hub",
];
/// The router of READY. `noop@internal` answers 418.
const READY_ROUTER: &str = "http:\n  routers:\n    shadow-ready:\n      entryPoints: [shadow-ready]\n      \
     rule: PathPrefix(`/`)\n      priority: 1000000\n      service: noop@internal\n";

/// The start of Traefik with this text.
pub fn plan_traefik(text: &str) -> OriginalStart {
    let is_toml = is_toml(text);
    let sections = split_sections(text, is_toml);
    let mut fixed = String::new();
    let mut dynamic = String::new();
    for section in &sections {
        match section.name.as_str() {
            name if LEFT_OUT.contains(&name) => {}
            name if DYNAMIC.contains(&name) => dynamic.push_str(&section.text),
            _ => fixed.push_str(&section.text),
        }
    }
    let has = |name: &str| sections.iter().any(|section| section.name == name);
    if has_old_rules(text) && !has("core") {
        let core = if is_toml { "[core]\n" } else { "core:\n  " };
        let syntax = if is_toml { "defaultRuleSyntax = 'v2'" } else { "defaultRuleSyntax: v2" };
        fixed.insert_str(0, &format!("{core}{syntax}\n"));
    }
    let has_points = has("entrypoints");
    let fixed = whole_static(&fixed, has_points, is_toml);
    let end = if is_toml { "toml" } else { "yaml" };
    let place =
        |name: &str, text: String| PlacedFile { path: format!("/etc/traefik/{name}"), text };
    let main = format!("traefik.{end}");
    OriginalStart {
        arguments: vec![format!("--configFile=/etc/traefik/{main}")],
        environment: Vec::new(),
        files: vec![
            place(&main, fixed),
            place(&format!("dynamic/file.{end}"), dynamic),
            place("dynamic/ready.yaml", READY_ROUTER.to_owned()),
        ],
        ready: Some(READY),
    }
}

/// Whether rules are in the syntax of Traefik 2, which later versions read only when they are told to.
fn has_old_rules(text: &str) -> bool {
    let several = |name: &str| {
        let mut calls = text.match_indices(name).map(|(at, _)| &text[at + name.len()..]);
        calls.any(|rest| rest.split(')').next().is_some_and(|values| values.contains("`,")))
    };
    text.contains("Headers(`")
        || text.contains("HeadersRegexp(`")
        || ["Host(`", "HostSNI(`", "Path(`", "PathPrefix(`", "Method(`"].into_iter().any(several)
}

/// The static part with a provider of files and the entry point of READY.
fn whole_static(fixed: &str, has_points: bool, is_toml: bool) -> String {
    let port = READY.port();
    if is_toml {
        let usual =
            "[entryPoints.web]\naddress = ':80'\n[entryPoints.websecure]\naddress = ':443'\n";
        let usual = if has_points { "" } else { usual };
        return format!(
            "{fixed}\n{usual}[entryPoints.shadow-ready]\naddress = '127.0.0.1:{port}'\n\
             [providers.file]\ndirectory = '/etc/traefik/dynamic'\n"
        );
    }
    let ready = format!("  shadow-ready:\n    address: '127.0.0.1:{port}'\n");
    let provider = "providers:\n  file:\n    directory: /etc/traefik/dynamic\n";
    if !has_points {
        let usual = "entryPoints:\n  web:\n    address: ':80'\n  websecure:\n    address: ':443'\n";
        return format!("{fixed}\n{usual}{ready}{provider}");
    }
    let mut out = String::new();
    for line in fixed.lines() {
        out.push_str(&format!("{line}\n"));
        if section_name(line, false).as_deref() == Some("entrypoints") {
            out.push_str(&ready);
        }
    }
    out + provider
}

/// A section of the file, from its key at the beginning of a line to the next one.
struct TopSection {
    /// In small letters.
    name: String,
    text: String,
}

fn split_sections(text: &str, is_toml: bool) -> Vec<TopSection> {
    let mut sections: Vec<TopSection> = Vec::new();
    for line in text.lines() {
        match (section_name(line, is_toml), sections.last_mut()) {
            (Some(name), _) => sections.push(TopSection { name, text: format!("{line}\n") }),
            (None, Some(last)) => last.text.push_str(&format!("{line}\n")),
            (None, None) => {}
        }
    }
    sections
}

/// The name of the section that begins with this line. Within a table of TOML, keys are not names of sections.
fn section_name(line: &str, is_toml: bool) -> Option<String> {
    let name = if is_toml {
        let header = line.trim_start().strip_prefix('[')?;
        header.trim_start_matches('[').split(['.', ']']).next()?
    } else {
        let is_key = line.starts_with(|c: char| c.is_ascii_alphabetic() || c == '"' || c == '\'');
        line.split(':').next().filter(|_| is_key && line.contains(':'))?
    };
    Some(name.trim().trim_matches(['"', '\'']).to_ascii_lowercase())
}

/// Whether the first line that says something is one of TOML.
fn is_toml(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with('#') && *line != "---");
    first.is_some_and(|line| line.starts_with('[') || line.contains('=') && !line.contains(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_of_version_2_are_told_from_later_ones() {
        for (rule, is_old) in [
            ("Headers(`X-A`, `b`)", true),
            ("Host(`a.example`, `b.example`) && Path(`/c`)", true),
            ("Host(`a.example`) && Header(`X-A`, `b`)", false),
            ("Host(`a.example`) || Query(`a`, `b`)", false),
        ] {
            let start = plan_traefik(&format!("http:\n  routers:\n    a: {{ rule: '{rule}' }}\n"));
            let told = start.files[0].text.starts_with("core:\n  defaultRuleSyntax: v2\n");
            assert_eq!(told, is_old, "{rule}");
        }
    }

    #[test]
    fn a_file_is_split_into_its_static_and_its_dynamic_part() {
        let yaml = "# a\nentryPoints:\n  web: {address: ':81'}\nproviders:\n  docker: {}\nhttp:\n  routers: {}\nlog:\n  level: INFO\n";
        let start = plan_traefik(yaml);
        let [fixed, dynamic, ready] = &start.files[..] else { panic!("{start:?}") };
        assert_eq!(fixed.path, "/etc/traefik/traefik.yaml");
        let expected = "entryPoints:\n  shadow-ready:\n    address: '127.0.0.1:65531'\n  web: {address: ':81'}\nlog:\n  level: INFO\nproviders:\n  file:\n    directory: /etc/traefik/dynamic\n";
        assert_eq!(fixed.text, expected);
        assert_eq!(dynamic.text, "http:\n  routers: {}\n");
        assert!(ready.text.contains("noop@internal"));
        let toml = "[http.routers.a]\nrule = \"Host(`a`)\"\n[entryPoints.b]\naddress = \":1\"\n";
        let start = plan_traefik(toml);
        assert!(
            start.files[0]
                .text
                .starts_with("[entryPoints.b]\naddress = \":1\"\n\n[entryPoints.shadow-ready]")
        );
        assert_eq!(start.files[1].text, "[http.routers.a]\nrule = \"Host(`a`)\"\n");
        // A dynamic part alone gets the entry points that its routers mean.
        let alone = plan_traefik("http:\n  routers: {}\n");
        assert!(alone.files[0].text.contains("websecure:\n    address: ':443'"));
    }
}
