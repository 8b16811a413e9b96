//! Parses a scenario: a TOML file of weighted requests and their expected responses.
//!
//! Unknown keys are rejected, and every error names its request. It reads no files.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use model::config::syntax_message::locate_syntax_error;
use model::config::unit::Time;
use serde::Deserialize;
use thiserror::Error;

use crate::load::{MixError, RequestField, RequestMix, RequestTemplate, ResponseExpectation};

/// Why a scenario is invalid.
#[derive(Debug, Error)]
pub enum ScenarioError {
    /// Invalid TOML, or an unknown key.
    #[error("{0}")]
    Form(String),
    /// An invalid time.
    #[error("request `{name}`: think: `{found}`: {why}; expected a time such as `250ms`")]
    Think { name: String, found: String, why: model::config::unit::UnitError },
    #[error("request `{0}`: give `body` or `body-bytes`, not both")]
    Bodies(String),
    /// An invalid status.
    #[error("request `{0}`: expect.status: {1} is no status; expected 200 to 599")]
    Status(String, u16),
    /// Invalid requests.
    #[error(transparent)]
    Mix(#[from] MixError),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct RawScenario {
    request: Vec<RawRequest>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct RawRequest {
    name: Option<String>,
    #[serde(default = "one")]
    weight: u32,
    #[serde(default = "get")]
    method: String,
    path: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    body: Option<String>,
    body_bytes: Option<usize>,
    think: Option<String>,
    #[serde(default)]
    expect: RawExpectation,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct RawExpectation {
    status: Option<u16>,
    bytes: Option<u64>,
    text: Option<String>,
}

fn one() -> u32 {
    1
}

fn get() -> String {
    "GET".to_owned()
}

/// Parses a scenario; `host` is the default value of `Host`.
pub fn parse_scenario(text: &str, host: &str) -> Result<RequestMix, ScenarioError> {
    let raw: RawScenario = toml::from_str(text)
        .map_err(|error| ScenarioError::Form(locate_syntax_error(&error, text)))?;
    let shots = raw.request.into_iter().map(|request| build_request(request, host));
    let mix = RequestMix { shots: shots.collect::<Result<_, _>>()? };
    mix.check()?;
    Ok(mix)
}

fn build_request(raw: RawRequest, host: &str) -> Result<RequestTemplate, ScenarioError> {
    let name = raw.name.unwrap_or_else(|| format!("{} {}", raw.method, raw.path));
    let body = match (raw.body, raw.body_bytes) {
        (Some(_), Some(_)) => return Err(ScenarioError::Bodies(name)),
        (Some(text), None) => text.into_bytes(),
        // Slightly above the limit, so that the check of the mix rejects the body with the request's name.
        (None, Some(bytes)) => vec![b'x'; bytes.min((1 << 20) + 1)],
        (None, None) => Vec::new(),
    };
    let think = match raw.think {
        None => Duration::ZERO,
        Some(found) => match found.parse::<Time>() {
            Ok(time) => time.0,
            Err(why) => return Err(ScenarioError::Think { name, found, why }),
        },
    };
    if let Some(status) = raw.expect.status.filter(|status| !(200..=599).contains(status)) {
        return Err(ScenarioError::Status(name, status));
    }
    let mut fields: Vec<RequestField> = raw.headers.into_iter().map(RequestField::from).collect();
    let own = fields.iter().position(|field| field.name.eq_ignore_ascii_case("host"));
    let host = own.map_or_else(|| host.to_owned(), |at| fields.remove(at).value);
    let text = raw.expect.text.map(|text| Arc::from(text.as_bytes()));
    Ok(RequestTemplate {
        name,
        weight: raw.weight,
        method: raw.method,
        target: raw.path,
        host,
        fields,
        body: body.into(),
        think,
        expect: ResponseExpectation { status: raw.expect.status, bytes: raw.expect.bytes, text },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_scenario() {
        let text = "[[request]]\npath = \"/\"\nweight = 7\n\n[[request]]\nname = \"buy\"\nmethod = \"POST\"\npath = \"/cart\"\n\
                    headers = { Accept = \"*/*\", Host = \"buy.example\" }\nbody = \"a=1\"\nthink = \"250ms\"\n\
                    expect = { status = 201, bytes = 3, text = \"ok\" }\n";
        let mix = parse_scenario(text, "shop.example").unwrap();
        assert_eq!((mix.shots[0].weight, mix.shots[0].name.as_str()), (7, "GET /"));
        let buy = &mix.shots[1];
        assert_eq!((buy.host.as_str(), buy.think), ("buy.example", Duration::from_millis(250)));
        assert_eq!(buy.expect.status, Some(201));
        let request = String::from_utf8(buy.http1(false)).unwrap();
        assert_eq!(
            request,
            "POST /cart HTTP/1.1\r\nHost: buy.example\r\nAccept: */*\r\nContent-Length: 3\r\n\r\na=1"
        );
    }

    #[test]
    fn mistakes_name_their_place() {
        let wrong = |text: &str| {
            parse_scenario(&format!("[[request]]\npath = \"/\"\n{text}"), "h")
                .unwrap_err()
                .to_string()
        };
        for (text, part) in [
            ("wait = 3", "unknown field"),
            ("think = \"5\"", "the unit is missing"),
            ("body = \"a\"\nbody-bytes = 3", "not both"),
            ("body-bytes = 9999999", "at most"),
            ("weight = 0", "weight"),
            ("expect = { status = 99 }", "no status"),
            ("headers = { \"Content-Length\" = \"3\" }", "leave out"),
            ("method = \"G T\"", "the method"),
        ] {
            assert!(wrong(text).contains(part), "{text}: {}", wrong(text));
        }
        assert!(parse_scenario("", "h").is_err());
    }
}
