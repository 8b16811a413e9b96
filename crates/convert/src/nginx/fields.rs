//! Header fields that a location changes in requests and responses.

use crate::notes::ConversionNotes;
use crate::value;

use super::scope::DirectiveScope;

/// Changed header fields, as keys of `rewrite`.
#[derive(Default)]
struct FieldChanges {
    host: Option<String>,
    set: Vec<String>,
    remove: Vec<String>,
    answer_set: Vec<String>,
    answer_remove: Vec<String>,
}

/// The keys of `rewrite`. `host`: the host in `proxy_pass`.
pub fn fields(
    scope: &DirectiveScope<'_>,
    host: &str,
    notes: &mut ConversionNotes,
) -> Vec<(&'static str, String)> {
    let mut changes = FieldChanges::default();
    changes.read_requests(scope, notes);
    changes.read_responses(scope, notes);
    let set = scope.all_of(&["proxy_set_header", "grpc_set_header"]);
    let named = set.iter().any(|one| one.word(0).eq_ignore_ascii_case("host"));
    if !named && host.contains(['.', ':']) {
        changes.host = Some(host.to_owned());
    }
    changes.pairs()
}

impl FieldChanges {
    fn read_requests(&mut self, scope: &DirectiveScope<'_>, notes: &mut ConversionNotes) {
        for one in scope.all_of(&["proxy_set_header", "grpc_set_header"]) {
            let name = one.word(0);
            let text = one.word(1);
            match name.to_ascii_lowercase().as_str() {
                "host" if text.starts_with('$') => {}
                "host" => self.host = Some(text.to_owned()),
                "x-forwarded-for" | "x-forwarded-proto" => {}
                "upgrade" | "connection" => {
                    let reason =
                        "upgrades are passed on, and connections are kept, without a switch";
                    notes.not_needed(one.source, &one.text(), reason);
                    continue;
                }
                _ if text.is_empty() => self.remove.push(name.to_owned()),
                _ if text.contains('$') => {
                    let reason = "a field's value cannot be made of variables";
                    let instead =
                        "X-Forwarded-For and X-Forwarded-Proto (`forwarded`) tell of the client";
                    notes.left_out(one.source, &one.text(), reason, instead);
                    continue;
                }
                _ => self.set.push(format!("{name}: {text}")),
            }
            one.mark_converted();
        }
    }

    fn read_responses(&mut self, scope: &DirectiveScope<'_>, notes: &mut ConversionNotes) {
        for one in scope.all("add_header") {
            if one.word(1).contains('$') {
                let reason = "a field's value cannot be made of variables";
                let instead = "`rewrite.answer-set` with a fixed value";
                notes.left_out(one.source, &one.text(), reason, instead);
                continue;
            }
            self.answer_set.push(format!("{}: {}", one.word(0), one.word(1)));
            if one.word(2) == "always" {
                one.mark_converted();
            } else {
                let reason = "the field is on every answer, whatever its status";
                notes.changed(one.source, &one.text(), reason, "");
            }
        }
        for one in scope.all("proxy_hide_header") {
            self.answer_remove.push(one.word(0).to_owned());
            one.mark_converted();
        }
    }

    fn pairs(self) -> Vec<(&'static str, String)> {
        let mut out: Vec<(&'static str, String)> = Vec::new();
        out.extend(self.host.map(|host| ("host", value::quote(&host))));
        let lists = [
            ("set", self.set),
            ("remove", self.remove),
            ("answer-set", self.answer_set),
            ("answer-remove", self.answer_remove),
        ];
        let written = lists.into_iter().filter(|(_, list)| !list.is_empty());
        out.extend(written.map(|(key, list)| (key, value::quote_all(&list))));
        out
    }
}
