//! Where everything is, as constants that the server and the client share.
//!
//! Bodies and answers are JSON unless said otherwise. A refusal is `application/problem+json` with 400 (unreadable
//! request), 404 (no such object), 409 (another generation is active, or it cannot be carried out now), 412 (another
//! generation than `If-Match` says), 415 (a body of another kind), 422 (a configuration with mistakes), 428 (`If-Match`
//! is missing) or 503 (the daemon is stopping); over TCP also 401 (no token, or a wrong one), 403 (the token's role is too small, or
//! another page asks), 421 (a host that is not ours) or 429 (too many requests).

/// Where the daemon listens, unless configured.
pub const SOCKET: &str = "/run/steelyard/control.sock";

/// GET: [`Status`](crate::types::Status).
pub const STATUS: &str = "/v1/status";
/// GET with [`ReportQuery`](crate::types::ReportQuery): [`Report`](crate::types::Report).
pub const REPORT: &str = "/v1/report";
/// GET with [`RefusedQuery`](crate::types::RefusedQuery): [`RefusedRequests`](crate::types::RefusedRequests).
pub const REFUSED: &str = "/v1/refused";
/// GET with [`LogQuery`](crate::types::LogQuery): [`LogPage`](crate::types::LogPage).
pub const LOG: &str = "/v1/log";
/// GET: [`Generations`](crate::types::Generations).
pub const GENERATIONS: &str = "/v1/generations";
/// GET with [`ConfigQuery`](crate::types::ConfigQuery): the whole effective configuration, or the text as it was
/// written, as TOML; its generation is the ETag. PUT of TOML with [`ChangeQuery`](crate::types::ChangeQuery) and
/// `If-Match` replaces it, PATCH of a [merge patch](MERGE_PATCH) changes it: [`Applied`](crate::types::Applied).
pub const CONFIG: &str = "/v1/config";
/// GET: [`ConfigKeys`](crate::types::ConfigKeys), what may be written.
pub const CONFIG_KEYS: &str = "/v1/config/keys";
/// GET: a service as it is written. PATCH of a [merge patch](MERGE_PATCH) with
/// [`ChangeQuery`](crate::types::ChangeQuery): [`Applied`](crate::types::Applied); so is it with the following ones.
/// Their tag is the active generation.
pub const CONFIG_SERVICE: &str = "/v1/config/services/{name}";
/// GET, PATCH: a rule of a service, by its name or its place from 1.
pub const CONFIG_RULE: &str = "/v1/config/services/{service}/rules/{name}";
/// GET, PATCH: a pool.
pub const CONFIG_POOL: &str = "/v1/config/pools/{name}";
/// GET, PATCH: a server.
pub const CONFIG_SERVER: &str = "/v1/config/pools/{pool}/servers/{name}";
/// GET: counters in Prometheus' text format.
pub const METRICS: &str = "/v1/metrics";
/// POST of TOML with [`ApplyQuery`](crate::types::ApplyQuery): [`PlanChange`](crate::types::PlanChange).
pub const PLAN: &str = "/v1/plan";
/// POST of TOML with [`ApplyQuery`](crate::types::ApplyQuery): [`Applied`](crate::types::Applied).
pub const APPLY: &str = "/v1/apply";
/// POST: [`Applied`](crate::types::Applied), from the daemon's file.
pub const RELOAD: &str = "/v1/reload";
/// POST with [`RollbackQuery`](crate::types::RollbackQuery): [`Applied`](crate::types::Applied).
pub const ROLLBACK: &str = "/v1/rollback";
/// POST of [`ServerActionRequest`](crate::types::ServerActionRequest): [`ServerChanged`](crate::types::ServerChanged).
/// `name` may be `*`.
pub const SERVER: &str = "/v1/servers/{pool}/{name}";
/// GET: [`ServersExplained`](crate::types::ServersExplained). `name` may be `*`.
pub const EXPLAIN_SERVER: &str = "/v1/explain/servers/{pool}/{name}";
/// POST of [`RequestDescription`](crate::types::RequestDescription): [`RequestExplained`](crate::types::RequestExplained).
pub const EXPLAIN_REQUEST: &str = "/v1/explain/request";
/// GET with [`SlowQuery`](crate::types::SlowQuery): [`SlowExplained`](crate::types::SlowExplained).
pub const EXPLAIN_SLOW: &str = "/v1/explain/slow";
/// GET with [`SloQuery`](crate::types::SloQuery): [`SloExplained`](crate::types::SloExplained).
pub const EXPLAIN_USERS: &str = "/v1/explain/users";
/// GET with [`NameQuery`](crate::types::NameQuery): [`NameExplained`](crate::types::NameExplained).
pub const EXPLAIN_NAME: &str = "/v1/explain/name";
/// POST of a capture, pcap or pcapng and not packed: whose time its slowest connection took, or that of
/// [`TraceQuery`](crate::types::TraceQuery), as a page with diagrams in [`HTML`].
pub const EXPLAIN_TRACE: &str = "/v1/explain/trace";
/// GET with [`CaptureQuery`](crate::types::CaptureQuery): the same of a capture that is [stored](CAPTURES).
pub const EXPLAIN_CAPTURE: &str = "/v1/explain/capture";
/// GET: [`Capacity`](crate::types::Capacity).
pub const CAPACITY: &str = "/v1/capacity";
/// POST with [`TakeoverQuery`](crate::types::TakeoverQuery): [`TakeoverResult`](crate::types::TakeoverResult).
pub const TAKEOVER: &str = "/v1/takeover";
/// PUT of [`LeaseRenewal`](crate::types::LeaseRenewal): [`Lease`](crate::types::Lease), or 409 while somebody else holds it.
pub const LEASE: &str = "/v1/leases/{name}";
/// GET: [`Captures`](crate::types::Captures).
pub const CAPTURES: &str = "/v1/captures";
/// POST with [`CaptureActionQuery`](crate::types::CaptureActionQuery): [`Captures`](crate::types::Captures).
pub const CAPTURE: &str = "/v1/captures/{name}";
/// POST with [`StopQuery`](crate::types::StopQuery): [`Stopping`](crate::types::Stopping).
pub const STOP: &str = "/v1/stop";
/// GET with [`HistoryQuery`](crate::types::HistoryQuery): [`History`](crate::types::History).
pub const HISTORY: &str = "/v1/history";
/// GET with [`AuditQuery`](crate::types::AuditQuery): [`Audit`](crate::types::Audit).
pub const AUDIT: &str = "/v1/audit";
/// POST with [`UndoQuery`](crate::types::UndoQuery): [`UndoResult`](crate::types::UndoResult).
pub const UNDO: &str = "/v1/undo";
/// GET: [`Events`](crate::types::Events).
pub const EVENTS: &str = "/v1/events";

