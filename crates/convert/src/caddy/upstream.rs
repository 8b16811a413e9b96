//! Addresses of upstreams, and servers that are found by DNS.

use crate::document::SourcedValue;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::statement::ConfigStatement;
use crate::value::{self, KeyValue};

use super::order::RouteStep;

/// The most servers of one range of ports.
const RANGE: u16 = 256;

/// How servers are spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpstreamScheme {
    Http,
    Https,
    /// HTTP/2 without TLS.
    H2c,
}

/// A server of an upstream list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamServer {
    pub scheme: UpstreamScheme,
    /// Host and port, or `unix:` and a path.
    pub address: String,
    pub source: SourcePlace,
}

/// The servers on the line of a proxy and in its `to` lines.
pub fn servers(step: &RouteStep<'_>, notes: &mut ConversionNotes) -> Vec<UpstreamServer> {
    let statement = step.statement;
    let mut out = Vec::new();
    for at in 0..step.count() {
        read(step.word(at), statement, &mut out, notes);
    }
    for line in statement.inner().iter().filter(|one| one.name == "to") {
        let words = line.words_from(0).to_vec();
        line.settle_converted(notes);
        words.iter().for_each(|word| read(word, line, &mut out, notes));
    }
    let schemes = out.first().map(|one| one.scheme);
    if out.iter().any(|one| Some(one.scheme) != schemes) {
        let reason = "servers of one pool are spoken to in one way: none of these is written";
        statement.leave_out(reason, "a pool for each way", notes);
        return Vec::new();
    }
    out
}

fn read(
    word: &str,
    statement: &ConfigStatement,
    out: &mut Vec<UpstreamServer>,
    notes: &mut ConversionNotes,
) {
    let addresses = addresses(word);
    if addresses.is_empty() {
        let reason = "it is no address of a server that is known now";
        notes.left_out(statement.source, word, reason, "`servers`, or `servers-from`");
    }
    let source = statement.source;
    out.extend(addresses.into_iter().map(|one| UpstreamServer { source, ..one }));
}

/// The addresses that a word stands for. Empty: none that can be written.
fn addresses(word: &str) -> Vec<UpstreamServer> {
    let source = SourcePlace::NONE;
    if let Some(path) = word.strip_prefix("unix//").or(word.strip_prefix("unix/")) {
        let address = format!("unix:/{}", path.trim_start_matches('/'));
        return vec![UpstreamServer { scheme: UpstreamScheme::Http, address, source }];
    }
    let scheme = match word.split_once("://").map(|parts| parts.0) {
        None | Some("http") => UpstreamScheme::Http,
        Some("https") => UpstreamScheme::Https,
        Some("h2c") => UpstreamScheme::H2c,
        Some(_) => return Vec::new(),
    };
    let rest = word.split_once("://").map_or(word, |parts| parts.1);
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    if rest.is_empty() || rest.contains(['{', '}', '/', '?', '@']) {
        return Vec::new();
    }
    let end = rest.rfind(':').filter(|_| !rest.ends_with(']'));
    let host = end.map_or(rest, |at| &rest[..at]);
    let host = if host.is_empty() { "localhost" } else { host };
    let usual = if scheme == UpstreamScheme::Https { "443" } else { "80" };
    let ports = end.map_or(usual, |at| &rest[at + 1..]);
    let bounds = ports.split_once('-').unwrap_or((ports, ports));
    let from = bounds.0.parse::<u16>().unwrap_or(0);
    let to = bounds.1.parse::<u16>().unwrap_or(0);
    if from == 0 || to < from || to - from >= RANGE {
        return Vec::new();
    }
    let server = |port: u16| UpstreamServer { scheme, address: format!("{host}:{port}"), source };
    (from..=to).map(server).collect()
}

/// `dynamic a NAME PORT` and `dynamic srv NAME`, as the value of `servers-from`.
pub fn discovery(statement: &ConfigStatement, notes: &mut ConversionNotes) -> Option<SourcedValue> {
    let dynamic = statement.find("dynamic")?;
    let option = |name: &str| {
        let line = dynamic.find(name)?;
        line.settle_converted(notes);
        Some(line.word(0).to_owned())
    };
    let mut option = option;
    let kind = dynamic.word(0).to_owned();
    let name = option("name").unwrap_or_else(|| dynamic.word(1).to_owned());
    let port = option("port").unwrap_or_else(|| dynamic.word(2).to_owned());
    for line in dynamic.inner().iter().filter(|one| !one.is_settled()) {
        line.note_changed("names are asked for again when their time to live ends", "", notes);
    }
    let service = dynamic.find("service").map(|one| one.word(0).to_owned());
    let pairs = match kind.as_str() {
        "a" => vec![
            KeyValue::new("dns", value::quote(&name)),
            KeyValue::new("port", if port.is_empty() { "80".to_owned() } else { port }),
        ],
        "srv" if service.is_none() => vec![
            KeyValue::new("dns", value::quote(&name)),
            KeyValue::new("type", value::quote("srv")),
        ],
        _ => {
            dynamic.leave_out(
                "servers are found by A and SRV records alone",
                "`servers-from`",
                notes,
            );
            return None;
        }
    };
    dynamic.settle_converted(notes);
    let good =
        !name.is_empty() && !name.contains('{') && !pairs[1].value.trim_matches('"').is_empty();
    good.then(|| SourcedValue { value: value::table(&pairs), source: dynamic.source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_scheme_a_host_and_ports() {
        for (word, expected) in [
            ("10.0.0.1:8080", vec!["10.0.0.1:8080"]),
            (":9000", vec!["localhost:9000"]),
            ("app", vec!["app:80"]),
            ("https://app", vec!["app:443"]),
            ("h2c://app:81", vec!["app:81"]),
            ("[::1]:80", vec!["[::1]:80"]),
            ("app:8001-8003", vec!["app:8001", "app:8002", "app:8003"]),
            ("unix//run/a.sock", vec!["unix:/run/a.sock"]),
            ("{http.request.header.x}:80", vec![]),
            ("app:0", vec![]),
            ("ftp://a", vec![]),
        ] {
            let found: Vec<String> = addresses(word).into_iter().map(|one| one.address).collect();
            assert_eq!(found, expected, "{word}");
        }
    }
}
