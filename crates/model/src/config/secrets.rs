//! Lists files of a configuration that other users must not read or write: they hold secrets or permissions. It reads
//! no file.

use std::path::{Path, PathBuf};

use super::auth::AuthConfig;
use super::file_root::Config;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretFile {
    /// The key that names the file: `service.shop.tls.certificates`.
    pub key: String,
    /// The file, or a directory of such files.
    pub path: PathBuf,
    pub content: SecretContent,
}

/// The content of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretContent {
    /// A certificate; its private key is in the same file or in one beside it.
    Certificate,
    Secret,
    /// Digests of tokens: not secret, but a user who can write the file can grant access.
    Tokens,
}

impl Config {
    pub fn secret_files(&self) -> Vec<SecretFile> {
        let mut out = Vec::new();
        let mut add = |key: String, path: &Path, holds: SecretContent| {
            out.push(SecretFile { key, path: path.to_owned(), content: holds });
        };
        if let Some(remote) = &self.global.control.remote {
            for (key, path, holds) in [
                ("tokens", &remote.tokens, SecretContent::Tokens),
                ("certificate", &remote.certificate, SecretContent::Certificate),
            ] {
                path.iter().for_each(|path| add(format!("global.control.{key}"), path, holds));
            }
        }
        if let Some(path) = &self.global.sticky_secret_file {
            add("global.sticky-secret-file".to_owned(), path, SecretContent::Secret);
        }
        // Who is asked over the network has no file, nor have keys from there.
        let is_local = |auth: &AuthConfig| auth.pool.is_none() && auth.jwks_url.is_none();
        for (name, auth) in self.auths.iter().filter(|it| is_local(it.1)) {
            add(format!("auth.{name}.file"), &auth.file, SecretContent::Secret);
        }
        for (name, service) in &self.services {
            for path in service.tls.iter().flat_map(|tls| &tls.certificates) {
                add(format!("service.{name}.tls.certificates"), path, SecretContent::Certificate);
            }
        }
        for (name, pool) in &self.pools {
            if let Some(path) = pool.tls.as_ref().and_then(|tls| tls.certificate.as_ref()) {
                add(format!("pool.{name}.tls.certificate"), path, SecretContent::Certificate);
            }
            let probes = pool.servers.iter().filter_map(|server| server.probe.as_ref());
            for path in pool.probe.iter().chain(probes).filter_map(|probe| probe.kind.secret_file())
            {
                add(format!("pool.{name}.probe.secret-file"), path, SecretContent::Secret);
            }
        }
        for (name, heartbeat) in &self.heartbeats {
            add(format!("heartbeat.{name}.secret"), &heartbeat.secret, SecretContent::Secret);
            if let Some(token) = heartbeat.witness.as_ref().and_then(|it| it.token.as_ref()) {
                add(format!("heartbeat.{name}.witness.token"), token, SecretContent::Secret);
            }
        }
        out.dedup();
        out
    }
}

#[cfg(test)]
mod tests {
    use super::super::file_root::ROOT;
    use super::super::schema::{TableSchema, TextFormat, ValueKind};

    /// Files without secrets, grouped by purpose.
    const OPEN: [&str; 10] = [
        // Certificate authorities and revocation lists.
        "ca",
        "crl",
        "client-authorities",
        // Created or written by the daemon.
        "socket",
        "state",
        "pin-path",
        "target",
        // Programs.
        "run",
        "program",
        // Addresses of servers.
        "file",
    ];
    const SECRET: [&str; 7] = [
        "certificate",
        "certificates",
        "secret",
        "secret-file",
        "sticky-secret-file",
        "token",
        "tokens",
    ];

    fn files<'t>(
        table: &'t TableSchema,
        seen: &mut Vec<*const TableSchema>,
        out: &mut Vec<&'t str>,
    ) {
        if seen.contains(&std::ptr::from_ref(table)) {
            return;
        }
        seen.push(table);
        for key in table.keys {
            match &key.kind {
                ValueKind::Text { form: TextFormat::File | TextFormat::Target, .. }
                | ValueKind::Texts { form: TextFormat::File | TextFormat::Target, .. }
                | ValueKind::Lines { form: TextFormat::File | TextFormat::Target, .. }
                | ValueKind::Files => out.push(key.name),
                ValueKind::Table { table, .. }
                | ValueKind::List { table, .. }
                | ValueKind::Named { table, .. } => {
                    files(table, seen, out);
                }
                _ => {}
            }
        }
    }

    #[test]
    fn every_key_that_names_a_file_is_known_to_be_secret_or_not() {
        let mut found = Vec::new();
        files(&ROOT, &mut Vec::new(), &mut found);
        let unknown: Vec<_> =
            found.iter().filter(|name| !OPEN.contains(name) && !SECRET.contains(name)).collect();
        assert!(unknown.is_empty(), "say in this file whether they hold secrets: {unknown:?}");
        for name in OPEN.iter().chain(&SECRET) {
            assert!(found.contains(name), "no key is called {name}");
        }
    }
}
