//! `tls.acme` of a service: the meaning of each form, and forms that are rejected.

use std::time::Duration;

use model::config::{AcmeChallengeType, Severity};

use super::support::{BASE, errors, findings, good};

/// A service `s` with this `tls` beside the valid one.
fn with(tls: &str) -> String {
    format!(
        "{BASE}[service.s]\nlisten = \"127.0.0.1:1\"\nforward = \"http\"\npool = \"web\"\ntls = {{ {tls} }}\n"
    )
}

#[test]
fn a_name_is_enough() {
    let checked = good(&with("acme = \"Shop.example\""));
    let tls = checked.config.services["s"].tls.clone().unwrap();
    let acme = tls.acme.unwrap();
    assert_eq!((tls.certificates.len(), acme.names), (0, vec!["shop.example".to_owned()]));
    assert_eq!(acme.directory, "https://acme-v02.api.letsencrypt.org/directory");
    assert_eq!((acme.challenge, acme.ca, acme.contact.len()), (AcmeChallengeType::Http, None, 0));
    assert_eq!(acme.retry, Duration::from_secs(300));
    let both = good(&with(
        "certificates = \"/a.pem\", acme = { names = \"a.example\", challenge = \"tls\" }",
    ));
    let tls = both.config.services["s"].tls.clone().unwrap();
    assert_eq!((tls.certificates.len(), tls.acme.unwrap().challenge), (1, AcmeChallengeType::Tls));
}

#[test]
fn what_no_authority_can_do_is_named() {
    let rows = [
        ("policy = \"modern\"", "", "none is ordered"),
        ("acme = \"*.a.example\"", ".acme.names", "all names"),
        ("acme = \"192.0.2.1\"", ".acme.names", "look up"),
        ("acme = \"localhost\"", ".acme.names", "look up"),
        (
            "acme = { names = \"a.example\", directory = \"ftp://a\" }",
            ".acme.directory",
            "not a URL",
        ),
        ("acme = { names = \"a.example\", contact = \"me\" }", ".acme.contact", "electronic mail"),
        ("acme = { names = \"a.example\", ca = \"ca.pem\" }", ".acme.ca", "was started"),
        (
            "client = \"/ca\", acme = { names = \"a.example\", challenge = \"tls\" }",
            ".acme.challenge",
            "to show",
        ),
    ];
    for (tls, key, says) in rows {
        let text = with(tls);
        let key = format!("service.s.tls{key}");
        let found = errors(&text);
        let about =
            found.iter().find(|finding| finding.key == key && finding.message.contains(says));
        assert!(about.is_some(), "{text}\n{found:#?}");
    }
}

#[test]
fn an_authority_that_anybody_may_be_is_warned_of() {
    let text = with("acme = { names = \"a.example\", directory = \"http://a/dir\" }");
    let found = findings(&text);
    let about = found.iter().find(|finding| finding.key == "service.s.tls.acme.directory").unwrap();
    assert_eq!(about.severity, Severity::Warning);
}
