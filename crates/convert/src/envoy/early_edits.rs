//! What a connection manager changes in a request before it looks for a route: edits before the rules of a service.

use crate::document::{Document, TomlTable};
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::structured::node::ConfigNode;
use crate::value::{self, KeyValue};

use super::header_edits::HeaderEditList;
use super::hidden_fields::HiddenFields;
use super::reader::{leave_out, note_changed, take_flag, take_text};
use super::strings::extension_type;

/// Edits before the rules, and fields that rules cannot see as Envoy judges them.
#[derive(Clone, Debug, Default)]
pub struct EarlyEdits {
    pub edits: HeaderEditList,
    /// X-Forwarded-Proto is set where the request does not say a scheme.
    assumes_scheme: bool,
    pub hidden: HiddenFields,
}

impl EarlyEdits {
    pub fn read(
        manager: &ConfigNode,
        uses_remote: bool,
        hops: u64,
        notes: &mut ConversionNotes,
    ) -> EarlyEdits {
        let mut early = EarlyEdits::default();
        let skips = take_flag(manager, "skip_xff_append", notes).unwrap_or(false);
        if uses_remote && !skips {
            early.hidden.add("x-forwarded-for");
        }
        if take_flag(manager, "generate_request_id", notes).unwrap_or(true) {
            early.hidden.add("x-request-id");
        }
        if uses_remote && hops == 0 {
            early.edits.request.set_field("x-forwarded-proto: {scheme}".to_owned());
        } else {
            early.assumes_scheme = true;
        }
        // Envoy writes these itself, and servers believe them.
        for name in ["x-envoy-internal", "x-envoy-external-address"] {
            early.edits.request.remove_field(name);
            early.hidden.add(name);
        }
        if take_flag(manager, "append_x_forwarded_port", notes) == Some(true) {
            early.edits.request.set_field("x-forwarded-port: {port}".to_owned());
        }
        early.remove_certificate_field(manager, notes);
        for extension in manager
            .get("early_header_mutation_extensions")
            .map(ConfigNode::items)
            .unwrap_or_default()
        {
            early.add_extension(extension, notes);
        }
        early
    }

    /// `x-forwarded-client-cert`, which Envoy removes unless it is told otherwise.
    fn remove_certificate_field(&mut self, manager: &ConfigNode, notes: &mut ConversionNotes) {
        let mode = take_text(manager, "forward_client_cert_details", notes).unwrap_or("SANITIZE");
        if matches!(mode, "ALWAYS_FORWARD_ONLY" | "4") {
            return;
        }
        self.edits.request.remove_field("x-forwarded-client-cert");
        if let Some(field) =
            manager.get("forward_client_cert_details").filter(|_| !matches!(mode, "SANITIZE" | "0"))
        {
            self.hidden.add("x-forwarded-client-cert");
            let reason = "servers are told of a client's certificate in other fields: x-forwarded-client-cert is removed";
            let instead = "`tls.client.headers` or `tls.client.certificate-field`";
            leave_out(field, reason, instead, notes);
        }
    }

    /// An extension that changes requests before routes are asked. Others than mutations of fields are reported.
    fn add_extension(&mut self, extension: &ConfigNode, notes: &mut ConversionNotes) {
        take_text(extension, "name", notes);
        let kind = extension_type(extension, notes);
        let config = extension.get("typed_config").filter(|_| kind == "HeaderMutation");
        let Some(mutations) = config.and_then(|config| config.get("mutations")) else {
            let reason = "what it changes is not known here: requests are refused";
            leave_out(extension, reason, "`rewrite` of rules", notes);
            self.edits.changes_target = true;
            return;
        };
        for item in mutations.items() {
            let own = HeaderEditList::read_early(std::slice::from_ref(item), notes);
            // What cannot be written is not known to the rules behind it either.
            let appended = item.get("append").and_then(|append| append.get("header"));
            let name = appended.and_then(|header| header.text_of("key"));
            // A variable may have no value: Envoy then keeps the client's field.
            let is_written = own.request.set.iter().any(|field| !field.contains('{'));
            if let Some(name) = name.filter(|_| !is_written) {
                self.hidden.add(name);
            }
            self.edits = std::mem::take(&mut self.edits).then(&own);
        }
        for name in &self.edits.request.blind {
            self.hidden.add(name);
        }
    }

