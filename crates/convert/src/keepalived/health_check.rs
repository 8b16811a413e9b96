//! Checkers of a real server as a `probe`.

use crate::duration;
use crate::notes::ConversionNotes;
use crate::value::{self, KeyValue};

use super::tree::BlockNode;

/// The health check as a TOML table. `None` if the server has no known checker.
pub fn health_check(
    real: &BlockNode,
    virtual_server: &BlockNode,
    host: Option<&str>,
    notes: &mut ConversionNotes,
) -> Option<String> {
    let mut probe = None;
    for node in &real.inner {
        let keys = check_keys(node, host, notes);
        if keys.is_some() {
            node.mark_converted(1);
        }
        if keys.is_some() {
            note_checker_words(node, notes);
        }
        match keys {
            Some(keys) if probe.is_none() => probe = Some((node, keys)),
            Some(_) => notes.left_out(
                node.source,
                &node.text(),
                "a server has one probe",
                "`probe = { program = … }` for several in one",
            ),
            None => {}
        }
    }
    let (node, mut keys) = probe?;
    let defaults = CheckerDefaults::of(node.word(0));
    // A checker without a setting has that of its server, or of the virtual server.
    let common = |name: &str| {
        time(node, name).or_else(|| time(real, name)).or_else(|| time(virtual_server, name))
    };
    let every = common("delay_loop").unwrap_or(60_000);
    keys.push(KeyValue::new("interval", duration::format_duration(every)));
    let limit = time(node, "misc_timeout").or_else(|| common("connect_timeout")).unwrap_or(5_000);
    keys.push(KeyValue::new("timeout", duration::format_duration(limit.min(every))));
    let retry: u32 = node
        .take("retry")
        .or(node.take("nb_get_retry"))
        .or_else(|| real.take("retry"))
        .or_else(|| virtual_server.take("retry"))
        .and_then(|one| one.word(1).parse().ok())
        .unwrap_or(defaults.retries);
    // The ranges of `fall` and `fast-interval` in the configuration.
    keys.push(KeyValue::new("fall", (u64::from(retry) + 1).clamp(1, 100).to_string()));
    keys.push(KeyValue::new("rise", "1"));
    let fast_interval = common("delay_before_retry").or(defaults.retry_delay_ms).unwrap_or(every);
    keys.push(KeyValue::new(
        "fast-interval",
        duration::format_duration(fast_interval.clamp(10, every.max(10))),
    ));
    if let Some(port) = node.take("connect_port") {
        keys.push(KeyValue::new("port", port.word(1).to_owned()));
    }
    Some(value::table(&keys))
}

/// What keepalived's checkers do without a setting.
struct CheckerDefaults {
    /// How often a check is repeated before the server is down.
    retries: u32,
    /// The time before that; `None`: the time between checks.
    retry_delay_ms: Option<u64>,
}

impl CheckerDefaults {
    fn of(checker: &str) -> CheckerDefaults {
        let retries = match checker {
            "MISC_CHECK" => 0,
            "DNS_CHECK" => 3,
            _ => 1,
        };
        let retry_delay_ms = match checker {
            "DNS_CHECK" => None,
            "HTTP_GET" | "SSL_GET" => Some(3_000),
            _ => Some(1_000),
        };
        CheckerDefaults { retries, retry_delay_ms }
    }
}

/// Settings of a server or a virtual server that its checkers have, unless they have their own.
pub const INHERITED: [&str; 4] = ["delay_loop", "retry", "delay_before_retry", "connect_timeout"];

/// Whether a keyword of a real server begins a checker.
pub fn is_checker(word: &str) -> bool {
    word.ends_with("_CHECK") || matches!(word, "HTTP_GET" | "SSL_GET")
}

/// Keywords of checkers that are converted, or reported elsewhere.
const READ: [&str; 14] = [
    "connect_timeout",
    "misc_timeout",
    "delay_loop",
    "retry",
    "nb_get_retry",
    "delay_before_retry",
    "connect_port",
    "url",
    "virtualhost",
    "name",
    "type",
    "misc_path",
    "misc_dynamic",
    "status_code",
];

/// Reports the other keywords of a checker and its URLs.
fn note_checker_words(node: &BlockNode, notes: &mut ConversionNotes) {
    for one in node.inner.iter().filter(|one| !READ.contains(&one.word(0))) {
        let (reason, instead) = match one.word(0) {
            "connect_ip" => ("a probe goes to the server's own address", "a server of its own"),
            "bindto" | "bind_port" | "bind_if" | "fwmark" => {
                ("a probe is sent from where the machine's routes say", "")
            }
            "warmup" => {
                let reason = "probes of a pool begin spread over their interval";
                notes.not_needed(one.source, &one.text(), reason);
                continue;
            }
            _ => ("a probe has no such setting", "`probe = { program = … }`"),
        };
        notes.left_out(one.source, &one.text(), reason, instead);
    }
    let pages = node.inner.iter().filter(|one| one.word(0) == "url");
    let words = pages.flat_map(|url| &url.inner);
    let known = ["path", "virtualhost", "status_code", "digest"];
    for one in words.filter(|one| !known.contains(&one.word(0))) {
        let reason = "a probe looks at the status, a text and a digest of its page";
        notes.left_out(one.source, &one.text(), reason, "`probe.expect`");
    }
}

