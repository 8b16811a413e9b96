//! The configuration of a test's balancer: one service and one pool unless more is added.
//!
//! This module builds text and reserves ports; `balancer` runs the program.

use std::fmt::Display;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use lab::port::ReservedPort;

use super::servers;

/// A configuration file that a test can change and write once more.
#[derive(Clone, Debug)]
pub struct BalancerConfig {
    forward: &'static str,
    listen: Vec<Arc<ReservedPort>>,
    servers: Vec<String>,
    control: String,
    global: String,
    service: String,
    pool: String,
    extra_tables: String,
    log: Option<String>,
    /// Keys of the access log, apart from its target.
    log_keys: String,
}

impl BalancerConfig {
    /// An `http` service `shop` on a port of the loopback, with a pool `web` of these servers: `a`, `b`, …
    pub fn http(servers: &[SocketAddr]) -> BalancerConfig {
        BalancerConfig::new("http", servers)
    }

    /// A configuration with `forward = "tcp"`.
    pub fn tcp(servers: &[SocketAddr]) -> BalancerConfig {
        BalancerConfig::new("tcp", servers)
    }

    fn new(forward: &'static str, servers: &[SocketAddr]) -> BalancerConfig {
        let empty = BalancerConfig {
            forward,
            listen: vec![Arc::new(servers::reserve_port())],
            servers: Vec::new(),
            control: String::new(),
            global: String::new(),
            service: String::new(),
            pool: String::new(),
            extra_tables: String::new(),
            log: Some("DIR/access.log".to_owned()),
            log_keys: "all = true".to_owned(),
        };
        let names = ('a'..='z').map(String::from);
        servers.iter().zip(names).fold(empty, |setup, (at, name)| setup.server(&name, at, ""))
    }

    /// Adds a server; `settings` such as `, weight = 3`.
    pub fn server(mut self, name: &str, address: impl Display, settings: &str) -> BalancerConfig {
        self.servers.push(format!("{{ name = \"{name}\", address = \"{address}\"{settings} }}"));
        self
    }

    pub fn without_server(mut self, name: &str) -> BalancerConfig {
        self.servers.retain(|server| !server.contains(&format!("name = \"{name}\"")));
        self
    }

    pub fn listen(mut self, ports: Vec<ReservedPort>) -> BalancerConfig {
        self.listen = ports.into_iter().map(Arc::new).collect();
        self
    }

    /// Further keys of `global.control`, such as `, audit = "1MiB"`. `DIR` is replaced by the test's directory.
    pub fn control(mut self, keys: &str) -> BalancerConfig {
        keys.clone_into(&mut self.control);
        self
    }

    pub fn global(mut self, lines: &str) -> BalancerConfig {
        lines.clone_into(&mut self.global);
        self
    }

    pub fn service(mut self, lines: &str) -> BalancerConfig {
        lines.clone_into(&mut self.service);
        self
    }

    pub fn pool(mut self, lines: &str) -> BalancerConfig {
        lines.clone_into(&mut self.pool);
        self
    }

    /// Whole tables, appended after the generated ones.
    pub fn with_tables(mut self, tables: &str) -> BalancerConfig {
        tables.clone_into(&mut self.extra_tables);
        self
    }

    /// Turns logging off, for tests under load.
    pub fn quiet(mut self) -> BalancerConfig {
        self.log = None;
        self
    }

    /// Logs every request to this target.
    pub fn log_to(mut self, target: &str) -> BalancerConfig {
        self.log = Some(target.to_owned());
        self
    }

    /// Logs in the common form.
    pub fn log_in_common_form(self) -> BalancerConfig {
        self.log_with("all = true, format = \"common\"")
    }

    /// Logs with these keys, such as `all = true, fields = ["status"]`.
    pub fn log_with(mut self, keys: &str) -> BalancerConfig {
        keys.clone_into(&mut self.log_keys);
        self
    }

    pub fn fronts(&self) -> Vec<SocketAddr> {
        self.listen.iter().map(|port| port.address()).collect()
    }

    /// The text, with all state files below `dir`.
    pub fn text(&self, dir: &Path) -> String {
        let BalancerConfig { forward, global, service, pool, extra_tables: more, .. } = self;
        let dir = dir.display();
        let listen: Vec<String> =
            self.fronts().iter().map(|front| format!("\"{front}\"")).collect();
        let listen = listen.join(", ");
        let servers = self.servers.join(", ");
        let log = match &self.log {
            Some(target) => {
                let keys = &self.log_keys;
                format!("{{ {keys}, target = \"{target}\" }}")
            }
            None => "\"off\"".to_owned(),
        };
        let log = log.replace("DIR", &dir.to_string());
        let control = self.control.replace("DIR", &dir.to_string());
        format!(
            "[global]\naccess-log = {log}\ncontrol = {{ socket = \"{dir}/sock\", state = \"{dir}/state\"{control} }}\n\
             {global}\n\
             [service.shop]\nlisten = [{listen}]\nforward = \"{forward}\"\npool = \"web\"\n{service}\n\
             [pool.web]\nservers = [{servers}]\n{pool}\n{more}\n"
        )
    }
}
