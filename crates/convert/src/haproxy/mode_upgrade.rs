//! Frontends that forward bytes to backends that inspect requests: HAProxy reads requests once the backend is chosen.

use std::rc::Rc;

use crate::notes::ConversionNotes;

use super::pools::BackendPools;
use super::section::{HaproxySection, SectionKind};
use super::settings::ProxySettings;

const IGNORED: &str = "HAProxy ignores it in a frontend that forwards bytes";
const UPGRADED: &str = "all of its backends inspect requests, and so does its service";

/// The settings of such a frontend as one that inspects requests; `None`: it forwards bytes to a backend, or is none.
pub fn upgrade(
    section: &HaproxySection,
    settings: &ProxySettings,
    pools: &BackendPools,
    notes: &mut ConversionNotes,
) -> Option<Rc<ProxySettings>> {
    if settings.http || section.kind != SectionKind::Frontend {
        return None;
    }
    let default = settings.default_backend(section).map(|default| default.name);
    let chosen = settings.use_backends.iter().map(|line| line.word(1).to_owned());
    let mut leads: Vec<&ProxySettings> = Vec::new();
    for name in default.into_iter().chain(chosen) {
        leads.push(pools.settings(&name)?);
    }
    if leads.is_empty() || leads.iter().any(|backend| !backend.http) {
        return None;
    }
    let mut upgraded = ProxySettings { http: true, ..settings.clone() };
    let is_ignored =
        |word: &str| word.starts_with("http-") || word == "redirect" || word == "block";
    for line in upgraded.rules.extract_if(.., |line| is_ignored(line.word(0))) {
        notes.not_needed(line.source, &line.text(), IGNORED);
    }
    notes.changed(section.source, &section.text, UPGRADED, "");
    Some(Rc::new(upgraded))
}
