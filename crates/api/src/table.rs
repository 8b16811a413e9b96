//! Every route in one table: its method, its role, its input and its output.
//!
//! The daemon looks roles up here, and the OpenAPI document is written from it. Types are given by name; the test that
//! writes the document finds them in the source.

use crate::routes;
use crate::types::Role;

#[derive(Clone, Copy, Debug)]
pub struct ApiRoute {
    /// `GET`, `POST`, `PUT`, `PATCH` or `DELETE`.
    pub method: &'static str,
    /// As in `routes`, with parameters in braces.
    pub path: &'static str,
    /// The role that a caller over TCP needs.
    pub role: Role,
    /// The purpose, in a sentence.
    pub summary: &'static str,
    /// The type of its query; empty: it has none.
    pub query: &'static str,
    pub body: RouteBody,
    pub answer: RouteBody,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteBody {
    Empty,
    /// JSON of this type.
    Json(&'static str),
    /// Text of this content type.
    Text(&'static str),
}

use RouteBody::{Empty, Json, Text};

pub const ALL: &[ApiRoute] = &[
    get(routes::STATUS, "The state of everything, and why.", "", Json("Status")),
    get(
        routes::REPORT,
        "Totals, rates, error causes and latencies.",
        "ReportQuery",
        Json("Report"),
    ),
    get(
        routes::REFUSED,
        "The last requests that were refused, and what was wrong with them.",
        "RefusedQuery",
        Json("RefusedRequests"),
    ),
    ApiRoute {
        role: Role::Operate,
        ..get(
            routes::LOG,
            "The newest lines of the access log, or how many of each kind.",
            "LogQuery",
            Json("LogPage"),
        )
    },
    get(routes::STREAM, "State, rates and events as they change.", "", Text(routes::EVENT_STREAM)),
    get(routes::EVENTS, "The latest events.", "", Json("Events")),
    get(routes::EVENTS_STREAM, "Events from now on.", "", Text(routes::EVENT_STREAM)),
    get(
        routes::HISTORY,
        "Past rates and states, from the history on disk.",
        "HistoryQuery",
        Json("History"),
    ),
    get(routes::AUDIT, "The audit log.", "AuditQuery", Json("Audit")),
    get(
        routes::GENERATIONS,
        "The stored generations of the configuration.",
        "",
        Json("Generations"),
    ),
    get(
        routes::CAPTURES,
        "Rules for captures as they stand, and what was captured.",
        "",
        Json("Captures"),
    ),
    get(routes::METRICS, "Counters in OpenMetrics' text form.", "", Text(METRICS)),
    get(routes::EXPLAIN_SERVER, "Why servers have their weights.", "", Json("ServersExplained")),
    get(
        routes::EXPLAIN_SLOW,
        "What the slowest requests waited for.",
        "SlowQuery",
        Json("SlowExplained"),
    ),
    get(
        routes::EXPLAIN_USERS,
        "SLOs: actual shares, error budgets and alarms.",
        "SloQuery",
        Json("SloExplained"),
    ),
    get(
        routes::EXPLAIN_NAME,
        "What a DNS query is answered, and why.",
        "NameQuery",
        Json("NameExplained"),
    ),
    get(
        routes::CAPACITY,
        "What the configuration can carry, from measured traffic, and how much of it is used.",
        "",
        Json("Capacity"),
    ),
    ApiRoute {
        role: Role::Operate,
        ..get(
            routes::EXPLAIN_CAPTURE,
            "Explains a stored capture.",
            "CaptureQuery",
            Text(routes::HTML),
        )
    },
    get(routes::CONFIG_KEYS, "What may be written into a configuration.", "", Json("ConfigKeys")),
    get(routes::ME, "Who the caller is, and its role.", "", Json("Me")),
    get(routes::OPENAPI, "This contract.", "", Text(routes::JSON)),
    ApiRoute {
        body: Json("RequestDescription"),
        role: Role::View,
        ..post(
            routes::EXPLAIN_REQUEST,
            "Which rule, pool and server would get a request.",
            "",
            Json("RequestExplained"),
        )
    },
    ApiRoute {
        body: Text(routes::CAPTURED),
        role: Role::Operate,
        ..post(
            routes::EXPLAIN_TRACE,
            "Explains a capture that is sent.",
            "TraceQuery",
            Text(routes::HTML),
        )
    },
    ApiRoute {
        body: Json("ServerActionRequest"),
        role: Role::Operate,
        ..post(
            routes::SERVER,
            "Sends a command for servers; adding, removing and saving need the role `configure`.",
            "",
            Json("ServerChanged"),
        )
    },
    ApiRoute {
        role: Role::Operate,
        ..post(
            routes::TAKEOVER,
            "Takes virtual addresses over, hands them over, or returns to priorities.",
            "TakeoverQuery",
            Json("TakeoverResult"),
        )
    },
    ApiRoute {
        method: "PUT",
        body: Json("LeaseRenewal"),
        role: Role::Lease,
        ..post(
            routes::LEASE,
            "Holds a name for a time that one holder has at a time, or gives it back: a witness of shared addresses.",
            "",
            Json("Lease"),
        )
    },
    ApiRoute {
        role: Role::Operate,
        ..post(
            routes::CAPTURE,
            "Takes what a rule for captures is about, or writes down what it takes.",
            "CaptureActionQuery",
            Json("Captures"),
        )
    },
    ApiRoute {
        role: Role::Configure,
        ..get(routes::CONFIG, "The configuration's text.", "ConfigQuery", Text(routes::TOML))
    },
    ApiRoute {
        method: "PUT",
        body: Text(routes::TOML),
        ..post(routes::CONFIG, "Replaces the configuration.", "ChangeQuery", Json("Applied"))
    },
    patch(routes::CONFIG, "Changes the configuration: adds, changes and removes objects."),
    written(routes::CONFIG_SERVICE, "A service, as written."),
    patch(routes::CONFIG_SERVICE, "Changes a service."),
    put(routes::CONFIG_SERVICE, "Creates or replaces a service."),
    delete(routes::CONFIG_SERVICE, "Removes a service."),
    written(routes::CONFIG_RULE, "A rule, as written."),
    patch(routes::CONFIG_RULE, "Changes a rule."),
    put(routes::CONFIG_RULE, "Creates or replaces a rule."),
    delete(routes::CONFIG_RULE, "Removes a rule."),
    written(routes::CONFIG_POOL, "A pool, as written."),
    patch(routes::CONFIG_POOL, "Changes a pool."),
    put(routes::CONFIG_POOL, "Creates or replaces a pool."),
    delete(routes::CONFIG_POOL, "Removes a pool."),
    written(routes::CONFIG_SERVER, "A server, as written."),
    patch(routes::CONFIG_SERVER, "Changes a server."),
    put(routes::CONFIG_SERVER, "Creates or replaces a server."),
    delete(routes::CONFIG_SERVER, "Removes a server."),
    ApiRoute {
        body: Text(routes::TOML),
        ..post(routes::PLAN, "What a configuration would change.", "ApplyQuery", Json("PlanChange"))
    },
    ApiRoute {
        body: Text(routes::TOML),
        ..post(routes::APPLY, "Activates a configuration.", "ApplyQuery", Json("Applied"))
    },
    post(routes::RELOAD, "Reads the daemon's file again and activates it.", "", Json("Applied")),
    post(routes::ROLLBACK, "Activates a stored generation.", "RollbackQuery", Json("Applied")),
    post(routes::UNDO, "Takes a command back.", "UndoQuery", Json("UndoResult")),
    post(routes::STOP, "Drains and ends the daemon.", "StopQuery", Json("Stopping")),
];

/// Content type of the metrics.
const METRICS: &str = "application/openmetrics-text";

/// The route of this method and path.
pub fn find(method: &str, path: &str) -> Option<&'static ApiRoute> {
    ALL.iter().find(|route| route.method == method && route.path == path)
}

const fn get(
    path: &'static str,
    summary: &'static str,
    query: &'static str,
    answer: RouteBody,
) -> ApiRoute {
    ApiRoute { method: "GET", path, role: Role::View, summary, query, body: Empty, answer }
}

const fn post(
    path: &'static str,
    summary: &'static str,
    query: &'static str,
    answer: RouteBody,
) -> ApiRoute {
    ApiRoute { method: "POST", path, role: Role::Configure, summary, query, body: Empty, answer }
}

const fn patch(path: &'static str, summary: &'static str) -> ApiRoute {
    let route = post(path, summary, "ChangeQuery", Json("Applied"));
    ApiRoute { method: "PATCH", body: Text(routes::MERGE_PATCH), ..route }
}

const fn put(path: &'static str, summary: &'static str) -> ApiRoute {
    let route = post(path, summary, "ObjectQuery", Json("Applied"));
    ApiRoute { method: "PUT", body: Text(routes::JSON), ..route }
}

const fn delete(path: &'static str, summary: &'static str) -> ApiRoute {
    ApiRoute { method: "DELETE", ..post(path, summary, "ChangeQuery", Json("Applied")) }
}

const fn written(path: &'static str, summary: &'static str) -> ApiRoute {
    ApiRoute { role: Role::Configure, ..get(path, summary, "", Text(routes::JSON)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_route_stands_once_and_what_changes_something_is_not_for_viewers() {
        for (at, route) in ALL.iter().enumerate() {
            let first = ALL.iter().position(|o| (o.method, o.path) == (route.method, route.path));
            assert_eq!(first, Some(at), "{}", route.path);
            let harmless = route.method == "GET" || route.path == routes::EXPLAIN_REQUEST;
            assert!(harmless || route.role != Role::View, "{}", route.path);
        }
        assert_eq!(find("POST", routes::STOP).map(|route| route.role), Some(Role::Configure));
        assert!(find("GET", routes::STOP).is_none());
    }
}
