//! What is not done, as `application/problem+json` (RFC 9457): one place that maps the control's errors to statuses.

use api::routes::PROBLEM;
use api::types::Problem;
use axum::extract::rejection::{BytesRejection, JsonRejection, QueryRejection, StringRejection};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use model::config::{Findings, PatchError};

use crate::control::{ApplyError, Gone, RollbackError, SetServerError, UndoError};
use crate::vrrp::order::TakeoverError;

/// A refusal.
#[derive(Debug)]
pub(super) struct Refusal(Box<Problem>);

impl Refusal {
    /// With a name for the problem and what happened this time.
    pub(super) fn new(status: u16, kind: &str, detail: impl Into<String>) -> Refusal {
        let title = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
        Refusal(Box::new(Problem {
            kind: format!("/problems/{kind}"),
            title: title.unwrap_or("Refused").into(),
            status,
            detail: detail.into(),
            ..Problem::default()
        }))
    }

    /// With what to do.
    pub(super) fn advise(mut self, advice: &str) -> Refusal {
        self.0.advice = Some(advice.into());
        self
    }

    /// A configuration with mistakes.
    pub(super) fn invalid(findings: Findings) -> Refusal {
        let mistakes = findings.errors().count() as u64 + findings.unlisted;
        let detail = format!(
            "the configuration has {mistakes} {}",
            if mistakes == 1 { "mistake" } else { "mistakes" }
        );
        let mut refusal =
            Refusal::new(422, "configuration", detail).advise("correct it; nothing has changed");
        refusal.0.findings = findings.findings;
        refusal.0.unlisted = findings.unlisted;
        refusal
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status =
            StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        // Plain strings and numbers: it cannot fail, and if it did the status would still tell.
        let body = serde_json::to_vec(&self.0).unwrap_or_default();
        (status, [(header::CONTENT_TYPE, PROBLEM)], body).into_response()
    }
}

impl From<ApplyError> for Refusal {
    fn from(error: ApplyError) -> Refusal {
        let text = error.to_string();
        match error {
            ApplyError::Invalid(findings) => Refusal::invalid(findings),
            ApplyError::Stale { .. } => Refusal::new(409, "generation-moved", text),
            ApplyError::Beyond { .. } | ApplyError::Allowed { .. } => {
                Refusal::new(403, "program-not-allowed", text).advise("nothing has changed")
            }
            ApplyError::Listen(_) => {
                Refusal::new(409, "listen", text).advise("free the address; nothing has changed")
            }
            ApplyError::Pool { .. } => {
                Refusal::new(409, "pool", text).advise("nothing has changed")
            }
            ApplyError::Pins(_) => Refusal::new(409, "pins", text).advise("nothing has changed"),
            ApplyError::Tls(_) => {
                Refusal::new(409, "certificate", text).advise("nothing has changed")
            }
            ApplyError::Patch(error) => match error {
                PatchError::Unknown { .. } => Refusal::new(404, "no-object", text),
                PatchError::Form(_) | PatchError::Value { .. } => Refusal::new(400, "patch", text),
                PatchError::Syntax(_) => Refusal::new(409, "patch", text),
            },
            ApplyError::NoFile => Refusal::new(409, "not-saved", text)
                .advise("ask without save to have it until the daemon ends; nothing has changed"),
            ApplyError::Differs(_) | ApplyError::Unread { .. } => {
                Refusal::new(409, "not-saved", text).advise(
                    "ask with save=false to have it until the file is read; nothing has changed",
                )
            }
            ApplyError::Unwritten { .. } => Refusal::new(500, "not-saved", text)
                .advise("it is lost with a restart: mend the file, or apply again"),
            ApplyError::HandingOver => Refusal::new(503, "handing-over", text),
            ApplyError::Gone(_) => Refusal::new(503, "stopping", text),
        }
    }
}

impl From<TakeoverError> for Refusal {
    fn from(error: TakeoverError) -> Refusal {
        let text = error.to_string();
        match error {
            TakeoverError::Unknown(_) | TakeoverError::None => Refusal::new(404, "no-group", text),
            TakeoverError::Refused { .. } | TakeoverError::Unready { .. } => {
                Refusal::new(409, "takeover", text)
            }
            TakeoverError::Waits(_) => Refusal::new(409, "takeover-waits", text),
            TakeoverError::Gone => Refusal::new(503, "stopping", text),
        }
    }
}

impl From<RollbackError> for Refusal {
    fn from(error: RollbackError) -> Refusal {
        let text = error.to_string();
        match error {
            RollbackError::Unknown { .. } | RollbackError::NonePrevious => {
                Refusal::new(404, "no-generation", text)
            }
            RollbackError::Apply(error) => error.into(),
        }
    }
}

impl From<SetServerError> for Refusal {
    fn from(error: SetServerError) -> Refusal {
        let text = error.to_string();
        match error {
            SetServerError::Unknown { .. } => Refusal::new(404, "no-server", text),
            SetServerError::Exists { .. } => Refusal::new(409, "server-exists", text),
            SetServerError::Wrong(_) => Refusal::new(400, "order", text),
            SetServerError::Last { .. } => Refusal::new(409, "last-server", text),
            SetServerError::Save(_) => Refusal::new(409, "not-saved", text)
                .advise("give the order without --save to have it until the file says otherwise"),
            SetServerError::Written { .. } => Refusal::new(500, "not-saved", text)
                .advise("it is lost with a restart: mend the file, or give the order again"),
            SetServerError::Apply(error) => error.into(),
            SetServerError::HandingOver => Refusal::new(503, "handing-over", text),
            SetServerError::Gone(_) => Refusal::new(503, "stopping", text),
        }
    }
}

impl From<UndoError> for Refusal {
    fn from(error: UndoError) -> Refusal {
        let text = error.to_string();
        match error {
            UndoError::Unknown(_) | UndoError::Nothing => Refusal::new(404, "no-record", text),
            UndoError::Cannot(_) => Refusal::new(409, "not-reversible", text),
            UndoError::Moved(..) => Refusal::new(409, "changed-since", text),
            UndoError::Apply(error) => error.into(),
            UndoError::Rollback(error) => error.into(),
            UndoError::HandingOver => Refusal::new(503, "handing-over", text),
            UndoError::Gone(_) => Refusal::new(503, "stopping", text),
        }
    }
}

impl From<Gone> for Refusal {
    fn from(gone: Gone) -> Refusal {
        Refusal::new(503, "stopping", gone.to_string())
    }
}

impl From<QueryRejection> for Refusal {
    fn from(rejection: QueryRejection) -> Refusal {
        Refusal::new(rejection.status().as_u16(), "query", rejection.body_text())
    }
}

impl From<JsonRejection> for Refusal {
    fn from(rejection: JsonRejection) -> Refusal {
        Refusal::new(rejection.status().as_u16(), "body", rejection.body_text())
    }
}

impl From<BytesRejection> for Refusal {
    fn from(rejection: BytesRejection) -> Refusal {
        Refusal::new(rejection.status().as_u16(), "body", rejection.body_text())
    }
}

impl From<StringRejection> for Refusal {
    fn from(rejection: StringRejection) -> Refusal {
        Refusal::new(rejection.status().as_u16(), "body", rejection.body_text())
    }
}
