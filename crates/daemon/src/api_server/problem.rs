//! What is not done, as `application/problem+json` (RFC 9457): one place that maps the control's errors to statuses.

use api::routes::PROBLEM;
use api::types::Problem;
use axum::extract::rejection::{BytesRejection, JsonRejection, QueryRejection, StringRejection};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use files::plain_error::plain_error_text;
use model::config::{ConfigFindings, PatchError};

use crate::planes::vrrp::command::TakeoverError;
use crate::state::{ApplyError, DaemonStoppingError, RollbackError, ServerCommandError, UndoError};

#[derive(Debug)]
pub(super) struct ApiProblem(Box<Problem>);

impl ApiProblem {
    /// A problem of this kind, with the detail of this occurrence.
    pub(super) fn new(status: u16, kind: &str, detail: impl Into<String>) -> ApiProblem {
        let title = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
        ApiProblem(Box::new(Problem {
            kind: format!("/problems/{kind}"),
            title: title.unwrap_or("Refused").into(),
            status,
            detail: plain_error_text(detail),
            ..Problem::default()
        }))
    }

    /// Adds a hint for the operator.
    pub(super) fn with_hint(mut self, advice: &str) -> ApiProblem {
        self.0.advice = Some(advice.into());
        self
    }

    /// A configuration with mistakes.
    pub(super) fn invalid(findings: ConfigFindings) -> ApiProblem {
        let mistakes = findings.errors().count() as u64 + findings.unlisted;
        let detail = format!(
            "the configuration has {mistakes} {}",
            if mistakes == 1 { "mistake" } else { "mistakes" }
        );
        let mut refusal = ApiProblem::new(422, "configuration", detail)
            .with_hint("correct it; nothing has changed");
        refusal.0.findings = findings.findings;
        refusal.0.unlisted = findings.unlisted;
        refusal
    }
}

impl IntoResponse for ApiProblem {
    fn into_response(self) -> Response {
        let status =
            StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        // The type holds strings and numbers only, so serializing cannot fail. If it did, the status code would still
        // be right.
        let body = serde_json::to_vec(&self.0).unwrap_or_default();
        (status, [(header::CONTENT_TYPE, PROBLEM)], body).into_response()
    }
}

impl From<ApplyError> for ApiProblem {
    fn from(error: ApplyError) -> ApiProblem {
        let text = error.to_string();
        match error {
            ApplyError::Invalid(findings) => ApiProblem::invalid(findings),
            ApplyError::Stale { .. } => ApiProblem::new(409, "generation-moved", text),
            ApplyError::NotPermitted { .. } | ApplyError::PermissionChanged { .. } => {
                ApiProblem::new(403, "program-not-allowed", text).with_hint("nothing has changed")
            }
            ApplyError::Listen(_) => ApiProblem::new(409, "listen", text)
                .with_hint("free the address; nothing has changed"),
            ApplyError::Pool { .. } => {
                ApiProblem::new(409, "pool", text).with_hint("nothing has changed")
            }
            ApplyError::Pins(_) => {
                ApiProblem::new(409, "pins", text).with_hint("nothing has changed")
            }
            ApplyError::Tls(_) => {
                ApiProblem::new(409, "certificate", text).with_hint("nothing has changed")
            }
            ApplyError::Patch(error) => match error {
                PatchError::Unknown { .. } => ApiProblem::new(404, "no-object", text),
                PatchError::Exists { .. } => ApiProblem::new(412, "exists", text),
                PatchError::Form(_) | PatchError::Name { .. } | PatchError::Value { .. } => {
                    ApiProblem::new(400, "patch", text)
                }
                PatchError::Syntax(_) => ApiProblem::new(409, "patch", text),
            },
            ApplyError::NoFile => ApiProblem::new(409, "not-saved", text).with_hint(
                "ask without save to have it until the daemon ends; nothing has changed",
            ),
            ApplyError::FileDiffers(_) | ApplyError::FileUnreadable { .. } => {
                ApiProblem::new(409, "not-saved", text).with_hint(
                    "ask with save=false to have it until the file is read; nothing has changed",
                )
            }
            ApplyError::FileNotWritten { .. } => ApiProblem::new(500, "not-saved", text)
                .with_hint("it is lost with a restart: mend the file, or apply again"),
            ApplyError::HandingOver => ApiProblem::new(503, "handing-over", text),
            ApplyError::Stopping(_) => ApiProblem::new(503, "stopping", text),
        }
    }
}

