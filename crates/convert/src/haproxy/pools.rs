//! Backends by their names, for frontends that refer to them before they come.

use std::collections::HashMap;

use super::settings::ProxySettings;

/// Backends by the name that HAProxy has for them.
#[derive(Debug, Default)]
pub struct BackendPools {
    names: HashMap<String, String>,
    settings: HashMap<String, ProxySettings>,
}

impl BackendPools {
    /// It is written under this name.
    pub fn set_name(&mut self, from: String, written: String) {
        self.names.entry(from).or_insert(written);
    }

    pub fn set_settings(&mut self, from: &str, settings: ProxySettings) {
        self.settings.entry(from.to_owned()).or_insert(settings);
    }

    /// The name that it is written under.
    pub fn written_name(&self, from: &str) -> Option<&str> {
        self.names.get(from).map(String::as_str)
    }

    pub fn settings(&self, from: &str) -> Option<&ProxySettings> {
        self.settings.get(from)
    }
}
