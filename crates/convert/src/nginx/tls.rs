//! Certificates of the servers that share a listener, as one service's `tls`.

use std::collections::BTreeMap;

use crate::certificate_file::{has_key_beside, key_path};
use crate::condition::RuleCondition;
use crate::document::{Document, SourcedValue, TomlTable};
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::scope::DirectiveScope;
use super::tree::Directive;
use super::value_branch::ValueBranch;

/// What a client gets whose certificate is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalEnding {
    /// nginx completes the handshake and answers with 400.
    Answer,
    /// A `stream` has no answers: the connection ends.
    Handshake,
}

/// Writes the `tls` table. `scopes`: the servers, the default server first. Without a certificate, validation removes
/// the service.
pub fn write(
    path: &str,
    source: SourcePlace,
    scopes: &[&DirectiveScope<'_>],
    ending: RefusalEnding,
    document: &mut Document,
    notes: &mut ConversionNotes,
) {
    let mut tls = TomlTable::new(format!("{path}.tls"), source, "listen … ssl");
    let mut files: Vec<String> = Vec::new();
    for scope in scopes {
        for certificate in scope.all("ssl_certificate") {
            certificate.mark_converted();
            let keys = scope.all("ssl_certificate_key");
            keys.iter().for_each(|key| key.mark_converted());
            let file = certificate.word(0).to_owned();
            let key = scope.get("ssl_certificate_key").map_or("", |key| key.word(0));
            if file.contains('$') || key.contains('$') {
                let reason = "which certificate is shown depends on the connection: its names are not served until files are written";
                let instead = "`tls.certificates` with the file of each name";
                notes.left_out(certificate.source, &certificate.text(), reason, instead);
                continue;
            }
            if !has_key_beside(&file, key) {
                let wanted = key_path(&file);
                let reason = "a key stands in the certificate's file or beside it";
                notes.left_out(
                    certificate.source,
                    &certificate.text(),
                    reason,
                    &format!("cp {key} {wanted}"),
                );
            }
            if !files.contains(&file) {
                files.push(file);
            }
        }
    }
    if files.is_empty() {
        let reason =
            "TLS needs the file of a certificate: nothing is served here until one is written";
        notes.left_out(source, "listen … ssl", reason, "`tls = { certificates = … }`");
    }
    tls.set_required("certificates", value::quote_all(&files), source);
    let Some(first) = scopes.first() else { return };
    if let Some(versions) = first.get("ssl_protocols") {
        let old = versions.args().iter().any(|version| version == "TLSv1.2");
        tls.set_required("minimum", value::quote(if old { "1.2" } else { "1.3" }), versions.source);
    }
    write_unknown_names(&mut tls, scopes, ending, notes);
    if let Some(verify) = scopes.iter().find_map(|scope| unnamed_authority(scope)) {
        let reason =
            "clients must show certificates, and the authority that signs them is not named";
        notes.left_out(verify.source, &verify.text(), reason, "`tls.client.ca`");
        // Without `ca`, `check` rejects this table, and validation removes the service: no client connects without
        // verification.
        tls.set_required(
            "client",
            value::table(&[KeyValue::new("verify", value::quote("required"))]),
            verify.source,
        );
    } else if let Some(client) = client_verification(scopes, ending, notes) {
        tls.set_required("client", client.value, client.source);
    }
    document.push(tls);
}

/// `ssl_reject_handshake`: handshakes for unknown server names.
fn write_unknown_names(
    tls: &mut TomlTable,
    scopes: &[&DirectiveScope<'_>],
    ending: RefusalEnding,
    notes: &mut ConversionNotes,
) {
    let Some(first) = scopes.first() else { return };
    if let Some(reject) = first.get("ssl_reject_handshake").filter(|one| one.word(0) == "on") {
        tls.directive.push_str(", ssl_reject_handshake on: other names are refused");
        tls.set("unknown-sni", value::quote("require"), reject.source);
    }
    if ending == RefusalEnding::Answer {
        // Rules refuse the names of such servers.
        return;
    }
    for reject in scopes.iter().skip(1).filter_map(|scope| scope.get("ssl_reject_handshake")) {
        if reject.word(0) == "on" {
            let reason = "handshakes are refused by name for all servers of a listener or for none";
            notes.left_out(reject.source, &reject.text(), reason, "`tls.unknown-sni = \"refuse\"`");
        }
    }
}

/// How a server verifies its clients: the authorities, whether a certificate is required, and the revocation list.
#[derive(Clone, PartialEq, Eq)]
struct ClientVerification {
    ca: String,
    required: bool,
    crl: Option<String>,
}

/// The verification that a server demands of its clients.
#[derive(Clone)]
struct ClientDemand {
    verification: ClientVerification,
    source: SourcePlace,
}

fn demand(scope: &DirectiveScope<'_>) -> Option<ClientDemand> {
    let verify = scope.get("ssl_verify_client").map_or("off", |one| one.word(0));
    let verify = if verify == "optional_no_ca" { "off" } else { verify };
    let named = || scope.get("ssl_client_certificate").or(scope.get("ssl_trusted_certificate"));
    let ca = if verify == "off" { None } else { named() }?;
    for used in ["ssl_crl", "ssl_client_certificate"] {
        scope.get(used).into_iter().for_each(Directive::mark_converted);
    }
    let crl = scope.get("ssl_crl").map(|crl| crl.word(0).to_owned());
    let required = verify == "on";
    let verification = ClientVerification { ca: ca.word(0).to_owned(), required, crl };
    Some(ClientDemand { verification, source: ca.source })
}

/// `ssl_verify_client` of a server that names no authority for client certificates.
fn unnamed_authority<'t>(scope: &DirectiveScope<'t>) -> Option<&'t Directive> {
    let verify = scope.get("ssl_verify_client")?;
    let asks = matches!(verify.word(0), "on" | "optional");
    (asks && demand(scope).is_none()).then_some(verify)
}

