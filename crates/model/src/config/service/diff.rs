//! The keys of a service in a comparison.

use super::types::ServiceConfig;
use crate::config::changed_keys::changed_keys;

changed_keys! {
    ServiceKey of ServiceConfig besides (name, reserved, auth_plan):
    Listen = "listen" => listen,
    Forward = "forward" => forward,
    Pool = "pool" => pool,
    Timeout = "timeout" => timeout,
    Limit = "limit" => limit,
    Socket = "socket" => socket,
    Trust = "trust" => trust,
    ClientFrom = "client-from" => client_from,
    RequestId = "request-id" => request_id,
    Forwarded = "forwarded" => forwarded,
    Packets = "packets" => packets,
    Tls = "tls" => tls,
    Auth = "auth" => auth,
    Rule = "rule" => rules,
    Edit = "edit" => edits,
    PathNormalization = "path-normalization" => path_normalization,
    PathCase = "path-case" => path_case,
    FieldNames = "field-names" => field_names,
    Sticky = "sticky" => sticky,
    Http2 = "http2" => http2,
    Http3 = "http3" => http3,
    AcceptProxy = "accept-proxy" => accept_proxy,
    Compress = "compress" => compress,
    ErrorPage = "error-page" => error_pages,
    Objective = "objective" => objective,
    Buffer = "buffer" => buffer,
    Priority = "priority" => priority,
}