    /// The tables of these edits.
    fn write(self, path: &str, document: &mut Document) {
        let entry = |when: Option<&str>, rewrite: String| {
            let text = "fields that Envoy writes before it looks for a route";
            let mut table = TomlTable::one_of(path.to_owned(), SourcePlace::NONE, text);
            if let Some(when) = when {
                table.set("when", when.to_owned(), SourcePlace::NONE);
            }
            table.set("rewrite", rewrite, SourcePlace::NONE);
            table
        };
        if self.assumes_scheme {
            let known = value::quote_all(&["x-forwarded-proto: http", "x-forwarded-proto: https"]);
            let when = format!("{{ not = {{ header = {known} }} }}");
            let set = KeyValue::new("set", value::quote("x-forwarded-proto: {scheme}"));
            document.push(entry(Some(&when), value::table(&[set])));
        }
        let pairs = self.edits.pairs();
        if !pairs.is_empty() {
            document.push(entry(None, value::table(&pairs)));
        }
    }
}

/// Writes the edits of all connection managers of a service. Where these differ, nobody gets the fields.
pub fn write_early(
    service: &str,
    managers: Vec<EarlyEdits>,
    document: &mut Document,
    notes: &mut ConversionNotes,
) {
    let texts = |one: &EarlyEdits| {
        let pairs = one.edits.clone().pairs();
        let text: Vec<String> = pairs.into_iter().map(|pair| pair.value).collect();
        format!("{} {}", one.assumes_scheme, text.join(" "))
    };
    let Some(first) = managers.first().cloned() else { return };
    let path = format!("service.{service}.edit");
    if managers.iter().all(|one| texts(one) == texts(&first)) {
        return first.write(&path, document);
    }
    let mut joint = EarlyEdits::default();
    for one in &managers {
        one.edits.remove_from(&mut joint.edits);
        if one.assumes_scheme {
            joint.edits.request.remove_field("x-forwarded-proto");
        }
    }
    let reason = "chains that write other fields before their routes: all of these are removed";
    let instead = "a listener of its own for each chain";
    notes.left_out(SourcePlace::NONE, &format!("service {service}"), reason, instead);
    joint.write(&path, document);
}

/// `forwarded`: what servers are told of the client.
pub fn forwarded_fields(
    node: &ConfigNode,
    uses_remote: bool,
    hops: u64,
    notes: &mut ConversionNotes,
) -> String {
    let skips = take_flag(node, "skip_xff_append", notes).unwrap_or(false);
    let via = node.get("via");
    let mut pairs = vec![KeyValue::new("x-forwarded", value::quote("pass"))];
    pairs.push(KeyValue::new("via", via.is_some().to_string()));
    if let Some(via) = via {
        note_changed(via, "the name in Via is our own", "`forwarded.via`", notes);
    }
    if uses_remote && !skips {
        let field = [
            KeyValue::new("name", value::quote("X-Forwarded-For")),
            KeyValue::new("mode", value::quote("list")),
        ];
        pairs.push(KeyValue::new("client-field", value::table(&field)));
    }
    if !uses_remote {
        let reason = "the client is who connects, and X-Forwarded-For passes as it came";
        let at = node.get("use_remote_address").unwrap_or(node);
        let instead = "`trust` with the proxies in front";
        notes.changed(at.source, "use_remote_address: false", reason, instead);
    }
    if let Some(field) = node.get("xff_num_trusted_hops").filter(|_| hops > 0) {
        let reason =
            "proxies in front are known by their networks: until then the client is who connects";
        leave_out(field, reason, "`trust` with the networks of the proxies in front", notes);
    }
    value::table(&pairs)
}

/// The place of `use_remote_address`.
pub fn source_of(node: &ConfigNode) -> SourcePlace {
    node.get("use_remote_address").map_or(SourcePlace::NONE, |field| field.source)
}
