//! `serversTransport`: TLS towards servers and the times of connections.

use crate::document::TomlTable;
use crate::duration::format_duration;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::value;

use super::key_files;
use super::option_tree::OptionNode;

/// Traefik's time for a connection to a server, in milliseconds.
const DIAL_MS: u64 = 30_000;
/// Traefik's time for an idle connection to a server, in milliseconds.
const IDLE_MS: u64 = 90_000;
/// Traefik sets no end for answers and tunnels. A day is longer than any of them should be silent.
pub const ENDLESS: &str = "\"1d\"";
/// The longest time that a pool may have for a connection, in milliseconds.
const LONGEST_CONNECT_MS: u64 = 600_000;

/// What a transport says that a pool cannot have: the pool is not written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransportRefusal {
    pub reason: String,
}

/// Writes the times of a pool of HTTP servers.
pub fn write_times(
    transport: Option<&OptionNode>,
    pool: &mut TomlTable,
    notes: &mut ConversionNotes,
) {
    let times = transport.and_then(|transport| transport.get("forwardingTimeouts"));
    let of = |key: &str| times.and_then(|times| times.duration_of(key)).filter(|ms| *ms > 0);
    let connect = of("dialTimeout").unwrap_or(DIAL_MS).min(LONGEST_CONNECT_MS);
    let first = of("responseHeaderTimeout").map_or_else(|| ENDLESS.to_owned(), format_duration);
    let idle = of("idleConnTimeout").unwrap_or(IDLE_MS);
    let value = format!(
        "{{ connect = {}, first-byte = {first}, between-bytes = {ENDLESS}, stream = {ENDLESS}, idle = {} }}",
        format_duration(connect),
        format_duration(idle)
    );
    pool.set("timeout", value, SourcePlace::NONE);
    let Some(times) = times else { return };
    for key in ["dialTimeout", "responseHeaderTimeout", "idleConnTimeout"] {
        times.convert_key(key, notes);
    }
    for key in ["readIdleTimeout", "pingTimeout"] {
        if let Some(time) = times.get(key) {
            time.changed(
                notes,
                "a silent connection of HTTP/2 is asked every 5 min 30 s",
                "`http2.ping`",
            );
        }
    }
}

/// The `tls` table of a pool.
///
/// # Errors
/// The servers' identity is checked in a way that a pool does not have.
pub fn tls_table(
    path: &str,
    transport: Option<&OptionNode>,
    notes: &mut ConversionNotes,
) -> Result<TomlTable, TransportRefusal> {
    let source = transport.map_or(SourcePlace::NONE, OptionNode::place);
    let mut table = TomlTable::new(format!("{path}.tls"), source, "serversTransport");
    let Some(transport) = transport else {
        table.set_required("verify", value::quote("on"), SourcePlace::NONE);
        return Ok(table);
    };
    for key in ["spiffe", "peerCertURI"] {
        if let Some(node) = transport.get(key) {
            node.left_out(
                notes,
                "a server's identity is that of its names: the pool is not written",
                "`tls.name` of the pool",
            );
            return Err(TransportRefusal {
                reason: "its servers cannot be verified as before".to_owned(),
            });
        }
    }
    let verifies = !transport.is_on("insecureSkipVerify");
    table.set_required(
        "verify",
        value::quote(if verifies { "on" } else { "off" }),
        SourcePlace::NONE,
    );
    transport.convert_key("insecureSkipVerify", notes);
    if let Some(name) = transport.get("serverName") {
        let text = name.as_text().unwrap_or_default();
        table.set_required("name", value::quote(text), name.place());
    }
    write_authorities(transport, &mut table, notes);
    write_certificate(transport, &mut table, notes);
    if let Some(version) = transport.get("minVersion") {
        let is_new = version.as_text().is_some_and(|text| text.ends_with("13"));
        table.set_required(
            "minimum",
            value::quote(if is_new { "1.3" } else { "1.2" }),
            version.place(),
        );
    }
    for key in ["maxVersion", "cipherSuites"] {
        if let Some(node) = transport.get(key) {
            node.changed(notes, "TLS 1.3 and what is sound of TLS 1.2 are spoken", "");
        }
    }
    Ok(table)
}

fn write_authorities(transport: &OptionNode, table: &mut TomlTable, notes: &mut ConversionNotes) {
    let Some(authorities) = transport.get("rootCAs") else { return };
    let files = authorities.texts();
    let Some(first) = files.first() else { return };
    table.set_required("ca", value::quote(&first.text), first.source);
    authorities.converted(notes);
    for other in files.iter().skip(1) {
        let reason = "a pool has one file of authorities: servers of the others are refused";
        notes.left_out(
            other.source.whole(),
            &other.text,
            reason,
            "put the authorities into one file",
        );
    }
}

fn write_certificate(transport: &OptionNode, table: &mut TomlTable, notes: &mut ConversionNotes) {
    let Some(certificates) = transport.get("certificates") else { return };
    for (at, entry) in certificates.items().iter().enumerate() {
        if at > 0 {
            entry.left_out(notes, "a pool has one certificate of its own", "");
            continue;
        }
        let file = entry.text_of("certFile").unwrap_or_default();
        table.set_required("certificate", value::quote(file), entry.place());
        entry.converted(notes);
        key_files::check_key(entry, notes);
    }
}

/// Settles what is left of a transport that a pool uses.
pub fn settle_rest(
    transport: &OptionNode,
    has_tls: bool,
    pool: &mut TomlTable,
    notes: &mut ConversionNotes,
) {
    if let Some(idle) = transport.get("maxIdleConnsPerHost") {
        let most = transport.number_of("maxIdleConnsPerHost").unwrap_or(0).clamp(0, 65_535);
        if most > 0 {
            pool.set("limit", format!("{{ idle = {most} }}"), idle.place());
        }
        idle.changed(notes, "idle connections are counted for each server and worker", "");
    }
    if let Some(node) = transport.get("disableHTTP2") {
        node.converted(notes);
    }
    if !has_tls {
        for entry in transport.entries() {
            let key = entry.key.to_ascii_lowercase();
            if matches!(
                key.as_str(),
                "servername" | "insecureskipverify" | "rootcas" | "certificates" | "minversion"
            ) {
                entry.changed(notes, "no server that uses it speaks TLS", "");
            }
        }
    }
}