/// Whether a server trusts other authorities than the listener, which has those of the first server that asks.
pub fn demands_otherwise(scopes: &[&DirectiveScope<'_>], own: &DirectiveScope<'_>) -> bool {
    // Most servers demand none, and a listener may have thousands of them.
    let Some(own) = demand(own) else { return false };
    let Some(first) = scopes.iter().find_map(|scope| demand(scope)) else { return false };
    let ClientVerification { ca, crl, .. } = first.verification;
    ca != own.verification.ca || crl != own.verification.crl
}

/// The values of `$ssl_client_verify`, as far as they are known.
pub fn client_variables(
    scope: &DirectiveScope<'_>,
    tls: bool,
) -> BTreeMap<String, Vec<ValueBranch>> {
    let verify = scope.get("ssl_verify_client").map_or("off", |one| one.peek(0));
    let branches = match (tls, verify) {
        (false, _) => vec![ValueBranch::always("")],
        (true, "off") => vec![ValueBranch::always("NONE")],
        // Whoever shows another certificate is refused.
        (true, "on" | "optional") => {
            let verified = RuleCondition::texts("header", &["x-client-cert-verified: yes"]);
            vec![ValueBranch::new(verified, "SUCCESS"), ValueBranch::always("NONE")]
        }
        _ => return BTreeMap::new(),
    };
    BTreeMap::from([("ssl_client_verify".to_owned(), branches)])
}

/// The verification of client certificates for the whole service. A service uses one authority, and requests
/// certificates on all connections or for some names. Where the servers differ beyond that, clients are rejected rather
/// than accepted.
fn client_verification(
    scopes: &[&DirectiveScope<'_>],
    ending: RefusalEnding,
    notes: &mut ConversionNotes,
) -> Option<SourcedValue> {
    for verify in scopes.iter().filter_map(|scope| scope.get("ssl_verify_client")) {
        if verify.word(0) == "optional_no_ca" {
            let reason = "certificates that nobody here verifies are not asked for: servers are told of none";
            notes.left_out(
                verify.source,
                &verify.text(),
                reason,
                "`client = { ca = …, verify = \"optional\" }`",
            );
        }
    }
    let switches = ["ssl_verify_client", "ssl_reject_handshake"];
    for name in switches {
        let switched = scopes.iter().filter_map(|scope| scope.get(name));
        switched.for_each(Directive::mark_converted);
    }
    note_depth(scopes, notes);
    let demands: Vec<_> = scopes.iter().map(|scope| demand(scope)).collect();
    let ClientDemand { verification: first, source } = demands.iter().flatten().next()?.clone();
    for other in demands.iter().flatten().filter(|other| other.verification != first) {
        let reason = "certificates of clients are judged alike at one listener, by what comes first: what demands others is closed";
        notes.left_out(other.source, "ssl_client_certificate", reason, "a listener of its own");
    }
    let required = demands.iter().flatten().any(|demand| demand.verification.required);
    let verify = if required { "required" } else { "optional" };
    let mut pairs = vec![
        KeyValue::new("ca", value::quote(&first.ca)),
        KeyValue::new("verify", value::quote(verify)),
    ];
    if ending == RefusalEnding::Answer {
        pairs.push(KeyValue::new("refuse", value::quote("answer")));
    }
    if let Some(crl) = &first.crl {
        pairs.push(KeyValue::new("crl", value::quote(crl)));
    }
    if demands.iter().any(Option::is_none) {
        let asked = scopes.iter().zip(&demands).filter(|(_, demand)| demand.is_some());
        let names: Option<Vec<String>> = asked
            .map(|(scope, _)| names(scope))
            .collect::<Option<Vec<_>>>()
            .map(|all| all.concat());
        // Connections without a known name reach the first server.
        match names.filter(|names| demands[0].is_none() && !names.is_empty()) {
            Some(names) => pairs.push(KeyValue::new("names", value::quote_all(&names))),
            None => {
                let reason = "whose connections are asked is told by whole names, and those of other names are not asked: \
                              here all are asked";
                notes.left_out(source, "ssl_verify_client", reason, "`client = { names = [...] }`");
            }
        }
    }
    Some(SourcedValue { value: value::table(&pairs), source })
}

/// Reports chains of certificates that nginx limits where nothing is written.
fn note_depth(scopes: &[&DirectiveScope<'_>], notes: &mut ConversionNotes) {
    let first = scopes.iter().find(|scope| demand(scope).is_some());
    let Some(scope) = first.filter(|scope| scope.get("ssl_verify_depth").is_none()) else { return };
    let Some(verify) = scope.get("ssl_verify_client") else { return };
    let reason = "nginx takes one certificate between a client's and the authority (`ssl_verify_depth`); here chains may be longer";
    notes.changed(verify.source, &verify.text(), reason, DEPTH_INSTEAD);
}

/// What limits whose certificates are taken.
const DEPTH_INSTEAD: &str =
    "in `tls.client.ca` only authorities none of whose further authorities issue for others";

/// The names of a server that are host patterns.
#[derive(Debug, Default)]
pub struct ReadableNames {
    pub names: Vec<String>,
    /// There is a name that is none.
    pub is_partial: bool,
}

/// The names of a server, as far as they are host patterns. `_` is no name that anybody asks for.
pub fn readable_names(scope: &DirectiveScope<'_>) -> ReadableNames {
    let mut out = ReadableNames::default();
    for name in scope.all("server_name").iter().flat_map(|one| one.peek_all()) {
        match patterns(name) {
            Some(patterns) => {
                let lower = patterns.into_iter().map(|one| one.to_ascii_lowercase());
                out.names.extend(lower);
            }
            None => out.is_partial |= !matches!(name.as_str(), "_" | ""),
        }
    }
    out
}

/// The names of a server as host patterns. `None` if a name is not a pattern.
fn names(scope: &DirectiveScope<'_>) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for name in scope.all("server_name").iter().flat_map(|one| one.args()) {
        names.extend(patterns(name)?);
    }
    Some(names)
}

/// A name as host patterns: one with a dot at its beginning means two.
fn patterns(name: &str) -> Option<Vec<String>> {
    let bare = name.strip_prefix("*.").or(name.strip_prefix('.')).unwrap_or(name);
    let good = |b: u8| b.is_ascii_alphanumeric() || b"-.".contains(&b);
    if bare.is_empty() || !bare.bytes().all(good) {
        return None;
    }
    let mut out = Vec::new();
    if !name.starts_with("*.") {
        out.push(bare.to_owned());
    }
    if bare.len() < name.len() {
        out.push(format!("*.{bare}"));
    }
    Some(out)
}
