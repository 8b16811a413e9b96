//! Judges `tls` of a service and of a pool: paths, what contradicts, what is dangerous. It looks into no file.

use super::super::finding::{Sink, Trouble};
use super::super::section::Section;
use super::super::value::Value;

/// Judge a service's.
pub fn service(service: &Section, path: &str, sink: &mut Sink<'_, '_>) {
    let Some(tls) = service.table("tls") else { return };
    let path = format!("{path}.tls");
    if let Some(Value::Files(files)) = tls.value("certificates") {
        for file in files {
            rooted(tls, "certificates", file, &path, sink);
        }
    }
    if tls.text("policy") == Some("modern") && tls.text("minimum") == Some("1.2") {
        let message =
            "`minimum = \"1.2\"` contradicts `policy = \"modern\"`, which is TLS 1.3 alone";
        let trouble = Trouble::new(message).expected("`minimum = \"1.3\"`, or another policy");
        sink.error(tls.place_of("minimum"), &format!("{path}.minimum"), trouble);
    }
    if let Some(client) = tls.table("client")
        && let Some(ca) = client.text("ca")
    {
        rooted(client, "ca", ca, &format!("{path}.client"), sink);
    }
}

/// Judge a pool's.
pub fn pool(pool: &Section, path: &str, sink: &mut Sink<'_, '_>) {
    let Some(tls) = pool.table("tls") else { return };
    let path = format!("{path}.tls");
    for key in ["ca", "certificate"] {
        if let Some(file) = tls.text(key) {
            rooted(tls, key, file, &path, sink);
        }
    }
    if let Some(name) = tls.text("name").filter(|name| !sound(name)) {
        let trouble = Trouble::new(format!("`{name}` is not a host name or an address"))
            .expected("a name without port, such as \"backend.example\", or an address");
        sink.error(tls.place_of("name"), &format!("{path}.name"), trouble);
    }
    if tls.text("verify") == Some("off") {
        let key = format!("{path}.verify");
        let message = "servers are not verified: whoever is on the way may be the server";
        sink.warning(tls.place_of("verify"), &key, Trouble::new(message));
        if tls.wrote("ca") {
            let message = "`ca` has no effect with `verify = \"off\"`";
            sink.error(tls.place_of("ca"), &format!("{path}.ca"), Trouble::new(message));
        }
    }
}

/// A path that means the same wherever the daemon was started.
fn rooted(section: &Section, key: &str, file: &str, path: &str, sink: &mut Sink<'_, '_>) {
    if !file.starts_with('/') {
        let trouble = Trouble::new(format!("`{file}` depends on where the daemon was started"))
            .expected("a path that begins with `/`");
        sink.error(section.place_of(key), &format!("{path}.{key}"), trouble);
    }
}

/// Letters, digits, dots and dashes (RFC 952), or an address.
fn sound(name: &str) -> bool {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    name.parse::<std::net::IpAddr>().is_ok() || (name.len() <= 253 && name.split('.').all(label))
}
