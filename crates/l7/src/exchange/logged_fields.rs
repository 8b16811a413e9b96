//! Fields and cookies of a request for the access log, without what proves who a client is.

use std::borrow::Cow;

use model::config::{LogSource, ServiceConfig};
use model::request_head::same_name;
use wire::http1::Header;

use crate::accounting::captured_fields::{CapturedFields, is_captured};
use crate::rt::NetDriver;
use crate::worker::Worker;
use crate::worker::authentication::key_parameter;

/// The values, where the log has some.
pub fn capture_fields<N: NetDriver>(
    worker: &Worker<N>,
    service: &ServiceConfig,
    headers: &[Header],
) -> Option<Box<CapturedFields>> {
    let access = &worker.options.access;
    if !access.wants_further_facts() || !access.fields.iter().any(|it| is_captured(&it.source)) {
        return None;
    }
    let captured = CapturedFields::capture(&access.fields, headers, |source, value| {
        hide_credentials(service, source, value)
    });
    Some(Box::new(captured))
}

/// What the log may show of a value. The check of the configuration refuses fields that have credentials. But the fields
/// are those of the start, and a later configuration may have credentials in them.
fn hide_credentials<'v>(
    service: &ServiceConfig,
    source: &LogSource,
    value: &'v [u8],
) -> Cow<'v, [u8]> {
    let plan = &service.auth_plan;
    let is_hidden = match source {
        LogSource::Cookie(name) => plan.credential_cookies.contains(name),
        _ => source.request_field().is_some_and(|name| {
            let is = |field: &String| same_name(field.as_bytes(), name.as_bytes());
            plan.credential_fields.iter().any(is)
        }),
    };
    if is_hidden {
        return Cow::Borrowed(b"");
    }
    // A Referer has the query of the page before.
    let mut shown = Cow::Borrowed(value);
    if value.contains(&b'?') {
        for name in &*plan.key_parameters {
            shown = Cow::Owned(key_parameter::hidden(&shown, name));
        }
    }
    shown
}
