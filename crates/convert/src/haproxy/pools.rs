//! Backends by name, because frontends may refer to later backends.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use crate::draft_check::DraftChecker;

use super::listener_ports::ListenerPorts;
use super::settings::ProxySettings;

/// Backends by their names in HAProxy.
#[derive(Debug, Default)]
pub struct BackendPools {
    names: HashMap<String, String>,
    settings: HashMap<String, Rc<ProxySettings>>,
    /// What the configuration's parser says of conditions, which most proxies have in common.
    pub drafts: RefCell<DraftChecker>,
    /// The ports of the frontend whose rules are read, also those in its backends.
    pub ports: RefCell<ListenerPorts>,
}

impl BackendPools {
    /// Sets the pool name of a backend. The first name of a backend wins.
    pub fn set_name(&mut self, from: String, written: String) {
        self.names.entry(from).or_insert(written);
    }

    pub fn set_settings(&mut self, from: &str, settings: Rc<ProxySettings>) {
        self.settings.entry(from.to_owned()).or_insert(settings);
    }

    /// The pool name of a backend.
    pub fn written_name(&self, from: &str) -> Option<&str> {
        self.names.get(from).map(String::as_str)
    }

    pub fn settings(&self, from: &str) -> Option<&ProxySettings> {
        self.settings.get(from).map(Rc::as_ref)
    }
}
