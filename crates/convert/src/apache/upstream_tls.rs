//! `SSLProxy…`: TLS towards servers.

use crate::certificate_file::key_path;
use crate::notes::ConversionNotes;
use crate::statement::ConfigStatement;
use crate::value::{self, KeyValue};

use super::proxy_url::ProxyPassUrl;
use super::scope::ServerScope;

/// The `tls` of a pool. `None`: it is not spoken, or cannot be written.
pub fn read(
    scope: &ServerScope<'_>,
    url: &ProxyPassUrl,
    notes: &mut ConversionNotes,
) -> Option<String> {
    // A section of the target says how it is spoken to, before the server does.
    for section in scope.all(&["proxy", "proxymatch"]).into_iter().rev() {
        let inner = section.inner();
        if !inner.iter().any(|one| one.name.starts_with("sslproxy")) {
            continue;
        }
        if section.name == "proxymatch" {
            section.leave_out("expressions of targets are not read: 502", "`tls.ca`", notes);
            return None;
        }
        let begins = section.peek(0).trim_end_matches('*').to_ascii_lowercase();
        let target = format!("{}://{}{}", url.scheme, url.authority, url.path);
        if target.starts_with(&begins) || begins.trim_end_matches('/') == target {
            let around: Vec<ConfigStatement> =
                scope.main.iter().chain(scope.own).cloned().collect();
            return read_scope(&ServerScope { own: inner, main: &around }, notes);
        }
    }
    read_scope(scope, notes)
}

fn read_scope(scope: &ServerScope<'_>, notes: &mut ConversionNotes) -> Option<String> {
    if scope.word("sslproxyengine", notes).as_deref() != Some("on") {
        return None;
    }
    let verify = scope.word("sslproxyverify", notes);
    let verifies = matches!(verify.as_deref(), Some("require"));
    if let Some(odd) = scope
        .get("sslproxyverify")
        .filter(|_| matches!(verify.as_deref(), Some("optional" | "optional_no_ca")))
    {
        odd.note_changed("servers are not verified", "`tls = { verify = \"on\" }`", notes);
    }
    let mut pairs =
        vec![KeyValue::new("verify", value::quote(if verifies { "on" } else { "off" }))];
    for (name, key) in [
        ("sslproxycacertificatefile", "ca"),
        ("sslproxycarevocationfile", "crl"),
        ("sslproxymachinecertificatefile", "certificate"),
    ] {
        let Some(file) = scope.get(name) else { continue };
        if !verifies && key != "certificate" {
            file.note_changed("servers are not verified", "`tls = { verify = \"on\" }`", notes);
            continue;
        }
        pairs.push(KeyValue::new(key, value::quote(file.word(0))));
        file.settle_converted(notes);
        if key == "certificate" {
            let instead = format!("the key in the same file, or in {}", key_path(file.word(0)));
            file.note_changed("one certificate is shown to all servers", &instead, notes);
        }
    }
    for name in ["sslproxycheckpeername", "sslproxycheckpeercn", "sslproxycheckpeerexpire"] {
        let Some(check) = scope.get(name) else { continue };
        let reason = match verifies {
            true => "the name and the time of a certificate are verified with it",
            false => "of servers that are not verified nothing is checked",
        };
        check.words_from(0);
        check.note_changed(reason, "`tls` of the pool", notes);
    }
    if let Some(folder) = scope.get("sslproxycacertificatepath").filter(|_| verifies) {
        folder.leave_out("authorities stand in one file: 502", "`tls.ca`", notes);
        return None;
    }
    Some(value::table(&pairs))
}
