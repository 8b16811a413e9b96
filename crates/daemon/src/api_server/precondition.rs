//! The generation that a change expects to be active: `If-Match` (RFC 9110 §13.1.1). It compares nothing: the control
//! actor does.

use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};

use super::problem::ApiProblem;
use crate::state::ApplyError;

/// The precondition of a request (RFC 9110 §13.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IfMatch {
    Absent,
    /// `*`: any active generation.
    Any,
    Generation(u64),
    /// Only tags that can never match.
    Never,
}

impl IfMatch {
    /// Parses the If-Match fields. If several generations are listed and the active one is among them, that one is
    /// used.
    pub(super) fn from_headers(headers: &HeaderMap, in_force: u64) -> Result<IfMatch, ApiProblem> {
        let mut seen = false;
        let mut all = Vec::new();
        for field in headers.get_all(header::IF_MATCH) {
            let text = field.to_str().map_err(|_| malformed("what is not text"))?;
            seen = true;
            if text.trim() == "*" {
                return Ok(IfMatch::Any);
            }
            for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
                all.extend(generation(part).map_err(malformed)?);
            }
        }
        if !seen {
            return Ok(IfMatch::Absent);
        }
        let active = all.iter().find(|generation| **generation == in_force);
        Ok(active
            .or(all.first())
            .map_or(IfMatch::Never, |generation| IfMatch::Generation(*generation)))
    }

    /// The generation that must be active. An error if the request needs a precondition and has none.
    pub(super) fn expected_generation(self, must: bool) -> Result<Option<u64>, ApiProblem> {
        match self {
            IfMatch::Absent if must => {
                let detail = "a whole configuration replaces what others wrote meanwhile: If-Match is missing";
                Err(ApiProblem::new(428, "if-match", detail).with_hint(
                    "send the ETag of what you began with as If-Match, or `*` to overwrite",
                ))
            }
            IfMatch::Absent | IfMatch::Any => Ok(None),
            IfMatch::Generation(generation) => Ok(Some(generation)),
            // There is no generation 0.
            IfMatch::Never => Ok(Some(0)),
        }
    }
}

/// The generation as a tag.
pub(super) fn generation_etag(generation: u64) -> String {
    format!("\"{generation}\"")
}

/// The answer with its generation as the tag.
pub(super) fn with_etag(generation: u64, answer: impl IntoResponse) -> Response {
    let mut answer = answer.into_response();
    if let Ok(value) = HeaderValue::from_str(&generation_etag(generation)) {
        answer.headers_mut().insert(header::ETAG, value);
    }
    answer
}

/// A failed `If-Match` is answered with 412, not 409 (RFC 9110 §13.1.1).
pub(super) fn precondition_problem(error: ApplyError) -> ApiProblem {
    match &error {
        ApplyError::Stale { .. } => ApiProblem::new(412, "generation-moved", error.to_string()),
        _ => error.into(),
    }
}

/// The generation of an entity tag; `None`: the tag is weak, or not one that this API makes, and never matches (RFC
/// 9110 §8.8.3.2).
fn generation(part: &str) -> Result<Option<u64>, &str> {
    let quoted = |text: &str| text.len() >= 2 && text.starts_with('"') && text.ends_with('"');
    if let Some(weak) = part.strip_prefix("W/") {
        return if quoted(weak) { Ok(None) } else { Err(part) };
    }
    if !quoted(part) {
        return Err(part);
    }
    Ok(part.trim_matches('"').parse().ok())
}

fn malformed(text: &str) -> ApiProblem {
    // 80 characters show what is wrong without echoing a header of several kilobytes.
    let text: String = text.chars().take(80).collect();
    let detail = format!("If-Match is {text}; expected a tag in quotes, as ETag gave it, or *");
    ApiProblem::new(400, "if-match", detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags() {
        let rows: [(&[&str], Option<IfMatch>); 10] = [
            (&[], Some(IfMatch::Absent)),
            (&["*"], Some(IfMatch::Any)),
            (&["\"7\""], Some(IfMatch::Generation(7))),
            (&["\"3\", \"7\""], Some(IfMatch::Generation(7))),
            (&["\"3\"", "\"4\""], Some(IfMatch::Generation(3))),
            (&["W/\"7\""], Some(IfMatch::Never)),
            (&["\"other\""], Some(IfMatch::Never)),
            (&[""], Some(IfMatch::Never)),
            (&["7"], None),
            (&["\""], None),
        ];
        for (fields, expected) in rows {
            let mut headers = HeaderMap::new();
            for field in fields {
                headers.append(header::IF_MATCH, HeaderValue::from_static(field));
            }
            assert_eq!(IfMatch::from_headers(&headers, 7).ok(), expected, "{fields:?}");
        }
        assert_eq!(generation_etag(7), "\"7\"");
        assert!(IfMatch::Absent.expected_generation(true).is_err());
        assert_eq!(IfMatch::Absent.expected_generation(false).ok(), Some(None));
        assert_eq!(IfMatch::Never.expected_generation(true).ok(), Some(Some(0)));
    }
}
