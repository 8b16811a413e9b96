//! TLS of entry points: certificates, options, client certificates, and certificates of ACME.

use crate::document::{Document, TomlTable};
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::acme;
use super::key_files;
use super::named_options::NamedOptions;
use super::option_tree::OptionNode;
use super::tls_demand::{TlsDemand, client_table};

/// The options of a router, of `all` in `tls.options`: those that it names, those of its entry point, or the default ones.
///
/// # Errors
/// The router names options that are not in the file.
pub fn options_of<'t>(
    all: &NamedOptions<'t>,
    tls: &[Option<&'t OptionNode>],
) -> Result<Option<&'t OptionNode>, &'t OptionNode> {
    let named = tls.iter().flatten().find_map(|tls| tls.get("options"));
    let Some(node) = named else { return Ok(all.find("default")) };
    match node.as_text().unwrap_or_default() {
        "default" => Ok(all.find("default")),
        // The default options are nobody's in particular.
        name if name.starts_with("default@") => Err(node),
        name => all.find(name).map(Some).ok_or(node),
    }
}

/// Writes the `tls` table of a service. Without a certificate, validation removes the service.
pub fn write(
    path: &str,
    root: &OptionNode,
    demands: &[TlsDemand<'_>],
    document: &mut Document,
    notes: &mut ConversionNotes,
) {
    let source =
        demands.iter().find_map(|one| one.node).map_or(SourcePlace::NONE, OptionNode::place);
    let mut table = TomlTable::new(format!("{path}.tls"), source, "tls");
    let files = certificates(root, notes);
    let ordered = acme::write(path, root, demands, notes);
    if files.is_empty() && ordered.is_none() {
        let reason =
            "TLS needs the file of a certificate: nothing is served here until one is written";
        notes.left_out(source, "tls", reason, "`tls = { certificates = … }` of the service");
    }
    if !files.is_empty() || ordered.is_none() {
        table.set_required("certificates", value::quote_all(&files), SourcePlace::NONE);
    }
    write_versions(demands, &mut table, notes);
    write_clients(demands, &mut table, notes);
    write_switches(demands, &mut table, notes);
    for node in demands.iter().filter_map(|one| one.node) {
        for key in ["options", "passthrough"] {
            node.convert_key(key, notes);
        }
        if node.children().is_empty() {
            node.converted(notes);
        }
    }
    document.push(table);
    ordered.into_iter().for_each(|table| document.push(table));
}

/// The files of certificates, the default one first.
fn certificates(root: &OptionNode, notes: &mut ConversionNotes) -> Vec<String> {
    let store = root.find(&["tls", "stores", "default", "defaultCertificate"]);
    let listed = root.find(&["tls", "certificates"]).map(OptionNode::items).unwrap_or_default();
    let mut files: Vec<String> = Vec::new();
    for entry in store.into_iter().chain(listed) {
        let file = entry.text_of("certFile").unwrap_or_default();
        let stores = entry.texts_of("stores");
        if file.is_empty() || file.contains("-----BEGIN") {
            entry.left_out(notes, "a certificate is a file", "`tls.certificates` of the service");
            continue;
        }
        if !stores.is_empty() && !stores.iter().any(|store| store.text == "default") {
            entry.left_out(notes, "only the store `default` is used", "");
            continue;
        }
        for key in ["certFile", "stores"] {
            entry.convert_key(key, notes);
        }
        key_files::check_key(entry, notes);
        if !files.iter().any(|known| known == file) {
            files.push(file.to_owned());
        }
    }
    files
}

/// The oldest version. Where routers differ, the newest of them holds for all.
fn write_versions(demands: &[TlsDemand<'_>], table: &mut TomlTable, notes: &mut ConversionNotes) {
    let mut newest: Option<&str> = None;
    for options in demands.iter().filter_map(|one| one.options) {
        if let Some(node) = options.get("minVersion") {
            let text = node.as_text().unwrap_or_default().to_ascii_lowercase();
            match text.as_str() {
                "versiontls13" => newest = Some("1.3"),
                "versiontls12" => newest = newest.or(Some("1.2")),
                _ => {}
            }
            match text.as_str() {
                "versiontls12" | "versiontls13" => node.converted(notes),
                _ => node.changed(notes, "nothing older than TLS 1.2 is spoken", ""),
            }
        }
        for key in ["cipherSuites", "curvePreferences", "preferServerCipherSuites"] {
            if let Some(node) = options.get(key) {
                let reason = "TLS 1.3 is spoken, and what is sound of TLS 1.2 (ECDHE with AES-GCM or ChaCha20)";
                node.changed(notes, reason, "`tls.policy`");
            }
        }
        if let Some(node) = options.get("maxVersion") {
            node.changed(notes, "TLS 1.3 is always spoken", "");
        }
    }
    let is_newest = |options: &OptionNode| {
        options.text_of("minVersion").is_some_and(|text| text.eq_ignore_ascii_case("VersionTLS13"))
    };
    if newest == Some("1.3") {
        note_shared(demands, "minVersion", is_newest, notes);
    }
    if let Some(version) = newest {
        table.set_required("minimum", value::quote(version), SourcePlace::NONE);
    }
}

/// Reports an option of some routers that holds for all routers of the listener here.
fn note_shared(
    demands: &[TlsDemand<'_>],
    key: &str,
    has: impl Fn(&OptionNode) -> bool,
    notes: &mut ConversionNotes,
) {
    if demands.iter().all(|one| one.options.is_some_and(&has)) {
        return;
    }
    let reason =
        "one value holds for all routers of an entry point, also for those with other options";
    for options in demands.iter().filter_map(|one| one.options) {
        if let Some(node) = options.get(key) {
            node.changed(notes, reason, "an entry point of its own");
        }
    }
}

fn write_switches(demands: &[TlsDemand<'_>], table: &mut TomlTable, notes: &mut ConversionNotes) {
    for options in demands.iter().filter_map(|one| one.options) {
        if let Some(node) = options.get("sniStrict") {
            if options.is_on("sniStrict") {
                table.set_required("unknown-sni", value::quote("require"), node.place());
            }
            node.converted(notes);
        }
        if let Some(node) = options.get("disableSessionTickets") {
            if options.is_on("disableSessionTickets") {
                table.set("tickets", value::quote("off"), node.place());
            }
            node.converted(notes);
        }
        if let Some(node) = options.get("alpnProtocols") {
            node.changed(notes, "h2 and http/1.1 are offered", "`http2 = \"off\"` of the service");
        }
    }
    for key in ["sniStrict", "disableSessionTickets"] {
        if is_on_for_any(demands, key) {
            note_shared(demands, key, |options| options.is_on(key), notes);
        }
    }
}

/// Whether the option is on for any router.
fn is_on_for_any(demands: &[TlsDemand<'_>], key: &str) -> bool {
    demands.iter().filter_map(|one| one.options).any(|options| options.is_on(key))
}

/// Certificates of clients. One authority and one manner hold for a listener: routers that differ from the first are
/// closed, and no demands of theirs come here.
fn write_clients(demands: &[TlsDemand<'_>], table: &mut TomlTable, notes: &mut ConversionNotes) {
    let asking = |demand: &&TlsDemand<'_>| demand.options.and_then(client_table).is_some();
    let Some(first) = demands.iter().find(asking).and_then(|one| one.options) else {
        for options in demands.iter().filter_map(|one| one.options) {
            if let Some(node) = options.get("clientAuth") {
                let reason = "certificates that nobody verifies are not asked for";
                node.changed(notes, reason, "`tls.client` with `verify = \"optional\"`");
            }
        }
        return;
    };
    let Some(client) = client_table(first) else { return };
    let kind = client.text_of("clientAuthType").unwrap_or_default();
    let files = client.texts_of("caFiles");
    let optional = kind == "VerifyClientCertIfGiven";
    let mut pairs = Vec::new();
    let named = matches!(kind, "VerifyClientCertIfGiven" | "RequireAndVerifyClientCert");
    match files.first().filter(|_| named) {
        Some(file) => pairs.push(KeyValue::new("ca", value::quote(&file.text))),
        // Without `ca`, `check` rejects the table, and validation removes the service.
        None => {
            let reason = "clients must show certificates that an authority has signed, and none is named: nothing is served here";
            client.left_out(notes, reason, "`tls.client.ca`");
        }
    }
    for other in files.iter().skip(1) {
        let reason = "a service has one file of authorities: clients of the others are refused";
        notes.left_out(
            other.source.whole(),
            &other.text,
            reason,
            "put the authorities into one file",
        );
    }
    pairs.push(KeyValue::new(
        "verify",
        value::quote(if optional { "optional" } else { "required" }),
    ));
    pairs.extend(asked_names(demands, client, notes));
    client.converted(notes);
    table.set_required("client", value::table(&pairs), client.place());
}

/// The names whose connections are asked, where not all are.
fn asked_names(
    demands: &[TlsDemand<'_>],
    client: &OptionNode,
    notes: &mut ConversionNotes,
) -> Option<KeyValue> {
    let asks = |demand: &TlsDemand<'_>| demand.options.and_then(client_table).is_some();
    if demands.iter().all(asks) {
        return None;
    }
    let mut names: Vec<String> = Vec::new();
    for demand in demands.iter().filter(|demand| asks(demand)) {
        names.extend(demand.names.iter().cloned());
        if demand.names.is_empty() || !demand.is_bound {
            let reason = "whose connections are asked is told by names: here all are asked";
            notes.left_out(client.place(), &client.text, reason, "`tls.client.names`");
            return None;
        }
    }
    names.sort();
    names.dedup();
    Some(KeyValue::new("names", value::quote_all(&names)))
}
