//! Which generation a change asks to be in force: `If-Match` (RFC 9110 §13.1.1). It compares nothing: the control does.

use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};

use super::refusal::Refusal;
use crate::control::ApplyError;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// It says nothing.
    Nothing,
    /// `*`: whichever is in force.
    Any,
    /// This one.
    Generation(u64),
    /// Only what cannot be.
    Never,
}

impl Wanted {
    /// What the fields say; of several generations the one in force, if it is among them.
    pub(super) fn of(headers: &HeaderMap, in_force: u64) -> Result<Wanted, Refusal> {
        let mut seen = false;
        let mut all = Vec::new();
        for field in headers.get_all(header::IF_MATCH) {
            let text = field.to_str().map_err(|_| malformed("what is not text"))?;
            seen = true;
            if text.trim() == "*" {
                return Ok(Wanted::Any);
            }
            for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
                all.extend(generation(part).map_err(malformed)?);
            }
        }
        if !seen {
            return Ok(Wanted::Nothing);
        }
        let now = all.iter().find(|one| **one == in_force);
        Ok(now.or(all.first()).map_or(Wanted::Never, |one| Wanted::Generation(*one)))
    }

    /// The one that must be in force; refused where something had to be said.
    pub(super) fn expected(self, must: bool) -> Result<Option<u64>, Refusal> {
        match self {
            Wanted::Nothing if must => {
                let detail = "a whole configuration replaces what others wrote meanwhile: If-Match is missing";
                Err(Refusal::new(428, "if-match", detail).advise(
                    "send the ETag of what you began with as If-Match, or `*` to overwrite",
                ))
            }
            Wanted::Nothing | Wanted::Any => Ok(None),
            Wanted::Generation(one) => Ok(Some(one)),
            // There is no generation 0.
            Wanted::Never => Ok(Some(0)),
        }
    }
}

/// The generation as a tag.
pub(super) fn tag(generation: u64) -> String {
    format!("\"{generation}\"")
}

/// The answer with its generation as the tag.
pub(super) fn tagged(generation: u64, answer: impl IntoResponse) -> Response {
    let mut answer = answer.into_response();
    if let Ok(value) = HeaderValue::from_str(&tag(generation)) {
        answer.headers_mut().insert(header::ETAG, value);
    }
    answer
}

/// What was asked for by `If-Match` and is not so is 412, not 409.
pub(super) fn failed(error: ApplyError) -> Refusal {
    match &error {
        ApplyError::Stale { .. } => Refusal::new(412, "generation-moved", error.to_string()),
        _ => error.into(),
    }
}

/// A tag's generation; `None`: a tag that is none of ours, or weak, and so never equal (RFC 9110 §8.8.3.2).
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

fn malformed(found: &str) -> Refusal {
    let found: String = found.chars().take(80).collect();
    let detail = format!("If-Match is {found}; expected a tag in quotes, as ETag gave it, or *");
    Refusal::new(400, "if-match", detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags() {
        let rows: [(&[&str], Option<Wanted>); 10] = [
            (&[], Some(Wanted::Nothing)),
            (&["*"], Some(Wanted::Any)),
            (&["\"7\""], Some(Wanted::Generation(7))),
            (&["\"3\", \"7\""], Some(Wanted::Generation(7))),
            (&["\"3\"", "\"4\""], Some(Wanted::Generation(3))),
            (&["W/\"7\""], Some(Wanted::Never)),
            (&["\"other\""], Some(Wanted::Never)),
            (&[""], Some(Wanted::Never)),
            (&["7"], None),
            (&["\""], None),
        ];
        for (fields, expected) in rows {
            let mut headers = HeaderMap::new();
            for field in fields {
                headers.append(header::IF_MATCH, HeaderValue::from_static(field));
            }
            assert_eq!(Wanted::of(&headers, 7).ok(), expected, "{fields:?}");
        }
        assert_eq!(tag(7), "\"7\"");
        assert!(Wanted::Nothing.expected(true).is_err());
        assert_eq!(Wanted::Nothing.expected(false).ok(), Some(None));
        assert_eq!(Wanted::Never.expected(true).ok(), Some(Some(0)));
    }
}
