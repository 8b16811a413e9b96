//! A client: one method a route, over the unix socket or over TCP.
//!
//! Each call opens its own connection and has a deadline. It neither retries nor caches; whoever watches calls again.

pub mod call;
pub mod error;
mod event_stream;
pub mod pair;
pub mod remote;
mod tls;
mod transport;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use call::{ApiCall, CallLimits, CallMethod};
use error::ApiError;
use remote::RemoteDaemon;
use serde::de::DeserializeOwned;
use transport::DaemonTransport;

use crate::routes::{self, QueryParameter};
use crate::types::{
    Applied, Audit, Capacity, CaptureAction, Captures, Event, Events, Generations, History,
    LogPage, LogQuery, NameExplained, NameQuery, PlanChange, RefusedRequests, Report,
    RequestDescription, RequestExplained, ServerActionRequest, ServerChanged, ServersExplained,
    SloExplained, SlowExplained, SlowQuery, Status, Stopping, TakeoverQuery, TakeoverResult,
    UndoResult,
};

/// The default deadline of a call that reads.
/// Long enough for a busy host; ends the wait for one that hangs.
pub const DEADLINE: Duration = Duration::from_secs(10);
/// The default deadline of an order: the daemon waits for its workers before it confirms one.
/// Above the daemon's own limit for workers to confirm, so that its answer arrives first.
pub const ORDER_DEADLINE: Duration = Duration::from_secs(60);
/// The largest response that is read, in bytes: bounds the memory of the client.
pub const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A client of one daemon.
#[derive(Clone, Debug)]
pub struct ApiClient {
    transport: DaemonTransport,
    limits: CallLimits,
    order_deadline: Duration,
}

impl ApiClient {
    /// For the daemon that listens at `socket`.
    pub fn new(socket: impl Into<PathBuf>) -> Self {
        ApiClient::with_transport(DaemonTransport::Unix(socket.into()))
    }

    /// For a daemon over TCP.
    pub fn remote(remote: RemoteDaemon) -> Self {
        ApiClient::with_transport(DaemonTransport::Remote(Arc::new(remote)))
    }

    fn with_transport(way: DaemonTransport) -> Self {
        let ceiling = CallLimits { time: DEADLINE, bytes: ANSWER_BYTES_MAX };
        ApiClient { transport: way, limits: ceiling, order_deadline: ORDER_DEADLINE }
    }

