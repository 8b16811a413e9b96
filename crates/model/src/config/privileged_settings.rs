//! Settings whose effect reaches beyond the product: programs to run, files of secrets to send, Unix sockets of other
//! programs, the access log's file or server, files of networks, and access to the API with its audit log.
//!
//! A user who can change such a setting can run, disclose or write what the daemon's user can, grant access, or erase
//! the audit log. The daemon decides where such changes are allowed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::control::{ControlConfig, DEFAULT_SOCKET, DEFAULT_STATE_DIR};
use super::file_root::Config;
use super::global::AccessLogTarget;
use super::heartbeat::HeartbeatConfig;
use super::probe::{ProbeConfig, ProbeKind};

/// The effect of a privileged setting. Two are equal if action and subject are the same, wherever they are written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PrivilegedEffect {
    /// The action: `runs`, `sends the secret in`, `writes to`, `keeps its state in`.
    pub action: &'static str,
    /// The program or file, with all its parameters.
    pub subject: String,
}

/// A privileged setting and its key path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrivilegedSetting {
    pub key: String,
    pub effect: PrivilegedEffect,
}

impl Config {
    /// All privileged settings.
    pub fn privileged_settings(&self) -> Vec<PrivilegedSetting> {
        let mut out: Vec<PrivilegedSetting> = Vec::new();
        let mut add = |key: String, does: &'static str, what: String| {
            out.push(PrivilegedSetting {
                key,
                effect: PrivilegedEffect { action: does, subject: what },
            });
        };
        for hook in &self.global.hooks {
            let name = &hook.name;
            let told = format!(
                "{} as the hook {name}, on {}, for {:?}, {} at once, {} waiting",
                hook.run.display(),
                hook.on.join(" "),
                hook.timeout,
                hook.at_once,
                hook.queue
            );
            add(format!("global.hook {name}"), "runs", told);
        }
        if let Some(log) = written_log(&self.global.access_log.target) {
            add("global.access-log.target".to_owned(), "writes to", log);
        }
        for (key, does, what) in control_effects(&self.global.control) {
            add(format!("global.control.{key}"), does, what);
        }
        for (name, pool) in &self.pools {
            let own = pool.probe.iter().map(|probe| (format!("pool.{name}"), probe));
            let servers = pool.servers.iter().filter_map(|server| {
                let key = format!("pool.{name}.server.{}", server.name);
                server
                    .probe
                    .as_ref()
                    .filter(|it| Some(*it) != pool.probe.as_ref())
                    .map(|it| (key, it))
            });
            for (at, probe) in own.chain(servers) {
                if let Some((key, does, what)) = probe_effect(probe) {
                    add(format!("{at}.probe.{key}"), does, what);
                }
            }
        }
        for (name, pool) in &self.pools {
            for server in pool.servers.iter().filter(|server| server.address.host.is_unix()) {
                let key = format!("pool.{name}.server.{}", server.name);
                add(key, "connects to", server.address.to_string());
            }
        }
        for (name, service) in &self.services {
            for file in &service.trust.files {
                // Errors show a line of a file that has no networks.
                add(format!("service.{name}.trust"), "reads the file", display_path(file));
            }
            for page in &service.error_pages {
                if let Some(file) = page.file() {
                    let key = format!("service.{name}.error-page.file");
                    add(key, "shows clients the file", display_path(file));
                }
            }
        }
        for (name, heartbeat) in &self.heartbeats {
            if let Some(token) = witness_token(heartbeat) {
                add(format!("heartbeat.{name}.witness.token"), SENDS_SECRET, display_path(token));
            }
        }
        out
    }

    /// The first privileged setting whose effect `before` does not contain.
    pub fn first_new_privileged_setting(
        &self,
        before: &BTreeSet<PrivilegedEffect>,
    ) -> Option<PrivilegedSetting> {
        self.privileged_settings().into_iter().find(|written| !before.contains(&written.effect))
    }
}

