//! The request of the query: where its URL leads, and its text as rules see it.

use std::ops::Range;

use api::types::RequestDescription;
use model::request_head::ParsedHead;
use model::rules::{PathAdmission, admit_path, write_with_target};
use model::snapshot::ServiceView;
use wire::http1::{HeadLimits, HeaderSlots, parse_request};

/// A request as text, and where its parts lie.
#[derive(Clone)]
pub(super) struct RequestText {
    pub(super) bytes: Vec<u8>,
    pub(super) method: usize,
    pub(super) target: Range<usize>,
}

impl RequestText {
    pub(super) fn head(&self) -> ParsedHead<'_> {
        ParsedHead::new(&self.bytes, self.method, self.target.clone())
    }
}

/// Where a URL leads.
pub(super) struct UrlParts<'a> {
    pub(super) scheme: &'a str,
    pub(super) authority: &'a str,
    pub(super) host: &'a str,
    pub(super) port: Option<u16>,
    pub(super) target: &'a str,
}

pub(super) fn parse_url(url: &str) -> Result<UrlParts<'_>, String> {
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    if !matches!(scheme, "http" | "https" | "tcp") {
        return Err(format!("`{scheme}` is no scheme of a service: expected http, https or tcp"));
    }
    let at = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, target) = rest.split_at(at);
    let bare = authority.ends_with(']');
    let (host, port) = match authority.rsplit_once(':').filter(|_| !bare) {
        Some((host, port)) => {
            let port = port.parse().map_err(|_| format!("`{port}` is no port"))?;
            (host, Some(port))
        }
        None => (authority, None),
    };
    let target = if target.is_empty() { "/" } else { target };
    Ok(UrlParts { scheme, authority, host, port, target })
}

/// The request in the form that rules see, refused where a worker would refuse it.
pub(super) fn build_request_text(
    asked: &RequestDescription,
    place: &UrlParts<'_>,
    view: &ServiceView,
) -> Result<RequestText, String> {
    let method = if asked.method.is_empty() { "GET" } else { &asked.method };
    let target = match place.target.starts_with('?') {
        true => format!("/{}", place.target),
        false => place.target.to_owned(),
    };
    let host = if place.authority.is_empty() { view.config.name.as_str() } else { place.authority };
    let mut text = format!("{method} {target} HTTP/1.1\r\n");
    let has_host = asked.headers.iter().any(|field| {
        field.split(':').next().is_some_and(|name| name.trim().eq_ignore_ascii_case("host"))
    });
    if !has_host {
        text.push_str(&format!("Host: {host}\r\n"));
    }
    for field in &asked.headers {
        let (name, value) = field
            .split_once(':')
            .ok_or_else(|| format!("`{field}` is no field: expected `name: value`"))?;
        text.push_str(&format!("{}: {}\r\n", name.trim(), value.trim()));
    }
    text.push_str("\r\n");
    let limits = HeadLimits {
        head_bytes: view.config.limit.header_bytes as usize,
        head_count: usize::from(view.config.limit.header_count),
        target_bytes: view.config.limit.target_bytes as usize,
    };
    let mut slots = HeaderSlots::new();
    match parse_request(text.as_bytes(), &limits, &mut slots) {
        Ok(Some(_)) => {}
        Ok(None) => return Err("the request's head does not end".into()),
        Err(defect) => return Err(format!("a worker would refuse it: {}", defect.name())),
    }
    let begin = method.len() + 1;
    let end = begin + target.len();
    Ok(RequestText { method: method.len(), target: begin..end, bytes: text.into_bytes() })
}

/// The request as the service's rules get it.
pub(super) struct NormalizedRequest {
    pub(super) text: Option<RequestText>,
    /// It is refused before any rule.
    pub(super) refused: bool,
}

/// Normalizes the path as the service does.
pub(super) fn apply_request_policy(
    view: &ServiceView,
    written: Option<RequestText>,
) -> NormalizedRequest {
    let Some(it) = written else { return NormalizedRequest { text: None, refused: false } };
    let head = it.head();
    let admission = admit_path(view.config.path_normalization, &head);
    let refused = matches!(admission, PathAdmission::Refused);
    let text = match admission {
        PathAdmission::Unchanged | PathAdmission::Refused => it,
        PathAdmission::Rewritten(target) => {
            let mut bytes = Vec::new();
            let target = write_with_target(&it.bytes, &head, &target, &mut bytes);
            RequestText { bytes, method: it.method, target }
        }
    };
    NormalizedRequest { text: Some(text), refused }
}
