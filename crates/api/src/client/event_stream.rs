//! A stream of server-sent events, each of bounded size.
//!
//! It waits as long as the daemon lives; a caller that wants less drops it.

use http_body_util::BodyExt;

use super::call::{ApiCall, BegunCall, CallMethod, media_type, send};
use super::error::ApiError;
use super::transport::DaemonTransport;
use crate::routes;
use crate::types::Event;

/// Bytes of one event's text on the wire.
/// An event has a sentence and a few fields; a longer line is not from the daemon.
const LINE: usize = 64 * 1024;

/// Calls `each` for each event until it returns false, or the daemon ends the stream.
pub(super) async fn follow(
    way: &DaemonTransport,
    mut each: impl FnMut(Event) -> bool,
) -> Result<(), ApiError> {
    let path = routes::EVENTS_STREAM.to_owned();
    let call =
        ApiCall { method: CallMethod::Get, path: path.clone(), content_type: "", body: Vec::new() };
    let BegunCall { response, driver: _driver } = send(way, call).await?;
    if !response.status().is_success() {
        return Err(ApiError::Status { path, status: response.status().as_u16() });
    }
    let found = media_type(&response);
    if found != routes::EVENT_STREAM {
        return Err(ApiError::ContentType { path, found, expected: routes::EVENT_STREAM });
    }
    let mut body = response.into_body();
    let mut held: Vec<u8> = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { return Ok(()) };
        let Ok(data) = frame.into_data() else { continue };
        held.extend_from_slice(&data);
        while let Some(end) = held.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = held.drain(..=end).collect();
            let Some(json) = line.strip_prefix(b"data: ") else { continue };
            let event = serde_json::from_slice(json).map_err(|source| {
                ApiError::other_form(way.to_string(), path.clone(), json, source)
            })?;
            if !each(event) {
                return Ok(());
            }
        }
        if held.len() > LINE {
            return Err(ApiError::TooLarge { path, limit: LINE });
        }
    }
    Ok(())
}
