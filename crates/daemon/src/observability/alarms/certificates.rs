//! Certificates of services that expire soon: one event when the time comes, and one when it is over because they were
//! renewed or are not served any more. It renews none.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::SystemTime;

use model::config::EventLevel;

use crate::state::StateSnapshot;
use crate::state::cert_status::{CertificateInfo, expiry_warning};
use crate::util::event::{EventFields, EventLog};
use crate::util::wall_clock::unix_ms;

/// Certificates that were logged.
#[derive(Debug, Default)]
pub(super) struct CertificateExpiryAlarms(BTreeSet<ExpiringCertificate>);

/// A certificate of a service that expires soon.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ExpiringCertificate {
    service: String,
    file: PathBuf,
}

impl CertificateExpiryAlarms {
    /// Logs the differences from the alarms logged so far.
    pub(super) fn look(&mut self, events: &EventLog, snapshot: &StateSnapshot, now: SystemTime) {
        let soon = snapshot.config.global.certificate_warning;
        let mut ending = BTreeSet::new();
        for (service, all) in &*snapshot.certificates {
            for told in all {
                let Some(sentence) = expiry_warning(told, soon, now) else { continue };
                let key = ExpiringCertificate { service: service.clone(), file: told.file.clone() };
                if !self.0.contains(&key) {
                    let text = format!("service.{service}.tls: {sentence}");
                    events.emit(
                        EventLevel::Warning,
                        "certificate-expires",
                        text,
                        about(service, told),
                    );
                }
                ending.insert(key);
            }
        }
        for ExpiringCertificate { service, file } in self.0.difference(&ending) {
            let shown = snapshot.certificates.get(service).into_iter().flatten();
            let (text, about) = match shown.into_iter().find(|told| told.file == *file) {
                Some(told) => {
                    let text = format!("service.{service}.tls: {} is good again", file.display());
                    (text, about(service, told))
                }
                None => {
                    let file = file.display().to_string();
                    let text = format!("service.{service}.tls: {file} is not shown any more");
                    (text, EventFields::from([("service", service.clone()), ("file", file)]))
                }
            };
            events.emit(EventLevel::Info, "certificate-good", text, about);
        }
        self.0 = ending;
    }
}

fn about(service: &str, told: &CertificateInfo) -> EventFields {
    EventFields::from([
        ("service", service.to_owned()),
        ("file", told.file.display().to_string()),
        ("names", told.names.join(", ")),
        ("expires-unix-ms", unix_ms(told.not_after).to_string()),
    ])
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::observability::report::fixture;

    const TEXT: &str = "[global]\ncertificate-warning = \"10d\"\n[service.shop]\nlisten = \"127.0.0.1:1\"\n\
                        forward = \"http\"\npool = \"web\"\n[pool.web]\nservers = [\"127.0.0.1:2\"]\n";

    fn shows(snapshot: &mut StateSnapshot, files: &[(&str, u64)]) {
        let day = |days: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(days * 86_400);
        let told = |(file, days): &(&str, u64)| CertificateInfo {
            file: (*file).into(),
            names: vec!["shop.example".into()],
            kind: "ecdsa",
            not_after: day(*days),
            lifetime: Duration::from_secs(90 * 86_400),
            stapled: false,
            active_since: day(0),
            last_error: None,
        };
        let all = files.iter().map(told).collect();
        snapshot.certificates = Arc::new([("shop".to_owned(), all)].into());
    }

    #[test]
    fn each_end_is_reported_once_and_so_is_what_puts_it_off() {
        let mut snapshot = fixture::state_snapshot(TEXT, 1);
        let events = EventLog::quiet();
        let mut ending = CertificateExpiryAlarms::default();
        let mut look = |snapshot: &StateSnapshot, days: u64| {
            let now = SystemTime::UNIX_EPOCH + Duration::from_secs(days * 86_400 + 1);
            let before = events.recent().len();
            ending.look(&events, snapshot, now);
            let new = events.recent().split_off(before);
            new.iter().map(|event| (event.kind, event.about["file"].clone())).collect::<Vec<_>>()
        };
        shows(&mut snapshot, &[("a", 100), ("b", 200)]);
        assert!(look(&snapshot, 89).is_empty());
        assert_eq!(look(&snapshot, 90), [("certificate-expires", "a".to_owned())]);
        assert!(look(&snapshot, 95).is_empty());
        assert!(look(&snapshot, 100).is_empty(), "that it has ended is the same alarm");
        shows(&mut snapshot, &[("a", 300), ("b", 200)]);
        assert_eq!(look(&snapshot, 101), [("certificate-good", "a".to_owned())]);
        assert_eq!(look(&snapshot, 191), [("certificate-expires", "b".to_owned())]);
        shows(&mut snapshot, &[("a", 300)]);
        assert_eq!(look(&snapshot, 192), [("certificate-good", "b".to_owned())]);
        assert!(look(&snapshot, 193).is_empty());
    }
}