fn time(node: &BlockNode, name: &str) -> Option<u64> {
    duration::parse_seconds(node.take(name)?.word(1)).filter(|ms| *ms > 0)
}

/// The keys of the health check. `None` if the line is not a checker.
fn check_keys(
    node: &BlockNode,
    host: Option<&str>,
    notes: &mut ConversionNotes,
) -> Option<Vec<KeyValue>> {
    Some(match node.word(0) {
        "TCP_CHECK" => vec![KeyValue::new("tcp", "true")],
        "SMTP_CHECK" => vec![KeyValue::new("smtp", "true")],
        "PING_CHECK" => vec![KeyValue::new("ping", "true")],
        "UDP_CHECK" => vec![KeyValue::new("udp", "true")],
        "DNS_CHECK" => {
            let word = |name: &str| node.take(name).map(|one| one.word(1).to_owned());
            let name = word("name").filter(|name| name != ".").unwrap_or_else(|| {
                let reason = "no probe asks for the root: servers that do not know the name that is asked for are down";
                let instead = "`dns` of the probe with a name that the servers know";
                notes.left_out(node.source, &node.text(), reason, instead);
                "localhost".to_owned()
            });
            let mut keys = vec![KeyValue::new("dns", value::quote(&name))];
            keys.push(KeyValue::new(
                "record",
                value::quote(
                    &word("type").unwrap_or_else(|| "soa".to_owned()).to_ascii_lowercase(),
                ),
            ));
            keys
        }
        "MISC_CHECK" => {
            let path = node
                .take("misc_path")
                .inspect(|one| one.mark_converted(u16::MAX))
                .map(|one| one.rest(1).join(" "))
                .unwrap_or_default();
            let mut words = path.split_whitespace();
            let mut keys =
                vec![KeyValue::new("program", value::quote(words.next().unwrap_or_default()))];
            let rest: Vec<&str> = words.collect();
            if !rest.is_empty() {
                keys.push(KeyValue::new("args", value::quote_all(&rest)));
            }
            if node.take("misc_dynamic").is_some() {
                notes.left_out(
                    node.source,
                    "misc_dynamic",
                    "a probe's exit code sets no weight",
                    "`agent`",
                );
            }
            keys
        }
        "HTTP_GET" | "SSL_GET" => http_check(node, host, notes),
        "BFD_CHECK" | "FILE_CHECK" => {
            notes.left_out(
                node.source,
                &node.text(),
                "there is no such probe",
                "`probe = { program = … }`",
            );
            return None;
        }
        _ => return None,
    })
}

fn http_check(node: &BlockNode, host: Option<&str>, notes: &mut ConversionNotes) -> Vec<KeyValue> {
    let mut keys = Vec::new();
    let urls: Vec<&BlockNode> = node.inner.iter().filter(|one| one.word(0) == "url").collect();
    urls.iter().for_each(|url| url.mark_converted(1));
    let word =
        |name: &str| urls.first().and_then(|url| url.take(name)).map(|one| one.word(1).to_owned());
    keys.push(KeyValue::new("http", value::quote(&word("path").unwrap_or_else(|| "/".to_owned()))));
    if let Some(host) = word("virtualhost")
        .or(node.take("virtualhost").map(|one| one.word(1).to_owned()))
        .or(host.map(str::to_owned))
    {
        keys.push(KeyValue::new("host", value::quote(&host)));
    }
    let codes: Vec<String> = urls
        .first()
        .and_then(|url| url.take("status_code"))
        .map(|one| {
            one.mark_converted(u16::MAX);
            one.rest(1)
                .iter()
                .map(|code| if code.contains('-') { value::quote(code) } else { code.clone() })
                .collect()
        })
        .unwrap_or_else(|| vec![value::quote("200-299")]);
    keys.push(KeyValue::new("status", value::list(codes)));
    if node.word(0) == "SSL_GET" {
        keys.push(KeyValue::new("tls", value::table(&[KeyValue::new("verify", "false")])));
    }
    for other in urls.iter().skip(1) {
        notes.left_out(
            other.source,
            &other.text(),
            "a probe asks for one page",
            "`probe = { program = … }` for several",
        );
    }
    for digest in urls.iter().filter_map(|url| url.take("digest")) {
        notes.left_out(
            digest.source,
            &digest.text(),
            "digests are SHA-256, not MD5",
            "`digest = \"sha256:…\"`, from `curl -s URL | sha256sum`",
        );
    }
    keys
}
