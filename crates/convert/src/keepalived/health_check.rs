//! Checkers of a real server as a `probe`.

use crate::notes::ConversionNotes;
use crate::{duration, value};

use super::tree::BlockNode;

/// The health check as a TOML table. `None` if the server has no known checker.
pub fn health_check(
    real: &BlockNode,
    delay: Option<u64>,
    host: Option<&str>,
    notes: &mut ConversionNotes,
) -> Option<String> {
    let mut probe = None;
    for node in &real.inner {
        let keys = check_keys(node, host, notes);
        if keys.is_some() {
            note_checker_words(node, notes);
        }
        match keys {
            Some(keys) if probe.is_none() => probe = Some((node, keys)),
            Some(_) => notes.left_out(
                node.line,
                &node.text(),
                "a server has one probe",
                "`probe = { program = … }` for several in one",
            ),
            None => {}
        }
    }
    let (node, mut keys) = probe?;
    let every = time(node, "delay_loop").or(delay).unwrap_or(60_000);
    keys.push(("every", duration::format_duration(every)));
    let limit = time(node, "connect_timeout").or(time(node, "misc_timeout")).unwrap_or(5_000);
    keys.push(("timeout", duration::format_duration(limit.min(every))));
    let retry: u32 = node
        .get("retry")
        .or(node.get("nb_get_retry"))
        .and_then(|one| one.word(1).parse().ok())
        .unwrap_or(0);
    // The ranges of `fall` and `doubt` in the configuration.
    keys.push(("fall", (u64::from(retry) + 1).clamp(1, 100).to_string()));
    keys.push(("rise", "1".to_owned()));
    let doubt = time(node, "delay_before_retry").unwrap_or(1_000);
    keys.push(("doubt", duration::format_duration(doubt.clamp(10, every.max(10)))));
    if let Some(port) = node.get("connect_port") {
        keys.push(("port", port.word(1).to_owned()));
    }
    Some(value::table(&keys))
}

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
                notes.not_needed(one.line, &one.text(), reason);
                continue;
            }
            _ => ("a probe has no such setting", "`probe = { program = … }`"),
        };
        notes.left_out(one.line, &one.text(), reason, instead);
    }
    let pages = node.inner.iter().filter(|one| one.word(0) == "url");
    let words = pages.flat_map(|url| &url.inner);
    let known = ["path", "virtualhost", "status_code", "digest"];
    for one in words.filter(|one| !known.contains(&one.word(0))) {
        let reason = "a probe looks at the status, a text and a digest of its page";
        notes.left_out(one.line, &one.text(), reason, "`probe.expect`");
    }
}

fn time(node: &BlockNode, name: &str) -> Option<u64> {
    duration::parse_seconds(node.get(name)?.word(1)).filter(|ms| *ms > 0)
}

/// The keys of the health check. `None` if the line is not a checker.
fn check_keys(
    node: &BlockNode,
    host: Option<&str>,
    notes: &mut ConversionNotes,
) -> Option<Vec<(&'static str, String)>> {
    let yes = || "true".to_owned();
    Some(match node.word(0) {
        "TCP_CHECK" => vec![("tcp", yes())],
        "SMTP_CHECK" => vec![("smtp", yes())],
        "PING_CHECK" => vec![("ping", yes())],
        "UDP_CHECK" => vec![("udp", yes())],
        "DNS_CHECK" => {
            let word = |name: &str| node.get(name).map(|one| one.word(1).to_owned());
            let mut keys = vec![(
                "dns",
                value::quote(&word("name").unwrap_or_else(|| "localhost".to_owned())),
            )];
            keys.push((
                "record",
                value::quote(
                    &word("type").unwrap_or_else(|| "soa".to_owned()).to_ascii_lowercase(),
                ),
            ));
            keys
        }
        "MISC_CHECK" => {
            let path =
                node.get("misc_path").map(|one| one.words[1..].join(" ")).unwrap_or_default();
            let mut words = path.split_whitespace();
            let mut keys = vec![("program", value::quote(words.next().unwrap_or_default()))];
            let rest: Vec<&str> = words.collect();
            if !rest.is_empty() {
                keys.push(("args", value::quote_all(&rest)));
            }
            if node.get("misc_dynamic").is_some() {
                notes.left_out(
                    node.line,
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
                node.line,
                &node.text(),
                "there is no such probe",
                "`probe = { program = … }`",
            );
            return None;
        }
        _ => return None,
    })
}

fn http_check(
    node: &BlockNode,
    host: Option<&str>,
    notes: &mut ConversionNotes,
) -> Vec<(&'static str, String)> {
    let mut keys = Vec::new();
    let urls: Vec<&BlockNode> = node.inner.iter().filter(|one| one.word(0) == "url").collect();
    let word =
        |name: &str| urls.first().and_then(|url| url.get(name)).map(|one| one.word(1).to_owned());
    keys.push(("http", value::quote(&word("path").unwrap_or_else(|| "/".to_owned()))));
    if let Some(host) = word("virtualhost")
        .or(node.get("virtualhost").map(|one| one.word(1).to_owned()))
        .or(host.map(str::to_owned))
    {
        keys.push(("host", value::quote(&host)));
    }
    let codes: Vec<String> = urls
        .first()
        .and_then(|url| url.get("status_code"))
        .map(|one| {
            one.words[1..]
                .iter()
                .map(|code| if code.contains('-') { value::quote(code) } else { code.clone() })
                .collect()
        })
        .unwrap_or_else(|| vec![value::quote("200-299")]);
    keys.push(("status", value::list(codes)));
    if node.word(0) == "SSL_GET" {
        keys.push(("tls", value::table(&[("verify", "false".to_owned())])));
    }
    for other in urls.iter().skip(1) {
        notes.left_out(
            other.line,
            &other.text(),
            "a probe asks for one page",
            "`probe = { program = … }` for several",
        );
    }
    for digest in urls.iter().filter_map(|url| url.get("digest")) {
        notes.left_out(
            digest.line,
            &digest.text(),
            "digests are SHA-256, not MD5",
            "`digest = \"sha256:…\"`, from `curl -s URL | sha256sum`",
        );
    }
    keys
}
