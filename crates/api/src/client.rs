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

use crate::routes;
use crate::types::{
    Applied, Audit, AuditRecord, Capacity, CaptureAction, Captures, Event, Events, Generations,
    History, NameExplained, NameQuery, PlanChange, RefusedRequests, Report, RequestAsked,
    RequestExplained, ServerChanged, ServerOrder, ServersExplained, SlowExplained, SlowQuery,
    Status, Stopping, Taken, TakeoverQuery, UsersExplained,
};

/// How long a question may take, unless set.
pub const DEADLINE: Duration = Duration::from_secs(10);
/// How long an order may take, unless set: the daemon waits for its workers before it confirms one.
pub const ORDER_DEADLINE: Duration = Duration::from_secs(60);
/// The largest answer that is read, in bytes.
pub const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Speaks to one daemon.
#[derive(Clone, Debug)]
pub struct ApiClient {
    transport: DaemonTransport,
    limits: CallLimits,
    order_deadline: Duration,
}

impl ApiClient {
    /// To the daemon that listens at `socket`.
    pub fn new(socket: impl Into<PathBuf>) -> Self {
        ApiClient::with_transport(DaemonTransport::Unix(socket.into()))
    }

    /// To a daemon over TCP.
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

    /// With another limit for each answer.
    pub fn with_answer_bytes(mut self, bytes: usize) -> Self {
        self.limits.bytes = bytes;
        self
    }

    /// Where it calls, for messages.
    pub fn address(&self) -> String {
        self.transport.to_string()
    }

    /// States and reasons.
    pub async fn status(&self) -> Result<Status, ApiError> {
        self.get(routes::STATUS.to_owned()).await
    }

