//! Verifies a service: keys of other forwarding methods, contradicting limits, and all its tables.

use crate::config::decode::key_path::quote_key;
use crate::config::effective_settings::EffectiveSettings;
use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::request_limits::verify_target_limit;
use crate::config::section::ConfigSection;
use crate::config::{
    affinity, buffer, client_from, error_pages, forwarded_headers, http2, http3, objective,
    proxy_protocol, request_id, socket, tls, unsupported_keys,
};

pub fn verify_service(
    service: &ConfigSection,
    effective: &EffectiveSettings,
    sink: &mut FindingCollector<'_, '_>,
) {
    let path = format!("service.{}", quote_key(&service.name));
    verify_forwarding_keys(service, &path, sink);
    if let Some(limit) = service.table("limit") {
        verify_target_limit(limit, &format!("{path}.limit"), sink);
        let most: Option<u64> = effective.global.count("connections");
        let own: Option<u64> = limit.count("connections");
        if let (Some(own), Some(most)) = (own, most)
            && own > most
        {
            let message =
                format!("{own} connections are never reached: `global.connections` is {most}");
            sink.warning(
                limit.span_of("connections"),
                &format!("{path}.limit.connections"),
                FindingDetails::new(message),
            );
        }
        let each: Option<u64> = limit.count("connections-per-client");
        if let (Some(each), Some(all)) = (each, own.or(most))
            && each > all
        {
            let message =
                format!("a client never has {each} connections: all clients together have {all}");
            let key = "connections-per-client";
            sink.warning(
                limit.span_of(key),
                &format!("{path}.limit.{key}"),
                FindingDetails::new(message),
            );
        }
    }
    tls::verify_service_tls(service, &path, sink);
    client_from::verify_client_from(service, &path, sink);
    request_id::verify_request_id(service, &path, &effective.auths, sink);
    forwarded_headers::verify_forwarded(service, &path, sink);
    affinity::verify_affinity(service, sink);
    objective::verify_objective(service, &effective.global, sink);
    http2::verify_client_http2(service, &path, sink);
    error_pages::verify_error_pages(service, sink);
    buffer::verify_buffer(service, &path, sink);
    http3::verify_client_http3(service, &path, sink);
    proxy_protocol::verify_accept_proxy(service, &path, sink);
    if let Some(socket) = service.table("socket") {
        socket::verify_socket(socket, &format!("{path}.socket"), sink);
    }
}

/// Reports keys that the service's forwarding method does not support.
fn verify_forwarding_keys(
    service: &ConfigSection,
    path: &str,
    sink: &mut FindingCollector<'_, '_>,
) {
    if service.text("forward") == Some("tcp") {
        unsupported_keys::visit_unsupported_keys(
            service,
            path,
            &|key| key.http_only,
            &mut |section, key, path| {
                let message =
                    format!("`{key}` belongs to `forward = \"http\"`; this service forwards bytes");
                sink.error(section.span_of(key), path, FindingDetails::new(message));
            },
        );
    }
    if !unsupported_keys::forwards_packets(service) {
        unsupported_keys::visit_unsupported_keys(
            service,
            path,
            &|key| key.packets_only,
            &mut |section, key, path| {
                let message = format!(
                    "`{key}` belongs to packet forwarding: `forward` `mac`, `nat` or `tunnel`"
                );
                sink.error(section.span_of(key), path, FindingDetails::new(message));
            },
        );
    }
}
