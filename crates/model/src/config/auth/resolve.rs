//! Defaults of authentication that depend on its kind.

use std::time::Duration;

use super::verify_key_url::FETCH_KEYS;
use crate::config::section::{ConfigSection, SettingOrigin};
use crate::config::value::ConfigValue;

/// Keys with defaults that only questions to a server have.
const QUESTION_KEYS: [&str; 5] = ["path", "host", "timeout", "on-failure", "max-concurrent"];

/// How long a proof counts.
const CACHE: Duration = Duration::from_secs(300);

/// What the peers send: nginx and Traefik all fields, Envoy the latter.
const SENT_FIELDS: [&str; 2] = ["Cookie", "Authorization"];

/// Sets what is not written, and takes out what has no effect.
pub fn fill_auth_defaults(mut object: ConfigSection) -> ConfigSection {
    let asks = object.text("kind") == Some("request");
    let why = SettingOrigin::Derived(match asks {
        true => "a server is asked",
        false => "no server is asked",
    });
    if object.setting("cache").is_none() {
        match object.text("kind") {
            Some("basic" | "jwt") => object.set("cache", ConfigValue::Time(CACHE), why),
            Some("request") => object.set("cache", ConfigValue::Unset("off"), why),
            _ => {}
        }
    }
    if asks && object.setting("request-headers").is_none() {
        let names = SENT_FIELDS.map(str::to_owned).to_vec();
        object.set("request-headers", ConfigValue::Texts(names), why);
    }
    let fetches = object.text("jwks-url").is_some();
    for key in FETCH_KEYS.into_iter().filter(|_| !fetches) {
        if !object.is_written(key) {
            object.clear(key);
        }
    }
    for key in QUESTION_KEYS.into_iter().filter(|_| !asks) {
        if !object.is_written(key) {
            object.clear(key);
        }
    }
    object
}