    /// Counts and times; with an interval the daemon watches for so long first (at most
    /// [`INTERVAL_MS_MAX`](crate::types::report::INTERVAL_MS_MAX)), and the deadline grows by it.
    pub async fn report(&self, interval: Option<Duration>) -> Result<Report, ApiError> {
        let path = routes::with_query(routes::REPORT, &[("interval-ms", interval.map(millis))]);
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

    /// What would become of a request.
    pub async fn explain_request(
        &self,
        asked: &RequestAsked,
    ) -> Result<RequestExplained, ApiError> {
        let body = serde_json::to_vec(asked).map_err(ApiError::Encode)?;
        self.post(routes::EXPLAIN_REQUEST.to_owned(), routes::JSON, body).await
    }

    /// The last requests that were refused, of one service or of all.
    pub async fn refused(&self, service: Option<&str>) -> Result<RefusedRequests, ApiError> {
        let pairs = [("service", service.map(str::to_owned))];
        self.get(routes::with_query(routes::REFUSED, &pairs)).await
    }

    /// Whose time the slowest exchanges took.
    pub async fn explain_slow(&self, asked: &SlowQuery) -> Result<SlowExplained, ApiError> {
        let pairs = [
            ("service", asked.service.clone()),
            ("share-percent", asked.share_percent.map(|share| share.to_string())),
            ("since-ms", asked.since_ms.map(|since| since.to_string())),
            ("server", asked.server.clone()),
            ("from", asked.from.clone()),
        ];
        self.get(routes::with_query(routes::EXPLAIN_SLOW, &pairs)).await
    }

    /// What users met, of one service or of all that promise something.
    pub async fn explain_users(&self, service: Option<&str>) -> Result<UsersExplained, ApiError> {
        let pairs = [("service", service.map(str::to_owned))];
        self.get(routes::with_query(routes::EXPLAIN_USERS, &pairs)).await
    }

    /// What the configuration will carry, and how much of it is used.
    pub async fn capacity(&self) -> Result<Capacity, ApiError> {
        self.get(routes::CAPACITY.to_owned()).await
    }

    /// Which answer a client gets for a name.
    pub async fn explain_name(&self, asked: &NameQuery) -> Result<NameExplained, ApiError> {
        let pairs = [
            ("name", Some(asked.name.clone())),
            ("from", Some(asked.from.to_string())),
            ("kind", asked.kind.clone()),
        ];
        self.get(routes::with_query(routes::EXPLAIN_NAME, &pairs)).await
    }

    /// The generations that are kept.
    pub async fn generations(&self) -> Result<Generations, ApiError> {
        self.get(routes::GENERATIONS.to_owned()).await
    }

    /// The latest events.
    pub async fn events(&self) -> Result<Events, ApiError> {
        self.get(routes::EVENTS.to_owned()).await
    }

    /// Gives each event from now on to `each`, until that says no more or the daemon goes.
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

    /// The text of a generation that is kept, as it was written.
    pub async fn generation_text(&self, generation: u64) -> Result<String, ApiError> {
        let pairs = [("generation", Some(generation.to_string()))];
        let path = routes::with_query(routes::CONFIG, &pairs);
        let call = ApiCall { method: CallMethod::Get, path, content_type: "", body: Vec::new() };
        call::call_text(&self.transport, call, self.limits, routes::TOML).await
    }

    /// What `apply` would do with this text, which came from `file`.
    pub async fn plan(&self, text: String, file: Option<String>) -> Result<PlanChange, ApiError> {
        let path = routes::with_query(routes::PLAN, &[("file", file)]);
        self.post(path, routes::TOML, text.into_bytes()).await
    }

    /// Puts this text in force; with `if_generation` only when that is the one in force, with `save` in the daemon's file
    /// or not, whatever is usual there.
    pub async fn apply(
        &self,
        text: String,
        file: Option<String>,
        if_generation: Option<u64>,
        save: Option<bool>,
    ) -> Result<Applied, ApiError> {
        let pairs = [
            ("if-generation", if_generation.map(|n| n.to_string())),
            ("file", file),
            ("save", save.map(|save| save.to_string())),
        ];
        let path = routes::with_query(routes::APPLY, &pairs);
        self.post(path, routes::TOML, text.into_bytes()).await
    }

    /// Puts a kept generation in force again; without a number the one before.
    pub async fn rollback(
        &self,
        generation: Option<u64>,
        save: Option<bool>,
    ) -> Result<Applied, ApiError> {
        let pairs = [
            ("generation", generation.map(|n| n.to_string())),
            ("save", save.map(|save| save.to_string())),
        ];
        let path = routes::with_query(routes::ROLLBACK, &pairs);
        self.post(path, "", Vec::new()).await
    }

    /// Orders something of one server of a pool, or of all with `*`.
    pub async fn server(
        &self,
        pool: &str,
        name: &str,
        order: impl Into<ServerOrder>,
    ) -> Result<ServerChanged, ApiError> {
        let body = serde_json::to_vec(&order.into()).map_err(ApiError::Encode)?;
        self.post(routes::server(pool, name), routes::JSON, body).await
    }

    /// What was between two moments; without an end, until now.
    pub async fn history(
        &self,
        since_unix_ms: u64,
        until_unix_ms: Option<u64>,
    ) -> Result<History, ApiError> {
        let since = Some(since_unix_ms.to_string());
        let pairs =
            [("since-unix-ms", since), ("until-unix-ms", until_unix_ms.map(|at| at.to_string()))];
        self.get(routes::with_query(routes::HISTORY, &pairs)).await
    }

    /// The record of orders, from a moment on.
    pub async fn audit(&self, since_unix_ms: Option<u64>) -> Result<Audit, ApiError> {
        let since = since_unix_ms.map(|at| at.to_string());
        self.get(routes::with_query(routes::AUDIT, &[("since-unix-ms", since)])).await
    }

    /// Takes an order back; without a number the latest that can be.
    pub async fn undo(&self, id: Option<u64>) -> Result<AuditRecord, ApiError> {
        let path = routes::with_query(routes::UNDO, &[("id", id.map(|id| id.to_string()))]);
        self.post(path, "", Vec::new()).await
    }

    /// Takes shared addresses over, hands them over, or lets priorities count again; without a group all of them.
    pub async fn takeover(&self, wanted: &TakeoverQuery) -> Result<Taken, ApiError> {
        let order = wanted.order.map(|order| order.name().to_owned());
        let force = wanted.force.map(|force| force.to_string());
        let pairs = [("group", wanted.group.clone()), ("order", order), ("force", force)];
        let path = routes::with_query(routes::TAKEOVER, &pairs);
        self.post(path, "", Vec::new()).await
    }

    /// Rules for captures as they stand, and what was captured.
    pub async fn captures(&self) -> Result<Captures, ApiError> {
        self.get(routes::CAPTURES.to_owned()).await
    }

    /// Takes what a rule is about now, or writes down what it takes.
    pub async fn capture(&self, rule: &str, action: CaptureAction) -> Result<Captures, ApiError> {
        let word = match action {
            CaptureAction::Start => "start",
            CaptureAction::Stop => "stop",
        };
        let pairs = [("action", Some(word.to_owned()))];
        let path = routes::with_query(&routes::capture(rule), &pairs);
        self.post(path, "", Vec::new()).await
    }

    /// Drains and ends the daemon; the answer comes when draining begins.
    pub async fn stop(&self, limit: Option<Duration>, detach: bool) -> Result<Stopping, ApiError> {
        let detach = detach.then(|| "true".to_owned());
        let query = [("limit-ms", limit.map(millis)), ("detach", detach)];
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
        serde_json::from_str(&text).map_err(|source| ApiError::Decode { path, source })
    }
}

/// As a query's value.
fn millis(span: Duration) -> String {
    span.as_millis().to_string()
}
