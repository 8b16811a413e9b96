//! Steelyard's side of a shadow run: its configuration, whether its servers are known, and which rule took a request.
//!
//! It calls this program's own commands at the control socket of the run.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::limit_relief::relieve_ours;
use super::request::{HttpRequest, ServerNameChoice, ShadowRequest};
use super::source_route::MatchedObjects;

/// Health checks have this long for their first results.
const KNOWN_WITHIN: Duration = Duration::from_secs(15);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(100);

/// The converted configuration with a control socket in the side's directory, and without limits of rates.
pub fn configuration(converted: &str, dir: &Path) -> String {
    let converted = &relieve_ours(converted);
    let at = dir.display();
    let control = format!("control = {{ socket = \"{at}/sock\", state = \"{at}/state\" }}\n");
    match converted.contains("[global]\n") {
        true => converted.replacen("[global]\n", &format!("[global]\n{control}"), 1),
        false => format!("[global]\n{control}{converted}"),
    }
}

/// Waits until every checked server has a health verdict. Until then, servers with a verdict are preferred.
pub fn wait_known(program: &Path, dir: &Path, stop: &AtomicBool) {
    let begun = Instant::now();
    while begun.elapsed() < KNOWN_WITHIN && !stop.load(Ordering::Relaxed) {
        let status = call(program, dir, &["status", "--json"].map(str::to_owned));
        let pools = status["pools"].as_array();
        let known = |pool: &Value| {
            let mut servers = pool["servers"].as_array().into_iter().flatten();
            servers.all(|server| server["state"] != "unknown")
        };
        if pools.is_some_and(|pools| pools.iter().all(known)) {
            return;
        }
        std::thread::park_timeout(LOOK);
    }
}

/// The rule and the pools that take a request, as `explain request` says.
pub fn find_matched(program: &Path, dir: &Path, request: &ShadowRequest) -> MatchedObjects {
    let mut words = vec!["explain".to_owned(), "request".to_owned(), "--json".to_owned()];
    words.extend(["--service".to_owned(), request.service.clone()]);
    let port = request.to.port();
    let scheme = match (request.http(), &request.name) {
        (None, _) => "tcp",
        (Some(_), ServerNameChoice::Plain) => "http",
        (Some(_), _) => "https",
    };
    match request.http() {
        Some(HttpRequest { method, target, host, fields, .. }) => {
            let bare = match host.find(']') {
                Some(end) => &host[..=end],
                None => host.split(':').next().unwrap_or(""),
            };
            let url = format!("{scheme}://{bare}:{port}{target}");
            words.extend(["--url".to_owned(), url, "--method".to_owned(), method.clone()]);
            for field in fields {
                words.extend(["--header".to_owned(), format!("{}: {}", field.name, field.value)]);
            }
        }
        None => words.extend(["--url".to_owned(), format!("{scheme}://{}", request.to)]),
    }
    if let ServerNameChoice::Named(name) = &request.name {
        words.extend(["--sni".to_owned(), name.clone()]);
    }
    let from = request.from.unwrap_or_else(|| request.to.ip());
    words.extend(["--from".to_owned(), from.to_string()]);
    let explained = call(program, dir, &words);
    let pools = explained["pools"].as_array().into_iter().flatten();
    let rule = explained["rule"]["position"].as_u64().unwrap_or(0);
    MatchedObjects {
        service: request.service.clone(),
        rule: usize::try_from(rule).unwrap_or(0),
        pools: pools.filter_map(|pool| pool["name"].as_str().map(str::to_owned)).collect(),
    }
}

/// The JSON that a command prints; null if it fails.
fn call(program: &Path, dir: &Path, words: &[String]) -> Value {
    let mut command = Command::new(program);
    command.args(words).arg("--socket").arg(dir.join("sock"));
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output();
    output.ok().and_then(|output| serde_json::from_slice(&output.stdout).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_control_socket_is_written_into_the_global_section_or_before_everything() {
        let dir = Path::new("/d");
        let control = "control = { socket = \"/d/sock\", state = \"/d/state\" }\n";
        assert_eq!(configuration("[global]\na = 1\n", dir), format!("[global]\n{control}a = 1\n"));
        assert_eq!(configuration("[pool.a]\n", dir), format!("[global]\n{control}[pool.a]\n"));
    }
}
