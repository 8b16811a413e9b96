//! Verifies `tls` of a service and of a pool: paths, contradictions and insecure settings. It reads no file.

use super::acme::NAMES;
use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::section::ConfigSection;
use crate::config::value::ConfigValue;
use crate::request_head::same_name;

pub fn verify_service_tls(
    service: &ConfigSection,
    path: &str,
    sink: &mut FindingCollector<'_, '_>,
) {
    let Some(tls) = service.table("tls") else { return };
    let path = format!("{path}.tls");
    if let Some(ConfigValue::Files(files)) = tls.value("certificates") {
        for file in files {
            verify_absolute_path(tls, "certificates", file, &path, sink);
        }
    }
    if let Some(acme) = tls.table("acme") {
        verify_acme(acme, &format!("{path}.acme"), sink);
    } else if tls.setting("certificates").is_none() {
        let trouble = FindingDetails::new("no certificate is named, and none is ordered")
            .with_expected("`certificates`, a list of files, or `acme`, a list of names");
        sink.error(tls.span, &path, trouble);
    }
    if tls.text("policy") == Some("modern") && tls.text("minimum") == Some("1.2") {
        let message =
            "`minimum = \"1.2\"` contradicts `policy = \"modern\"`, which is TLS 1.3 alone";
        let trouble =
            FindingDetails::new(message).with_expected("`minimum = \"1.3\"`, or another policy");
        sink.error(tls.span_of("minimum"), &format!("{path}.minimum"), trouble);
    }
    if let (Some(acme), Some(client)) = (tls.table("acme"), tls.table("client"))
        && acme.text("challenge") == Some("tls")
        && client.text("verify") != Some("optional")
    {
        let message = "an authority that shakes hands has no client's certificate to show";
        let trouble = FindingDetails::new(message)
            .with_expected("`challenge = \"http\"`, or `verify = \"optional\"` in `client`");
        sink.error(acme.span_of("challenge"), &format!("{path}.acme.challenge"), trouble);
    }
    if let Some(client) = tls.table("client") {
        let path = format!("{path}.client");
        if let Some(ca) = client.text("ca") {
            verify_absolute_path(client, "ca", ca, &path, sink);
        }
        verify_header_prefix(client, &path, sink);
        verify_revocation(client, &path, sink);
    }
}

/// Verifies the prefix of header fields about client certificates, because fields with this prefix are removed from
/// requests.
fn verify_header_prefix(client: &ConfigSection, path: &str, sink: &mut FindingCollector<'_, '_>) {
    let Some(prefix) = client.text("headers").filter(|prefix| !prefix.is_empty()) else { return };
    let taken = RESERVED_FIELDS.iter().filter(|name| {
        name.as_bytes().get(..prefix.len()).is_some_and(|it| same_name(it, prefix.as_bytes()))
    });
    let taken: Vec<String> = taken.map(|name| format!("`{name}`")).collect();
    if taken.is_empty() {
        return;
    }
    let message = format!(
        "every field of a client whose name begins so is taken away, and that is {}",
        taken.join(", ")
    );
    let trouble = FindingDetails::new(message)
        .with_found(format!("\"{prefix}\""))
        .with_expected("a beginning of its own, such as \"x-client-cert\"");
    sink.error(client.span_of("headers"), &format!("{path}.headers"), trouble);
}

/// Request header fields that HTTP, browsers or the balancer need.
const RESERVED_FIELDS: [&str; 58] = [
    "accept",
    "accept-encoding",
    "accept-language",
    "access-control-request-headers",
    "access-control-request-method",
    "age",
    "authorization",
    "cache-control",
    "client-cert",
    "client-cert-chain",
    "connection",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-length",
    "content-location",
    "content-range",
    "content-type",
    "cookie",
    "date",
    "expect",
    "forwarded",
    "from",
    "grpc-encoding",
    "grpc-timeout",
    "host",
    "http2-settings",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "keep-alive",
    "max-forwards",
    "origin",
    "pragma",
    "prefer",
    "priority",
    "proxy-authorization",
    "proxy-connection",
    "range",
    "referer",
    "sec-fetch-site",
    "sec-websocket-extensions",
    "sec-websocket-key",
    "sec-websocket-protocol",
    "sec-websocket-version",
    "te",
    "traceparent",
    "tracestate",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "via",
    "x-forwarded-for",
    "x-real-ip",
    "x-steelyard-",
];