    /// With another deadline for each call.
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.limits.time = deadline;
        self.order_deadline = deadline;
        self
    }

    /// With another limit of response bytes.
    pub fn with_answer_bytes(mut self, bytes: usize) -> Self {
        self.limits.bytes = bytes;
        self
    }

    /// The daemon's place, for messages.
    pub fn address(&self) -> String {
        self.transport.to_string()
    }

    pub async fn status(&self) -> Result<Status, ApiError> {
        self.get(routes::STATUS.to_owned()).await
    }

    /// Counters and times; with an interval the daemon measures rates over it first (at most
    /// [`INTERVAL_MS_MAX`](crate::types::report::INTERVAL_MS_MAX)), and the deadline grows by it.
    pub async fn report(&self, interval: Option<Duration>) -> Result<Report, ApiError> {
        let path = routes::with_query(
            routes::REPORT,
            &[QueryParameter::new("interval-ms", interval.map(millis))],
        );
        let ceiling =
            CallLimits { time: self.limits.time + interval.unwrap_or_default(), ..self.limits };
        self.call_json(
            ApiCall { method: CallMethod::Get, path, content_type: "", body: Vec::new() },
            ceiling,
        )
        .await
    }

    /// Why a server of a pool, or with `*` each of them, has its weight.
    pub async fn explain_server(
        &self,
        pool: &str,
        name: &str,
    ) -> Result<ServersExplained, ApiError> {
        self.get(routes::explain_server(pool, name)).await
    }

    /// How a request would be handled.
    pub async fn explain_request(
        &self,
        query: &RequestDescription,
    ) -> Result<RequestExplained, ApiError> {
        let body = serde_json::to_vec(query).map_err(ApiError::Encode)?;
        self.post(routes::EXPLAIN_REQUEST.to_owned(), routes::JSON, body).await
    }

    /// The last refused requests, of one service or of all.
    pub async fn refused(&self, service: Option<&str>) -> Result<RefusedRequests, ApiError> {
        let pairs = [QueryParameter::new("service", service.map(str::to_owned))];
        self.get(routes::with_query(routes::REFUSED, &pairs)).await
    }

    /// The newest lines of the access log, or how many of each kind.
    pub async fn log(&self, query: &LogQuery) -> Result<LogPage, ApiError> {
        let pairs = [
            QueryParameter::new("after", query.after.map(|after| after.to_string())),
            QueryParameter::new("service", query.service.clone()),
            QueryParameter::new("server", query.server.clone()),
            QueryParameter::new("status", query.status.clone()),
            QueryParameter::new("cause", query.cause.clone()),
            QueryParameter::new("client", query.client.clone()),
            QueryParameter::new("id", query.id.clone()),
            QueryParameter::new("limit", query.limit.map(|limit| limit.to_string())),
            QueryParameter::new("top", query.top.map(|group| group.name().to_owned())),
        ];
        self.get(routes::with_query(routes::LOG, &pairs)).await
    }

    /// Whose time the slowest exchanges took.
    pub async fn explain_slow(&self, query: &SlowQuery) -> Result<SlowExplained, ApiError> {
        let pairs = [
            QueryParameter::new("service", query.service.clone()),
            QueryParameter::new(
                "share-percent",
                query.share_percent.map(|share| share.to_string()),
            ),
            QueryParameter::new("since-ms", query.since_ms.map(|since| since.to_string())),
            QueryParameter::new("server", query.server.clone()),
            QueryParameter::new("from", query.from.clone()),
        ];
        self.get(routes::with_query(routes::EXPLAIN_SLOW, &pairs)).await
    }

    /// SLO results, of one service or of all with an objective.
    pub async fn explain_users(&self, service: Option<&str>) -> Result<SloExplained, ApiError> {
        let pairs = [QueryParameter::new("service", service.map(str::to_owned))];
        self.get(routes::with_query(routes::EXPLAIN_USERS, &pairs)).await
    }

    /// The load that the configuration will carry, and the use of its limits.
    pub async fn capacity(&self) -> Result<Capacity, ApiError> {
        self.get(routes::CAPACITY.to_owned()).await
    }

    /// The answer that a client gets for a name.
    pub async fn explain_name(&self, query: &NameQuery) -> Result<NameExplained, ApiError> {
        let pairs = [
            QueryParameter::new("name", Some(query.name.clone())),
            QueryParameter::new("from", Some(query.from.to_string())),
            QueryParameter::new("kind", query.kind.clone()),
        ];
        self.get(routes::with_query(routes::EXPLAIN_NAME, &pairs)).await
    }

    /// The stored generations.
    pub async fn generations(&self) -> Result<Generations, ApiError> {
        self.get(routes::GENERATIONS.to_owned()).await
    }

    pub async fn events(&self) -> Result<Events, ApiError> {
        self.get(routes::EVENTS.to_owned()).await
    }

    /// Calls `each` for each event from now on, until it returns false or the daemon ends the stream.
    pub async fn follow(&self, each: impl FnMut(Event) -> bool) -> Result<(), ApiError> {
        event_stream::follow(&self.transport, each).await
    }

    /// The whole effective configuration as TOML.
    pub async fn config(&self) -> Result<String, ApiError> {
        let call = ApiCall {
            method: CallMethod::Get,
            path: routes::CONFIG.to_owned(),
            content_type: "",
            body: Vec::new(),
        };
        call::call_text(&self.transport, call, self.limits, routes::TOML).await
    }

    /// The text of a stored generation, as it was written.
    pub async fn generation_text(&self, generation: u64) -> Result<String, ApiError> {
        let pairs = [QueryParameter::new("generation", Some(generation.to_string()))];
        let path = routes::with_query(routes::CONFIG, &pairs);
        let call = ApiCall { method: CallMethod::Get, path, content_type: "", body: Vec::new() };
        call::call_text(&self.transport, call, self.limits, routes::TOML).await
    }

    /// The effects that `apply` would have with this text, which came from `file`.
    pub async fn plan(&self, text: String, file: Option<String>) -> Result<PlanChange, ApiError> {
        let path = routes::with_query(routes::PLAN, &[QueryParameter::new("file", file)]);
        self.post(path, routes::TOML, text.into_bytes()).await
    }

    /// Activates this text; with `if_generation` only if that is the active one, with `save` in the daemon's file or
    /// not, whatever its default.
    pub async fn apply(
        &self,
        text: String,
        file: Option<String>,
        if_generation: Option<u64>,
        save: Option<bool>,
    ) -> Result<Applied, ApiError> {
        let pairs = [
            QueryParameter::new("if-generation", if_generation.map(|n| n.to_string())),
            QueryParameter::new("file", file),
            QueryParameter::new("save", save.map(|save| save.to_string())),
        ];
        let path = routes::with_query(routes::APPLY, &pairs);
        self.post(path, routes::TOML, text.into_bytes()).await
    }

    /// Activates the daemon's file, which it reads again.
    pub async fn reload(&self) -> Result<Applied, ApiError> {
        self.post(routes::RELOAD.to_owned(), "", Vec::new()).await
    }

    /// Activates a stored generation again; without a number the one before.
    pub async fn rollback(
        &self,
        generation: Option<u64>,
        save: Option<bool>,
    ) -> Result<Applied, ApiError> {
        let pairs = [
            QueryParameter::new("generation", generation.map(|n| n.to_string())),
            QueryParameter::new("save", save.map(|save| save.to_string())),
        ];
        let path = routes::with_query(routes::ROLLBACK, &pairs);
        self.post(path, "", Vec::new()).await
    }

    /// Sends a command about one server of a pool, or about all with `*`.
    pub async fn server(
        &self,
        pool: &str,
        name: &str,
        order: impl Into<ServerActionRequest>,
    ) -> Result<ServerChanged, ApiError> {
        let body = serde_json::to_vec(&order.into()).map_err(ApiError::Encode)?;
        self.post(routes::server(pool, name), routes::JSON, body).await
    }

    /// The history between two times; without an end, until now.
    pub async fn history(
        &self,
        since_unix_ms: u64,
        until_unix_ms: Option<u64>,
    ) -> Result<History, ApiError> {
        let since = Some(since_unix_ms.to_string());
        let pairs = [
            QueryParameter::new("since-unix-ms", since),
            QueryParameter::new("until-unix-ms", until_unix_ms.map(|at| at.to_string())),
        ];
        self.get(routes::with_query(routes::HISTORY, &pairs)).await
    }

    /// The audit log, from a time on.
    pub async fn audit(&self, since_unix_ms: Option<u64>) -> Result<Audit, ApiError> {
        let since = since_unix_ms.map(|at| at.to_string());
        self.get(routes::with_query(routes::AUDIT, &[QueryParameter::new("since-unix-ms", since)]))
            .await
    }

    /// Reverts one command; without a number all of the latest command that can be reverted.
    pub async fn undo(&self, id: Option<u64>) -> Result<UndoResult, ApiError> {
        let path = routes::with_query(
            routes::UNDO,
            &[QueryParameter::new("id", id.map(|id| id.to_string()))],
        );
        self.post(path, "", Vec::new()).await
    }

    /// Takes shared addresses over, hands them over, or lets priorities count again; without a group all of them.
    pub async fn takeover(&self, wanted: &TakeoverQuery) -> Result<TakeoverResult, ApiError> {
        let order = wanted.order.map(|order| order.name().to_owned());
        let force = wanted.force.map(|force| force.to_string());
        let pairs = [
            QueryParameter::new("group", wanted.group.clone()),
            QueryParameter::new("order", order),
            QueryParameter::new("force", force),
        ];
        let path = routes::with_query(routes::TAKEOVER, &pairs);
        self.post(path, "", Vec::new()).await
    }

    /// Capture rules with their state, and existing captures.
    pub async fn captures(&self) -> Result<Captures, ApiError> {
        self.get(routes::CAPTURES.to_owned()).await
    }

    /// Starts or stops a capture of a rule.
    pub async fn capture(&self, rule: &str, action: CaptureAction) -> Result<Captures, ApiError> {
        let word = match action {
            CaptureAction::Start => "start",
            CaptureAction::Stop => "stop",
        };
        let pairs = [QueryParameter::new("action", Some(word.to_owned()))];
        let path = routes::with_query(&routes::capture(rule), &pairs);
        self.post(path, "", Vec::new()).await
    }

    /// Drains and stops the daemon; the response comes when draining begins.
    pub async fn stop(&self, limit: Option<Duration>, detach: bool) -> Result<Stopping, ApiError> {
        let detach = detach.then(|| "true".to_owned());
        let query = [
            QueryParameter::new("limit-ms", limit.map(millis)),
            QueryParameter::new("detach", detach),
        ];
        let path = routes::with_query(routes::STOP, &query);
        self.post(path, "", Vec::new()).await
    }

    async fn get<T: DeserializeOwned>(&self, path: String) -> Result<T, ApiError> {
        self.call_json(
            ApiCall { method: CallMethod::Get, path, content_type: "", body: Vec::new() },
            self.limits,
        )
        .await
    }

    async fn post<T: DeserializeOwned>(
        &self,
        path: String,
        content_type: &'static str,
        body: Vec<u8>,
    ) -> Result<T, ApiError> {
        let ceiling = CallLimits { time: self.order_deadline, ..self.limits };
        self.call_json(ApiCall { method: CallMethod::Post, path, content_type, body }, ceiling)
            .await
    }

    async fn call_json<T: DeserializeOwned>(
        &self,
        call: ApiCall,
        ceiling: CallLimits,
    ) -> Result<T, ApiError> {
        let path = call.path.clone();
        let text = call::call_text(&self.transport, call, ceiling, routes::JSON).await?;
        serde_json::from_str(&text).map_err(|source| {
            ApiError::other_form(self.transport.to_string(), path, text.as_bytes(), source)
        })
    }
}

/// The form of a query's value.
fn millis(span: Duration) -> String {
    span.as_millis().to_string()
}
