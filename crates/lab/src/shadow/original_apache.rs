//! A whole configuration of Apache httpd from a part of one, such as the file of one site.
//!
//! Pure, but for a look at which modules the machine has. What a file says itself stays as it is.

use std::path::Path;

use convert::dialect::Dialect;

use super::statement::{SourceStatement, split_statements};

/// Directories of modules on Debian and elsewhere.
const MODULES: [&str; 3] =
    ["/usr/lib/apache2/modules", "/usr/lib64/httpd/modules", "/usr/lib/httpd/modules"];

/// The modules that proxies and their guards are made of.
const LOADED: [&str; 47] = [
    "mpm_event",
    "authn_core",
    "authz_core",
    "authz_host",
    "authz_user",
    "authz_groupfile",
    "authn_file",
    "auth_basic",
    "auth_digest",
    "access_compat",
    "alias",
    "dir",
    "env",
    "setenvif",
    "headers",
    "mime",
    "log_config",
    "unixd",
    "filter",
    "deflate",
    "brotli",
    "expires",
    "http2",
    "macro",
    "rewrite",
    "remoteip",
    "reqtimeout",
    "ratelimit",
    "substitute",
    "socache_shmcb",
    "slotmem_shm",
    "ssl",
    "status",
    "watchdog",
    "proxy",
    "proxy_http",
    "proxy_http2",
    "proxy_wstunnel",
    "proxy_fcgi",
    "proxy_ajp",
    "proxy_balancer",
    "proxy_hcheck",
    "lbmethod_byrequests",
    "lbmethod_bytraffic",
    "lbmethod_bybusyness",
    "lbmethod_heartbeat",
    "session",
];

/// The text with what a process needs besides: modules, listeners and directories.
pub fn whole_apache(text: &str) -> String {
    let statements = split_statements(text, Dialect::Apache);
    let has = |name: &str| statements.iter().any(|one| one.directive() == name);
    let modules = MODULES.into_iter().find(|place| Path::new(place).is_dir()).unwrap_or(MODULES[0]);
    let mut out = String::new();
    if !has("serverroot") {
        // Names of modules are relative to it.
        let relative = statements
            .iter()
            .any(|one| one.directive() == "loadmodule" && !one.word(2).starts_with('/'));
        let root = modules.trim_end_matches("/modules");
        out.push_str(&format!("ServerRoot {}\n", if relative { root } else { "/etc/apache2" }));
    }
    for module in LOADED {
        let file = format!("{modules}/mod_{module}.so");
        if Path::new(&file).exists() {
            out.push_str(&format!(
                "<IfModule !{module}_module>\nLoadModule {module}_module {file}\n</IfModule>\n"
            ));
        }
    }
    for (name, line) in [
        ("user", "User www-data\nGroup www-data\n"),
        ("pidfile", "PidFile /run/shadow-apache.pid\n"),
        ("defaultruntimedir", "DefaultRuntimeDir /run\n"),
        ("servername", "ServerName localhost\n"),
        ("typesconfig", "<IfModule mime_module>\nTypesConfig /dev/null\n</IfModule>\n"),
    ] {
        if !has(name) {
            out.push_str(line);
        }
    }
    out.push_str(
        "<IfDefine !APACHE_LOG_DIR>\nDefine APACHE_LOG_DIR /var/log/apache2\n</IfDefine>\n",
    );
    out.push_str("ErrorLog /proc/self/fd/2\n");
    if !has("listen") {
        for port in virtual_ports(&statements) {
            out.push_str(&format!("Listen {port}\n"));
        }
    }
    out + text
}

/// The ports of the virtual hosts; without any, that of HTTP.
fn virtual_ports(statements: &[SourceStatement]) -> Vec<u16> {
    let hosts = statements.iter().filter(|one| one.directive() == "virtualhost");
    let addresses = hosts.flat_map(|one| one.words.iter().skip(1));
    let mut ports: Vec<u16> =
        addresses.filter_map(|address| address.rsplit(':').next()?.parse().ok()).collect();
    ports.sort_unstable();
    ports.dedup();
    if ports.is_empty() { vec![80] } else { ports }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_gets_listeners_of_its_virtual_hosts_and_a_whole_file_keeps_its_own() {
        let part = whole_apache(
            "<VirtualHost *:8080>\nServerName a\n</VirtualHost>\n<VirtualHost *:80>\n</VirtualHost>\n",
        );
        assert!(part.contains("Listen 80\nListen 8080\n<VirtualHost"), "{part}");
        let whole = "ServerRoot /srv\nListen 81\nUser nobody\nLoadModule a_module modules/a.so\n";
        let text = whole_apache(whole);
        assert!(text.ends_with(whole) && text.matches("Listen").count() == 1, "{text}");
        assert!(text.matches("ServerRoot").count() == 1 && !text.contains("www-data"), "{text}");
        let relative = whole_apache("LoadModule a_module modules/a.so\n");
        assert!(!relative.starts_with("ServerRoot /etc/"), "{relative}");
    }
}
