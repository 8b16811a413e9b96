//! The addresses of a pool's servers, from a configuration. It calls no daemon, and resolves no names.

use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;

use model::config::{ServerHost, load};

use crate::common_args::{file_name, read_config};
use crate::outcome::CommandError;

/// The addresses of a pool's servers.
pub fn servers(config: &Path, name: &str) -> Result<Vec<SocketAddr>, CommandError> {
    let file = file_name(config);
    let checked = load(&read_config(config)?, &file).map_err(|findings| {
        let count = findings.findings.len();
        let why = format!("{file} has {count} mistakes: steelyard check -c {file} lists them");
        CommandError::Unusable(format!("--filter pool={name}: {why}"))
    })?;
    let pools = &checked.config.pools;
    let pool = pools.get(name).ok_or_else(|| {
        let known: Vec<&str> = pools.keys().map(String::as_str).collect();
        CommandError::Absent(format!("{file} has no pool {name}; there are {}", known.join(", ")))
    })?;
    let mut found = Vec::new();
    let mut named = Vec::new();
    for server in &pool.servers {
        match &server.address.host {
            ServerHost::Ip(ip) => found.push(SocketAddr::new(*ip, server.address.port)),
            ServerHost::Name(_) | ServerHost::Unix(_) => named.push(server.name.as_str()),
        }
    }
    if found.is_empty() {
        let why = "none of its servers has an address; name one with end=ADDRESS:PORT";
        return Err(CommandError::Unusable(format!("--filter pool={name}: {why}")));
    }
    if !named.is_empty() {
        let named = named.join(", ");
        // Ignored: a warning that cannot be printed must not stop the analysis.
        let _ = writeln!(
            std::io::stderr(),
            "pool {name} without {named}: a name is not looked up, end=ADDRESS:PORT is, and Unix sockets have no packets"
        );
    }
    Ok(found)
}
