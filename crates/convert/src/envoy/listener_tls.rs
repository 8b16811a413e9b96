//! TLS towards clients: the contexts of a listener's filter chains, as one service's `tls`.

use crate::document::{SourcedValue, TomlTable};
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::structured::node::ConfigNode;
use crate::value::{self, KeyValue};

use super::fields::settle_rest;
use super::reader::{leave_out, note_changed, take_flag, take_texts};
use super::secrets::{
    SYSTEM_ROOTS, StaticSecrets, ValidationFiles, take_certificate, take_validation,
};
use super::upstream_tls::minimum_version;

/// The TLS of one filter chain. `names`: the server names of the chain, none for all.
pub struct ChainTls<'t> {
    pub context: &'t ConfigNode,
    pub names: Vec<String>,
}

/// The `tls` table of a service, and whether HTTP/2 is offered.
pub struct ListenerTls {
    pub table: TomlTable,
    pub offers_http2: bool,
}

/// Whom a chain asks for a certificate.
#[derive(Clone, PartialEq, Eq)]
struct ChainDemand {
    files: ValidationFiles,
    required: bool,
}

/// Reads the contexts of all chains. `None` if what they demand cannot be written: the service is then left out.
pub fn read_tls(
    path: &str,
    chains: &[ChainTls<'_>],
    secrets: &StaticSecrets<'_>,
    notes: &mut ConversionNotes,
) -> Option<ListenerTls> {
    let first = chains.first()?;
    let mut table = TomlTable::new(format!("{path}.tls"), first.context.source, "transport_socket");
    let mut files: Vec<String> = Vec::new();
    let mut is_writable = true;
    let mut offers_http2 = false;
    let mut minimum = None;
    let mut demands = Vec::new();
    // The certificate of the chain for all names is the default one.
    for chain in chains
        .iter()
        .filter(|one| one.names.is_empty())
        .chain(chains.iter().filter(|one| !one.names.is_empty()))
    {
        let context = chain.context;
        let Some(common) = context.get("common_tls_context") else { continue };
        let certificates = secrets.certificates(common, notes);
        is_writable &= !certificates.is_incomplete;
        for certificate in certificates.found {
            match take_certificate(certificate, notes) {
                Some(file) if !files.iter().any(|known| known == file) => {
                    files.push(file.to_owned())
                }
                Some(_) => {}
                None => is_writable = false,
            }
        }
        offers_http2 |= take_texts(common, "alpn_protocols", notes).contains(&"h2");
        let own = minimum_version(common, notes);
        minimum = newest_version(minimum, own, chains.len(), notes);
        settle_rest("common_tls", common, notes);
    }
    for chain in chains {
        demands.push(client_demand(chain, secrets, &mut is_writable, notes));
        write_switches(chain.context, &mut table, notes);
    }
    let client = client_table(chains, &demands, &mut is_writable, notes);
    if files.is_empty() {
        leave_out(
            first.context,
            "TLS needs the file of a certificate",
            "`tls.certificates`",
            notes,
        );
    }
    if !is_writable || files.is_empty() {
        return None;
    }
    table.set_required("certificates", value::quote_all(&files), first.context.source);
    if let Some(minimum) = minimum {
        table.set_required("minimum", value::quote(&minimum.value), minimum.source);
    }
    if chains.iter().all(|chain| !chain.names.is_empty()) {
        // Handshakes for other names match no chain.
        table.set("unknown-sni", value::quote("require"), SourcePlace::NONE);
    }
    if let Some(client) = client {
        table.set_required("client", client, first.context.source);
    }
    Some(ListenerTls { table, offers_http2 })
}

/// The newer one of two oldest versions, since a service has one for all of its chains.
fn newest_version(
    known: Option<SourcedValue>,
    own: Option<SourcedValue>,
    chains: usize,
    notes: &mut ConversionNotes,
) -> Option<SourcedValue> {
    let newer = known.into_iter().chain(own).max_by(|one, two| one.value.cmp(&two.value))?;
    if chains > 1 {
        let reason = "the newest of the oldest versions holds for all chains of a listener";
        notes.changed(newer.source, "tls_minimum_protocol_version", reason, "`tls.minimum`");
    }
    Some(newer)
}

fn client_demand(
    chain: &ChainTls<'_>,
    secrets: &StaticSecrets<'_>,
    is_writable: &mut bool,
    notes: &mut ConversionNotes,
) -> Option<ChainDemand> {
    let required = take_flag(chain.context, "require_client_certificate", notes).unwrap_or(false);
    let common = chain.context.get("common_tls_context");
    let found = common.map(|common| secrets.validation(common, notes)).unwrap_or_default();
    let files = take_validation(&found.found, notes);
    let asks = required || files.ca.is_some();
    if found.is_incomplete
        || files.is_unwritable
        || !files.names.is_empty()
        || files.ca.as_deref() == Some(SYSTEM_ROOTS)
        || required && files.ca.is_none()
    {
        let reason = "certificates of clients are held against authorities in a file, and against no names: \
                      nothing is served here until that is written";
        leave_out(chain.context, reason, "`tls.client`", notes);
        *is_writable = false;
    }
    asks.then_some(ChainDemand { files, required })
}

/// The value of `client`. Chains with different demands take the service along.
fn client_table(
    chains: &[ChainTls<'_>],
    demands: &[Option<ChainDemand>],
    is_writable: &mut bool,
    notes: &mut ConversionNotes,
) -> Option<String> {
    let first = demands.iter().flatten().next()?;
    for (chain, demand) in chains.iter().zip(demands) {
        if demand.as_ref().is_some_and(|demand| demand != first) {
            let reason = "certificates of clients are verified alike for all names of a listener: \
                          nothing is served here until that is written";
            leave_out(chain.context, reason, "a listener of its own", notes);
            *is_writable = false;
        }
    }
    let ca = first.files.ca.as_deref()?;
    let verify = if first.required { "required" } else { "optional" };
    let mut pairs =
        vec![KeyValue::new("ca", value::quote(ca)), KeyValue::new("verify", value::quote(verify))];
    if let Some(crl) = &first.files.crl {
        pairs.push(KeyValue::new("crl", value::quote(crl)));
    }
    if demands.iter().any(Option::is_none) {
        let asked: Vec<&ChainTls<'_>> = chains
            .iter()
            .zip(demands)
            .filter(|(_, demand)| demand.is_some())
            .map(|(chain, _)| chain)
            .collect();
        let names: Vec<&String> = asked.iter().flat_map(|chain| &chain.names).collect();
        if asked.iter().any(|chain| chain.names.is_empty()) {
            // Names that are not asked cannot be named: all are asked.
            let reason = "clients of all names are asked for a certificate";
            notes.left_out(
                chains[0].context.source,
                "require_client_certificate",
                reason,
                "`client.names`",
            );
        } else {
            pairs.push(KeyValue::new("names", value::quote_all(&names)));
        }
    }
    Some(value::table(&pairs))
}

fn write_switches(context: &ConfigNode, table: &mut TomlTable, notes: &mut ConversionNotes) {
    if take_flag(context, "require_sni", notes) == Some(true) {
        let source = context.get("require_sni").map_or(context.source, |field| field.source);
        table.set("unknown-sni", value::quote("require"), source);
    }
    if take_flag(context, "disable_stateless_session_resumption", notes) == Some(true) {
        let field = context.get("disable_stateless_session_resumption");
        table.set(
            "tickets",
            value::quote("off"),
            field.map_or(context.source, |field| field.source),
        );
    }
    settle_rest("downstream_tls", context, notes);
    for other in context.unread_entries() {
        note_changed(other, "the TLS library has its own settings", "`tls`", notes);
    }
}
