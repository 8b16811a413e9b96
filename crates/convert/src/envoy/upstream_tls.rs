//! The transport sockets of clusters: TLS towards servers, and the PROXY protocol.

use crate::document::{SourcedValue, TomlTable};
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::structured::node::ConfigNode;
use crate::value;

use super::fields::settle_rest;
use super::reader::{leave_out, note_changed, take_text, take_texts, take_type};
use super::secrets::{StaticSecrets, take_certificate, take_validation};

/// How servers of a cluster are spoken to.
#[derive(Default)]
pub struct UpstreamSocket {
    pub tls: Option<TomlTable>,
    /// The version of the PROXY protocol.
    pub send_proxy: Option<SourcedValue>,
    /// What is demanded of servers cannot be written.
    pub is_unusable: bool,
}

pub fn read_socket(
    node: &ConfigNode,
    secrets: &StaticSecrets<'_>,
    notes: &mut ConversionNotes,
) -> UpstreamSocket {
    let mut socket = UpstreamSocket::default();
    for key in ["transport_socket_matches", "tls_context"] {
        if let Some(field) = node.get(key) {
            leave_out(
                field,
                "a pool has one way to speak to its servers",
                "`tls` of the pool",
                notes,
            );
            socket.is_unusable = true;
        }
    }
    if let Some(field) = node.get("transport_socket") {
        read_layer(field, secrets, &mut socket, notes);
    }
    socket
}

fn read_layer(
    field: &ConfigNode,
    secrets: &StaticSecrets<'_>,
    socket: &mut UpstreamSocket,
    notes: &mut ConversionNotes,
) {
    let name = take_text(field, "name", notes).unwrap_or_default();
    let config = field.get("typed_config");
    let kind = config.map(|config| take_type(config, notes)).unwrap_or_default();
    match (config, kind) {
        (Some(config), "UpstreamTlsContext") => read_tls(config, secrets, socket, notes),
        (_, "RawBuffer") => {}
        (None, _) if name == "envoy.transport_sockets.raw_buffer" => {}
        (Some(config), "ProxyProtocolUpstreamTransport") => {
            let version = config.get("config");
            let number = version.and_then(|one| take_text(one, "version", notes)).unwrap_or("V1");
            let number = if matches!(number, "V2" | "1") { "v2" } else { "v1" };
            socket.send_proxy =
                Some(SourcedValue { value: number.to_owned(), source: config.source });
            if let Some(inner) = config.get("transport_socket") {
                read_layer(inner, secrets, socket, notes);
            }
        }
        _ => {
            leave_out(field, "there is no such transport", "`tls` of the pool", notes);
            socket.is_unusable = true;
        }
    }
}

fn read_tls(
    config: &ConfigNode,
    secrets: &StaticSecrets<'_>,
    socket: &mut UpstreamSocket,
    notes: &mut ConversionNotes,
) {
    let mut tls = TomlTable::new("pool.x.tls", config.source, "transport_socket");
    let mut name = take_text(config, "sni", notes).map(str::to_owned);
    let sni_source = config.get("sni").map_or(SourcePlace::NONE, |field| field.source);
    if let Some(common) = config.get("common_tls_context") {
        let contexts = secrets.validation(common, notes);
        let demands = take_validation(&contexts.found, notes);
        socket.is_unusable |= contexts.is_incomplete || demands.is_unwritable;
        match (&demands.names[..], &name) {
            ([], _) => {}
            ([only], None) => name = Some(only.clone()),
            ([only], Some(sni)) if only == sni => {}
            _ => {
                let reason = "a server proves the one name that it is asked for";
                leave_out(common, reason, "`tls.name` of the pool", notes);
                socket.is_unusable = true;
            }
        }
        match &demands.ca {
            Some(ca) => {
                tls.set_required("ca", value::quote(ca), common.source);
                if demands.names.is_empty() {
                    let reason = "the name in a server's certificate is verified, too";
                    notes.changed(
                        common.source,
                        common.describe(),
                        reason,
                        "`tls.name` of the pool",
                    );
                }
            }
            None => {
                // Without an authority Envoy accepts any certificate.
                tls.set("verify", value::quote("off"), common.source);
                let reason = "certificates of servers are not verified, as no authority is named";
                notes.changed(common.source, common.describe(), reason, "`tls.ca` of the pool");
            }
        }
        if let Some(crl) = &demands.crl {
            tls.set_required("crl", value::quote(crl), common.source);
        }
        read_own(common, secrets, &mut tls, socket, notes);
    } else {
        tls.set("verify", value::quote("off"), config.source);
        let reason = "certificates of servers are not verified, as no authority is named";
        notes.changed(config.source, config.describe(), reason, "`tls.ca` of the pool");
    }
    if let Some(name) = &name {
        tls.set("name", value::quote(name), sni_source);
    }
    if let Some(field) = config.get("auto_sni_san_validation") {
        note_changed(
            field,
            "the name in a certificate is verified where an authority is named",
            "",
            notes,
        );
    }
    settle_rest("upstream_tls", config, notes);
    socket.tls = Some(tls);
}

/// Our own certificate and the versions.
fn read_own(
    common: &ConfigNode,
    secrets: &StaticSecrets<'_>,
    tls: &mut TomlTable,
    socket: &mut UpstreamSocket,
    notes: &mut ConversionNotes,
) {
    let own = secrets.certificates(common, notes);
    socket.is_unusable |= own.is_incomplete;
    if let Some(certificate) = own.found.first() {
        match take_certificate(certificate, notes) {
            Some(file) => tls.set_required("certificate", value::quote(file), certificate.source),
            None => socket.is_unusable = true,
        }
    }
    for other in own.found.iter().skip(1) {
        leave_out(other, "a pool has one certificate", "`tls.certificate` of the pool", notes);
    }
    if let Some(oldest) = minimum_version(common, notes) {
        tls.set_required("minimum", value::quote(&oldest.value), oldest.source);
    }
    for name in take_texts(common, "alpn_protocols", notes) {
        if !matches!(name, "h2" | "http/1.1") {
            let reason = format!("`{name}` is not offered to servers");
            let source = common.get("alpn_protocols").map_or(common.source, |field| field.source);
            notes.changed(source, "alpn_protocols", &reason, "`http2` of the pool");
        }
    }
    settle_rest("common_tls", common, notes);
}

/// The oldest version of TLS that is spoken.
pub fn minimum_version(common: &ConfigNode, notes: &mut ConversionNotes) -> Option<SourcedValue> {
    let params = common.get("tls_params")?;
    let field = params.get("tls_minimum_protocol_version");
    let text = take_text(params, "tls_minimum_protocol_version", notes);
    settle_rest("tls_params", params, notes);
    let source = field?.source;
    let value = match text? {
        "TLSv1_3" | "4" => "1.3",
        "TLSv1_2" | "3" => "1.2",
        "TLS_AUTO" | "0" => return None,
        _ => {
            notes.changed(
                source,
                "tls_minimum_protocol_version",
                "TLS below 1.2 is never spoken",
                "",
            );
            "1.2"
        }
    };
    Some(SourcedValue { value: value.to_owned(), source })
}
