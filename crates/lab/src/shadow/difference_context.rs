//! A difference with all that rows of the reviewed table look at.

use super::comparison::{DifferenceTopic, ShadowDifference};
use super::observation::StepObservation;
use super::request::ShadowRequest;

/// A difference with what was seen around it.
#[derive(Clone, Copy, Debug)]
pub struct DifferenceContext<'a> {
    pub request: &'a ShadowRequest,
    pub difference: &'a ShadowDifference,
    pub theirs: &'a StepObservation,
    pub ours: &'a StepObservation,
    /// The original's file limits rates or connections.
    pub has_limits: bool,
    /// The original lets a request for the usual spelling of this one's path through to a server.
    pub is_let_through: bool,
    /// The original's file does not say which versions of HTTP the listener offers in TLS.
    pub offers_by_default: bool,
    /// The original serves some such requests and fails others, by whether their turn meets a dead server.
    pub is_decided_by_turn: bool,
    /// Both answer the usual form of the request's host and path alike, and ours this form as that one.
    pub is_of_form: bool,
}

impl<'a> DifferenceContext<'a> {
    /// A difference of a test, with nothing around it.
    #[cfg(test)]
    pub fn plain(
        request: &'a ShadowRequest,
        difference: &'a ShadowDifference,
        theirs: &'a StepObservation,
        ours: &'a StepObservation,
    ) -> DifferenceContext<'a> {
        DifferenceContext {
            request,
            difference,
            theirs,
            ours,
            has_limits: false,
            is_let_through: false,
            offers_by_default: false,
            is_decided_by_turn: false,
            is_of_form: false,
        }
    }
}

/// A row of the table: it gives its reason if it holds.
pub type AcceptedRow = fn(DifferenceContext<'_>) -> Option<&'static str>;

/// Whether the client sends a field of this name.
pub fn sends(seen: DifferenceContext<'_>, name: &str) -> bool {
    let fields = seen.request.http().map_or(&[][..], |http| http.fields.as_slice());
    fields.iter().any(|field| field.name.eq_ignore_ascii_case(name))
}

/// The name of the field that differs at the client.
pub fn client_field<'a>(seen: DifferenceContext<'a>) -> &'a str {
    match &seen.difference.topic {
        DifferenceTopic::ClientField(name) => name,
        _ => "",
    }
}

/// The name of the field that differs at the server.
pub fn server_field<'a>(seen: DifferenceContext<'a>) -> &'a str {
    match &seen.difference.topic {
        DifferenceTopic::ServerField(name) => name,
        _ => "",
    }
}
