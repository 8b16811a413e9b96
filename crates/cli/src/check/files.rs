//! Opens the files of keys, certificates, authorities and revocation lists that a configuration names, as `run` would,
//! and checks the other names of this machine's objects.
//!
//! `daemon::tls` checks the files; here the result becomes a finding with its place.

use std::time::SystemTime;

use daemon::api_server::remote::{certificate_warning, tls_error};
use daemon::api_server::token_file::token_file_error;
use daemon::host_check::{ThisHost, find_missing};
use daemon::syslog_tls_error;
use daemon::tls::cert_store::{CertificateCheck, CertificateStore};
use files::plain_error::plain_error_text;
use model::config::{CheckedConfig, ConfigFinding, ConfigFindings, Severity};

/// The configuration with the findings about its files.
///
/// # Errors
///
/// Unreadable or invalid files, together with the warnings.
pub fn check_files(
    mut checked: CheckedConfig,
    text: &str,
    file: &str,
) -> Result<CheckedConfig, ConfigFindings> {
    let state = Some(checked.config.global.control.state.clone());
    let CertificateCheck { prepared, errors: troubles } =
        CertificateStore::new(state).prepare_all(&checked.config, SystemTime::now());
    let places = KeyLocations { checked: &checked, text, file };
    let listener = checked.config.global.control.remote.as_ref();
    let shown = listener.and_then(certificate_warning);
    let tokens = listener.and_then(|remote| token_file_error(remote.tokens.as_deref()?));
    let warnings: Vec<ConfigFinding> = (prepared.warnings.into_iter())
        .map(|message| places.key_warning(message))
        .chain(
            shown.map(|why| places.finding(Severity::Warning, "global.control.certificate", why)),
        )
        .chain(tokens.map(|why| places.finding(Severity::Warning, "global.control.tokens", why)))
        .collect();
    let remote = listener.and_then(tls_error).map(|text| ("global.control", text));
    let syslog = syslog_tls_error(&checked.config.global.access_log.target);
    let syslog = syslog.map(|text| ("global.access-log.tls", text));
    let errors: Vec<ConfigFinding> = (troubles.iter())
        .map(|trouble| (trouble.key(), trouble.reason()))
        .chain(remote)
        .chain(syslog)
        .map(|(key, reason)| places.finding(Severity::Error, key, reason))
        .collect();
    let absent: Vec<ConfigFinding> = (find_missing(&checked, &ThisHost).into_iter())
        .map(|one| ConfigFinding {
            expected: Some(one.expected),
            ..places.finding(Severity::Warning, &one.key, one.message)
        })
        .collect();
    checked.warnings.extend(warnings.into_iter().chain(absent));
    if errors.is_empty() {
        return Ok(checked);
    }
    Err(ConfigFindings { findings: [errors, checked.warnings].concat(), unlisted: 0 })
}

struct KeyLocations<'a> {
    checked: &'a CheckedConfig,
    text: &'a str,
    file: &'a str,
}

impl KeyLocations<'_> {
    /// A warning that begins with the key that it is about, where one is.
    fn key_warning(&self, message: String) -> ConfigFinding {
        match message.split_once(": ").filter(|(key, _)| self.line(key).is_some()) {
            Some((key, rest)) => self.finding(Severity::Warning, key, rest.to_owned()),
            None => self.finding(Severity::Warning, "", message),
        }
    }

    fn finding(&self, severity: Severity, key: &str, message: String) -> ConfigFinding {
        let line = self.line(key).unwrap_or(1);
        let excerpt = self.text.lines().nth(line - 1).unwrap_or_default().trim_end();
        let width = excerpt.trim_start().chars().count();
        let column = excerpt.chars().count() - width + 1;
        let number = |from: usize| u32::try_from(from).unwrap_or(u32::MAX);
        ConfigFinding {
            severity,
            file: self.file.to_owned(),
            line: number(line),
            column: number(column),
            key: key.to_owned(),
            message: plain_error_text(message),
            found: None,
            expected: None,
            suggestion: None,
            excerpt: excerpt.chars().take(EXCERPT).collect(),
            width: number(width.clamp(1, EXCERPT)),
        }
    }

    /// The first line on which something of this key stands.
    fn line(&self, key: &str) -> Option<usize> {
        let below = format!("{key}.");
        let entries = self.checked.origins.entries();
        let of_key =
            entries.iter().filter(|entry| entry.key == key || entry.key.starts_with(&below));
        of_key.filter_map(|entry| entry.origin.strip_prefix("line ")?.parse().ok()).min()
    }
}

/// Characters of a line that are shown.
const EXCERPT: usize = 120;