/// The file or server that gets the access log.
fn written_log(target: &AccessLogTarget) -> Option<String> {
    match target {
        AccessLogTarget::File(path) => Some(display_path(path)),
        AccessLogTarget::Syslog(server) => Some(server.to_string()),
        AccessLogTarget::Off | AccessLogTarget::Stderr | AccessLogTarget::Stdout => None,
    }
}

/// All of them count even if their keys are absent. A default may be less strict than the written value, or a location
/// where no one looks for the daemon's socket and state.
fn control_effects(control: &ControlConfig) -> Vec<(&'static str, &'static str, String)> {
    let remote = control.remote.as_ref();
    let named =
        |path: Option<&PathBuf>| path.map_or("no file".to_owned(), |path| display_path(path));
    let placed = |path: &Path, default: &str| match path == Path::new(default) {
        true => format!("{default} (as where the key is left out)"),
        false => display_path(path),
    };
    vec![
        (
            "socket",
            "takes orders at",
            control
                .socket
                .as_ref()
                .map_or("no socket".to_owned(), |socket| placed(socket, DEFAULT_SOCKET)),
        ),
        ("state", "keeps its state in", placed(&control.state, DEFAULT_STATE_DIR)),
        ("tokens", "takes tokens from", named(remote.and_then(|it| it.tokens.as_ref()))),
        (
            "client-authorities",
            "takes authorities of clients from",
            named(remote.and_then(|it| it.client_authorities.as_ref())),
        ),
        ("mode", "gives the socket of orders the mode", format!("{:04o}", control.mode)),
        ("audit", "keeps an audit log of", format!("{} bytes", control.audit)),
    ]
}

const SENDS_SECRET: &str = "sends the secret in";

fn probe_effect(probe: &ProbeConfig) -> Option<(&'static str, &'static str, String)> {
    match &probe.kind {
        ProbeKind::Program(program) => {
            let what = format!(
                "{} with {:?}, {} bytes of memory, {} processes",
                program.path.display(),
                program.args,
                program.memory,
                program.processes
            );
            Some(("program", "runs", what))
        }
        kind => kind.secret_file().map(|path| ("secret-file", SENDS_SECRET, display_path(path))),
    }
}

fn witness_token(heartbeat: &HeartbeatConfig) -> Option<&Path> {
    heartbeat.witness.as_ref()?.token.as_deref()
}