fn verify_revocation(section: &ConfigSection, path: &str, sink: &mut FindingCollector<'_, '_>) {
    if let Some(ConfigValue::Files(files)) = section.value("crl") {
        for file in files {
            verify_absolute_path(section, "crl", file, path, sink);
        }
    } else if section.is_written("expired-crl") {
        let message = "`expired-crl` has no effect without `crl`";
        let key = format!("{path}.expired-crl");
        sink.error(section.span_of("expired-crl"), &key, FindingDetails::new(message));
    }
}

/// Verifies a certificate obtained by ACME.
fn verify_acme(acme: &ConfigSection, path: &str, sink: &mut FindingCollector<'_, '_>) {
    let (names, key) = (acme.texts("names"), format!("{path}.names"));
    let place = acme.span_of("names");
    if names.len() > NAMES {
        let message = format!("a certificate of {} names; authorities take {NAMES}", names.len());
        sink.error(place, &key, FindingDetails::new(message));
    }
    for name in names {
        let trouble = if name.parse::<std::net::IpAddr>().is_ok() || !name.contains('.') {
            FindingDetails::new(format!("`{name}` is not a name that an authority can look up"))
                .with_expected("a full name, such as \"shop.example\"")
        } else if name.contains('*') {
            let message = format!("`{name}`: neither challenge can show that all names are ours");
            FindingDetails::new(message)
                .with_expected("each name by itself, or a certificate's file")
        } else {
            continue;
        };
        sink.error(place, &key, trouble);
    }
    if let Some(url) = acme.text("directory") {
        let place = acme.span_of("directory");
        let key = format!("{path}.directory");
        if url.starts_with("http://") {
            let message = "the authority is not verified: whoever is on the way may be it";
            sink.warning(place, &key, FindingDetails::new(message));
        } else if !url.starts_with("https://") {
            let trouble = FindingDetails::new(format!("`{url}` is not a URL"))
                .with_expected("`https://`, a host and a path");
            sink.error(place, &key, trouble);
        }
    }
    for contact in acme.texts("contact").iter().filter(|one| !one.contains('@')) {
        let trouble =
            FindingDetails::new(format!("`{contact}` is not an address of electronic mail"))
                .with_expected("an address such as \"ops@shop.example\"");
        sink.error(acme.span_of("contact"), &format!("{path}.contact"), trouble);
    }
    if let Some(ca) = acme.text("ca") {
        verify_absolute_path(acme, "ca", ca, path, sink);
    }
}

pub fn verify_pool_tls(pool: &ConfigSection, path: &str, sink: &mut FindingCollector<'_, '_>) {
    let Some(tls) = pool.table("tls") else { return };
    let path = format!("{path}.tls");
    for key in ["ca", "certificate"] {
        if let Some(file) = tls.text(key) {
            verify_absolute_path(tls, key, file, &path, sink);
        }
    }
    if let Some(name) = tls.text("name").filter(|name| !is_valid_host(name)) {
        let trouble = FindingDetails::new(format!("`{name}` is not a host name or an address"))
            .with_expected("a name without port, such as \"backend.example\", or an address");
        sink.error(tls.span_of("name"), &format!("{path}.name"), trouble);
    }
    verify_revocation(tls, &path, sink);
    if tls.text("verify") == Some("off") {
        let key = format!("{path}.verify");
        let message = "servers are not verified: whoever is on the way may be the server";
        sink.warning(tls.span_of("verify"), &key, FindingDetails::new(message));
        for key in ["ca", "crl"].into_iter().filter(|key| tls.is_written(key)) {
            let message = format!("`{key}` has no effect with `verify = \"off\"`");
            sink.error(tls.span_of(key), &format!("{path}.{key}"), FindingDetails::new(message));
        }
    }
}

/// Requires an absolute path, which does not depend on the daemon's working directory.
fn verify_absolute_path(
    section: &ConfigSection,
    key: &str,
    file: &str,
    path: &str,
    sink: &mut FindingCollector<'_, '_>,
) {
    if !file.starts_with('/') {
        let trouble =
            FindingDetails::new(format!("`{file}` depends on where the daemon was started"))
                .with_expected("a path that begins with `/`");
        sink.error(section.span_of(key), &format!("{path}.{key}"), trouble);
    }
}

/// Letters, digits, dots and dashes (RFC 952), or an address.
fn is_valid_host(name: &str) -> bool {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    name.parse::<std::net::IpAddr>().is_ok() || (name.len() <= 253 && name.split('.').all(label))
}