impl From<TakeoverError> for ApiProblem {
    fn from(error: TakeoverError) -> ApiProblem {
        let text = error.to_string();
        match error {
            TakeoverError::Unknown(_) | TakeoverError::None => {
                ApiProblem::new(404, "no-group", text)
            }
            TakeoverError::Refused { .. } | TakeoverError::Unready { .. } => {
                ApiProblem::new(409, "takeover", text)
            }
            TakeoverError::Waits(_) => ApiProblem::new(409, "takeover-waits", text),
            TakeoverError::Stopping => ApiProblem::new(503, "stopping", text),
        }
    }
}

impl From<RollbackError> for ApiProblem {
    fn from(error: RollbackError) -> ApiProblem {
        let text = error.to_string();
        match error {
            RollbackError::Unknown { .. } | RollbackError::NonePrevious => {
                ApiProblem::new(404, "no-generation", text)
            }
            RollbackError::Apply(error) => error.into(),
        }
    }
}

impl From<ServerCommandError> for ApiProblem {
    fn from(error: ServerCommandError) -> ApiProblem {
        let text = error.to_string();
        match error {
            ServerCommandError::Unknown { .. } => ApiProblem::new(404, "no-server", text),
            ServerCommandError::Exists { .. } => ApiProblem::new(409, "server-exists", text),
            ServerCommandError::Invalid(_) => ApiProblem::new(400, "order", text),
            ServerCommandError::LastServer { .. } => ApiProblem::new(409, "last-server", text),
            ServerCommandError::Save(_) => ApiProblem::new(409, "not-saved", text).with_hint(
                "give the command without --save to have it until the file says otherwise",
            ),
            ServerCommandError::FileNotWritten { .. } => ApiProblem::new(500, "not-saved", text)
                .with_hint("it is lost with a restart: mend the file, or give the command again"),
            ServerCommandError::Apply(error) => error.into(),
            ServerCommandError::HandingOver => ApiProblem::new(503, "handing-over", text),
            ServerCommandError::Stopping(_) => ApiProblem::new(503, "stopping", text),
        }
    }
}

impl From<UndoError> for ApiProblem {
    fn from(error: UndoError) -> ApiProblem {
        let text = error.to_string();
        match error {
            UndoError::Unknown(_) | UndoError::Nothing => ApiProblem::new(404, "no-record", text),
            UndoError::Cannot(_) => ApiProblem::new(409, "not-reversible", text),
            UndoError::Moved(..) => ApiProblem::new(409, "changed-since", text),
            UndoError::Apply(error) => error.into(),
            UndoError::Rollback(error) => error.into(),
            UndoError::HandingOver => ApiProblem::new(503, "handing-over", text),
            UndoError::Stopping(_) => ApiProblem::new(503, "stopping", text),
        }
    }
}

impl From<DaemonStoppingError> for ApiProblem {
    fn from(gone: DaemonStoppingError) -> ApiProblem {
        ApiProblem::new(503, "stopping", gone.to_string())
    }
}

impl From<QueryRejection> for ApiProblem {
    fn from(rejection: QueryRejection) -> ApiProblem {
        ApiProblem::new(rejection.status().as_u16(), "query", rejection.body_text())
    }
}

impl From<JsonRejection> for ApiProblem {
    fn from(rejection: JsonRejection) -> ApiProblem {
        ApiProblem::new(rejection.status().as_u16(), "body", rejection.body_text())
    }
}

impl From<BytesRejection> for ApiProblem {
    fn from(rejection: BytesRejection) -> ApiProblem {
        ApiProblem::new(rejection.status().as_u16(), "body", rejection.body_text())
    }
}

impl From<StringRejection> for ApiProblem {
    fn from(rejection: StringRejection) -> ApiProblem {
        ApiProblem::new(rejection.status().as_u16(), "body", rejection.body_text())
    }
}