fn display_path(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load;

    fn config(text: &str) -> Config {
        let whole = format!(
            "[service.s]\nlisten = \"127.0.0.1:80\"\nforward = \"tcp\"\npool = \"p\"\n{text}"
        );
        load(&whole, "f").unwrap_or_else(|error| panic!("{error}")).config
    }

    fn keys(config: &Config) -> Vec<String> {
        let keys = config.privileged_settings().into_iter().map(|written| written.key);
        keys.filter(|key| !key.starts_with("global.control.")).collect()
    }

    #[test]
    fn every_program_secret_log_file_and_unix_socket_is_named() {
        let full = config(
            "[global]\naccess-log = \"/var/log/x\"\nhook = [{ name = \"h\", run = \"/bin/h\", on = [\"all\"] }]\n\
             [pool.p]\nprobe = { program = \"/bin/p\" }\nservers = [{ name = \"a\", address = \"10.0.0.1:80\" },\n\
             { name = \"c\", address = \"unix:/run/c.sock\" },\n\
             { name = \"b\", address = \"10.0.0.2:80\", probe = { ldap = true, secret-file = \"/etc/s\", user = \"cn=x\" } }]\n",
        );
        assert_eq!(
            keys(&full),
            [
                "global.hook h",
                "global.access-log.target",
                "pool.p.probe.program",
                "pool.p.server.b.probe.secret-file",
                "pool.p.server.c"
            ]
        );
    }

    #[test]
    fn a_syslog_server_is_named() {
        let text = "[global]\naccess-log = \"syslog://192.0.2.9:514\"\n[pool.p]\nservers = [\"10.0.0.1:80\"]\n";
        assert_eq!(keys(&config(text)), ["global.access-log.target"]);
    }

    #[test]
    fn a_file_of_networks_is_named() {
        let text = "[service.s]\nlisten = \":80\"\nforward = \"http\"\npool = \"p\"\n\
                    trust = [\"10.0.0.0/8\", \"file:/etc/shadow\"]\n[pool.p]\nservers = [\"10.0.0.1:80\"]\n";
        let config = load(text, "f").unwrap().config;
        let found = config.privileged_settings();
        assert!(found.iter().any(|it| it.key == "service.s.trust"), "{found:?}");
    }

    #[test]
    fn a_file_that_clients_would_see_is_further_unless_they_see_it_already() {
        let with = |pages: &str| {
            load(
                &format!(
                    "[service.s]\nlisten = \"127.0.0.1:80\"\nforward = \"http\"\npool = \"p\"\nerror-page = [{pages}]\n\
                     [pool.p]\nservers = [\"10.0.0.1:80\"]\n"
                ),
                "f",
            )
            .unwrap()
            .config
        };
        let before = with("{ status = 503, file = \"/etc/pages/503\" }");
        let known = before.privileged_settings().into_iter().map(|it| it.effect).collect();
        for (pages, further) in [
            ("", false),
            ("{ status = 404, file = \"/etc/pages/503\", intercept = true }", false),
            ("{ status = 503, body = \"/etc/shadow\" }", false),
            ("{ status = 503, file = \"/etc/shadow\" }", true),
            ("{ status = 503, file = \"/etc/pages/../shadow\" }", true),
            ("{ status = 503, file = \"/etc/pages/503 \", format = \"http\" }", true),
        ] {
            let found = with(pages).first_new_privileged_setting(&known).map(|it| it.key);
            let wanted = further.then_some("service.s.error-page.file");
            assert_eq!(found.as_deref(), wanted, "{pages}");
        }
    }

    #[test]
    fn the_same_elsewhere_is_not_further_and_another_argument_is() {
        let probe = |rest: &str| {
            config(&format!(
                "[pool.p]\nprobe = {{ program = \"/bin/p\", {rest} }}\nservers = [\"10.0.0.1:80\"]\n"
            ))
        };
        let before =
            probe("args = [\"a\"]").privileged_settings().into_iter().map(|it| it.effect).collect();
        assert_eq!(
            probe("args = [\"a\"], interval = \"5s\"").first_new_privileged_setting(&before),
            None
        );
        for other in ["args = [\"b\"]", "", "args = [\"a\"], memory = \"32MiB\""] {
            let found = probe(other).first_new_privileged_setting(&before);
            assert_eq!(found.map(|it| it.key).as_deref(), Some("pool.p.probe.program"), "{other}");
        }
    }

    #[test]
    fn each_key_of_who_may_order_is_further_and_so_is_its_default() {
        let with = |rest: &str| {
            config(&format!("[global.control]\n{rest}\n[pool.p]\nservers = [\"10.0.0.1:80\"]\n"))
        };
        let known = |config: &Config| {
            config.privileged_settings().into_iter().map(|it| it.effect).collect()
        };
        let listen = "listen = \"127.0.0.1:1\"\n";
        let secure = "listen = \"127.0.0.1:1\"\ncertificate = \"/x/c\"\ntokens = \"/x/tokens\"\n";
        for (key, without, line) in [
            ("socket", "", "socket = \"/x/sock\""),
            ("mode", "", "mode = \"0666\""),
            ("state", "", "state = \"/x/state\""),
            ("audit", "", "audit = \"64KiB\""),
            ("tokens", listen, "tokens = \"/x/tokens\""),
            ("client-authorities", secure, "client-authorities = \"/x/ca\""),
        ] {
            let plain = with(without);
            let other = with(&format!("{without}{line}"));
            let further = |before: &Config, after: &Config| {
                after
                    .first_new_privileged_setting(&known(before))
                    .map(|it| it.key.replace("global.control.", ""))
            };
            assert_eq!(further(&plain, &other).as_deref(), Some(key), "{line}");
            assert_eq!(further(&other, &other), None, "{line}");
            // Removed again.
            assert_eq!(further(&other, &plain).as_deref(), Some(key), "{line}");
        }
    }
}