/// GET: events from now on, as server-sent events; each one's data is an [`Event`](crate::types::Event).
pub const EVENTS_STREAM: &str = "/v1/events/stream";

/// GET: state, rates and events as they change, as server-sent events: `state` and `change` with a
/// [`StateUpdate`](crate::types::StateUpdate), `event` with an [`Event`](crate::types::Event), `lost` with a
/// [`LostUpdates`](crate::types::LostUpdates).
pub const STREAM: &str = "/v1/stream";
/// GET: who asks, and what they may: [`Me`](crate::types::Me).
pub const ME: &str = "/v1/me";
/// GET: this contract as an OpenAPI 3.1 document.
pub const OPENAPI: &str = "/v1/openapi.json";

/// Content type of streams of events.
pub const EVENT_STREAM: &str = "text/event-stream";
/// Content type of configurations.
pub const TOML: &str = "application/toml";
/// Content type of patches (RFC 7396): the keys to change, null for those to remove.
pub const MERGE_PATCH: &str = "application/merge-patch+json";
/// Field of a request that is to be carried out once, however often it is sent: its answer is given again.
pub const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// Field of an answer that is given again.
pub const REPLAYED: &str = "idempotency-replayed";
/// Content type of captures that are sent.
pub const CAPTURED: &str = "application/octet-stream";
/// Content type of explained captures.
pub const HTML: &str = "text/html";
/// Content type of bodies and answers.
pub const JSON: &str = "application/json";
/// Content type of refusals (RFC 9457 §6.1).
pub const PROBLEM: &str = "application/problem+json";

/// The largest configuration that is taken, in bytes.
/// Four times the largest file that is loaded, since JSON escapes its text.
pub const CONFIG_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The largest capture that is taken, in bytes.
/// The capture is held in the memory of the balancing process while it is analysed.
pub const CAPTURE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The path of [`SERVER`] for one selector.
pub fn server(pool: &str, name: &str) -> String {
    SERVER.replace("{pool}", &encode(pool)).replace("{name}", &encode(name))
}

/// The path of [`EXPLAIN_SERVER`] for one selector.
pub fn explain_server(pool: &str, name: &str) -> String {
    EXPLAIN_SERVER.replace("{pool}", &encode(pool)).replace("{name}", &encode(name))
}

/// The path of [`CAPTURE`] for one rule.
pub fn capture(name: &str) -> String {
    CAPTURE.replace("{name}", &encode(name))
}

/// A parameter of a query, which may be absent.
#[derive(Clone, Debug)]
pub struct QueryParameter {
    pub name: &'static str,
    pub value: Option<String>,
}

impl QueryParameter {
    pub fn new(name: &'static str, value: Option<String>) -> QueryParameter {
        QueryParameter { name, value }
    }
}

/// `route` with a query of those parameters that have a value.
pub fn with_query(route: &str, parameters: &[QueryParameter]) -> String {
    let mut out = String::from(route);
    let mut mark = '?';
    for QueryParameter { name, value } in parameters {
        let Some(value) = value else { continue };
        out.push(mark);
        out.push_str(&encode(name));
        out.push('=');
        out.push_str(&encode(value));
        mark = '&';
    }
    out
}

/// Percent-encodes all but RFC 3986's unreserved characters and `*`.
fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~*".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
    out
}

const HEX: &[u8; 16] = b"0123456789ABCDEF";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_are_encoded_and_absent_pairs_left_out() {
        assert_eq!(server("web", "*"), "/v1/servers/web/*");
        assert_eq!(server("a/b", "{name}"), "/v1/servers/a%2Fb/%7Bname%7D");
        let pairs = [
            QueryParameter::new("if-generation", None),
            QueryParameter::new("file", Some("/etc/a b&c.toml".to_owned())),
            QueryParameter::new("n", Some("1".into())),
        ];
        assert_eq!(with_query(APPLY, &pairs), "/v1/apply?file=%2Fetc%2Fa%20b%26c.toml&n=1");
        assert_eq!(with_query(STATUS, &[]), "/v1/status");
    }
}
