//! `bind … ssl` as the `tls` table of a service.

use crate::document::{Document, TomlTable};
use crate::value::{self, KeyValue};

use super::bind::BindLine;

/// Writes the table if one of the lines has `ssl`.
pub fn write(path: &str, binds: &[&BindLine], document: &mut Document) {
    let Some(first) = binds.iter().find(|bind| bind.tls) else { return };
    let mut tls = TomlTable::new(format!("{path}.tls"), first.source, "bind … ssl");
    let mut files: Vec<String> = Vec::new();
    for file in binds.iter().flat_map(|bind| bind.certificates.iter()) {
        if !files.contains(file) {
            files.push(file.clone());
        }
    }
    tls.set_required("certificates", value::quote_all(&files), first.source);
    if let Some(minimum) = binds.iter().find_map(|bind| bind.minimum) {
        tls.set_required("minimum", value::quote(minimum), first.source);
    }
    if binds.iter().any(|bind| bind.strict_names) {
        tls.set("unknown-sni", value::quote("require"), first.source);
    }
    if let Some(client) = binds.iter().find_map(|bind| bind.client.as_ref()) {
        let verify = value::quote(if client.optional { "optional" } else { "required" });
        let mut pairs =
            vec![KeyValue::new("ca", value::quote(&client.ca)), KeyValue::new("verify", verify)];
        pairs.extend(client.crl.as_ref().map(|crl| KeyValue::new("crl", value::quote(crl))));
        tls.set_required("client", value::table(&pairs), first.source);
    }
    document.push(tls);
}
