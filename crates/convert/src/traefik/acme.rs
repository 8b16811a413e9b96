//! Certificate resolvers as `tls.acme` of a service.

use crate::document::TomlTable;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::value;

use super::option_tree::OptionNode;
use super::tls_demand::TlsDemand;

/// The table of a service whose routers have their certificates from a resolver. `None` without one.
pub fn write(
    path: &str,
    root: &OptionNode,
    demands: &[TlsDemand<'_>],
    notes: &mut ConversionNotes,
) -> Option<TomlTable> {
    let resolver_of =
        |demand: &TlsDemand<'_>| demand.node?.text_of("certResolver").map(str::to_owned);
    let first = demands.iter().find_map(resolver_of)?;
    let mut names: Vec<String> = Vec::new();
    for demand in demands {
        let Some(node) = demand.node else { continue };
        match resolver_of(demand) {
            Some(name) if name == first => {
                names.extend(domains(node).unwrap_or_else(|| demand.names.clone()));
                for key in ["certResolver", "domains"] {
                    node.convert_key(key, notes);
                }
            }
            Some(_) => {
                if let Some(other) = node.get("certResolver") {
                    let reason = "a service orders its certificates from one authority";
                    other.left_out(notes, reason, "a listener of its own");
                }
            }
            None => {}
        }
    }
    names.sort();
    names.dedup();
    let resolver = root.get("certificatesResolvers").and_then(|table| table.get(&first));
    let source = resolver.map_or(SourcePlace::NONE, OptionNode::place);
    if names.is_empty() {
        let reason = "a certificate is ordered for names, and the routers name none";
        notes.left_out(source, &first, reason, "`tls.acme.names`");
        return None;
    }
    let mut table = TomlTable::new(format!("{path}.tls.acme"), source, "certResolver");
    table.set("names", value::quote_all(&names), SourcePlace::NONE);
    let Some(acme) = resolver.and_then(|resolver| resolver.get("acme")) else {
        return without_resolver(&first, resolver, table, notes);
    };
    if let Some(dns) = acme.get("dnsChallenge") {
        let reason = "names are proved over HTTP or TLS, not in the DNS: no certificate is ordered";
        dns.left_out(notes, reason, "`tls.certificates`, ordered by another program");
        return None;
    }
    write_authority(acme, &mut table, notes);
    Some(table)
}

/// A resolver that another file has, or one of another kind.
fn without_resolver(
    name: &str,
    resolver: Option<&OptionNode>,
    table: TomlTable,
    notes: &mut ConversionNotes,
) -> Option<TomlTable> {
    if let Some(other) = resolver {
        other.left_out(notes, "certificates are ordered by ACME alone", "`tls.certificates`");
        return None;
    }
    let reason = "the resolver is not in this file: certificates are ordered from Let's Encrypt, over port 80";
    notes.changed(SourcePlace::NONE, &format!("certResolver {name}"), reason, "`tls.acme`");
    Some(table)
}

/// `main` and `sans` of the domains. `None` if there are none.
fn domains(node: &OptionNode) -> Option<Vec<String>> {
    let domains = node.get("domains")?;
    let mut out = Vec::new();
    for domain in domains.items() {
        out.extend(domain.text_of("main").map(str::to_owned));
        out.extend(domain.texts_of("sans").into_iter().map(|name| name.text));
    }
    (!out.is_empty()).then_some(out)
}

fn write_authority(acme: &OptionNode, table: &mut TomlTable, notes: &mut ConversionNotes) {
    if let Some(server) = acme.get("caServer") {
        table.set("directory", value::quote(server.as_text().unwrap_or_default()), server.place());
    }
    if let Some(mail) = acme.get("email") {
        table.set("contact", value::quote(mail.as_text().unwrap_or_default()), mail.place());
    }
    if let Some(file) = acme.texts_of("caCertificates").first() {
        table.set("ca", value::quote(&file.text), file.source);
    }
    let challenge = if acme.get("tlsChallenge").is_some() { "tls" } else { "http" };
    table.set("challenge", value::quote(challenge), SourcePlace::NONE);
    for entry in acme.entries() {
        match entry.key.to_ascii_lowercase().as_str() {
            "caserver" | "email" | "httpchallenge" | "tlschallenge" => entry.converted(notes),
            "cacertificates" => {
                entry.changed(
                    notes,
                    "the first file verifies the authority",
                    "put them into one file",
                );
            }
            "storage" => entry.changed(
                notes,
                "accounts and certificates are kept in the state directory",
                "`global.control.state`",
            ),
            "keytype" => entry.changed(notes, "keys are made for ECDSA with P-256", ""),
            "eab" => entry.left_out(
                notes,
                "accounts are made without external binding",
                "`tls.certificates`",
            ),
            _ => entry.changed(
                notes,
                "the order is made with our own times and the authority's usual chain",
                "",
            ),
        }
    }
}
