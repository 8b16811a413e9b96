//! Header fields that a location changes in requests and responses.

use crate::header_field::check_field;
use crate::notes::ConversionNotes;
use crate::value::{self, KeyValue};

use super::expires::{self, USUAL_STATUSES};
use super::field_place::FieldPlace;
use super::forwarding::directive_prefix;
use super::hidden_fields;
use super::more_headers::{self, MoreField};
use super::redirects;
use super::scope::DirectiveScope;
use super::tree::Directive;
use super::variables::fill;

/// Changed header fields, as keys of `rewrite`.
#[derive(Default)]
struct FieldChanges {
    host: Option<String>,
    set: Vec<String>,
    remove: Vec<String>,
    /// As TOML writes them.
    response_add: Vec<String>,
    answer_remove: Vec<String>,
}

/// Keys of `rewrite`. `host`: what nginx names where nothing is set; `None`: that differs by request.
pub fn fields(
    scope: &DirectiveScope<'_>,
    scheme: &str,
    host: Option<&str>,
    place: FieldPlace<'_>,
    notes: &mut ConversionNotes,
) -> Vec<KeyValue> {
    let prefix = directive_prefix(scheme);
    let set = scope.all(&format!("{prefix}_set_header"));
    let mut changes = FieldChanges::default();
    changes.read_requests(&set, place, notes);
    changes.read_responses(scope, prefix, place, notes);
    for MoreField { name, value } in more_headers::request_fields(scope, place, notes) {
        // What is set towards servers counts before what the request had.
        if !set.iter().any(|one| one.word(0).eq_ignore_ascii_case(&name)) {
            match value {
                Some(value) => changes.set.push(format!("{name}: {value}")),
                None => changes.remove.push(name),
            }
        }
    }
    let named = set.iter().any(|one| one.word(0).eq_ignore_ascii_case("host"));
    if let Some(host) = host.filter(|_| !named) {
        changes.host = Some(host.to_owned());
    }
    let mut pairs = changes.pairs();
    pairs.extend(redirects::cookie_rewrites(scope, notes));
    pairs
}

/// `add_header` as entries of `response-add`: on answers of servers, and on those of rules.
pub fn added_fields(
    scope: &DirectiveScope<'_>,
    place: FieldPlace<'_>,
    notes: &mut ConversionNotes,
) -> Vec<String> {
    let mut out = expires::added_fields(scope, notes);
    out.extend(more_headers::added_fields(scope, place, notes));
    for one in scope.all("add_header") {
        match place.value(one.word(1)) {
            // nginx adds no field without a value.
            Ok(text) if text.is_empty() => one.mark_converted(),
            Ok(text) => {
                let field = format!("{}: {text}", one.word(0));
                if let Err(why) = check_field(&field) {
                    notes.left_out_because(one.source, &one.text(), &why);
                    continue;
                }
                let mut pairs = vec![KeyValue::new("field", value::quote(&field))];
                if one.word(2) != "always" {
                    pairs.push(KeyValue::new("statuses", USUAL_STATUSES.to_owned()));
                }
                pairs.push(KeyValue::new("own", "true"));
                out.push(value::table(&pairs));
                one.mark_converted();
            }
            Err(variable) => {
                let reason = format!("`{variable}` has no counterpart in a field's value");
                let instead = "`rewrite.response-add` with {client}, {scheme}, {host}";
                notes.left_out(one.source, &one.text(), &reason, instead);
            }
        }
    }
    out
}

impl FieldChanges {
    fn read_requests(
        &mut self,
        set: &[&Directive],
        place: FieldPlace<'_>,
        notes: &mut ConversionNotes,
    ) {
        for one in set {
            let name = one.word(0);
            let text = &fill(one.word(1), place.values);
            let is_host = name.eq_ignore_ascii_case("host");
            if matches!(name.to_ascii_lowercase().as_str(), "upgrade" | "connection") {
                let reason = "upgrades are passed on, and connections are kept, without a switch";
                notes.not_needed(one.source, &one.text(), reason);
                continue;
            }
            if !is_host && let Err(why) = check_field(&format!("{name}: {text}")) {
                notes.left_out_because(one.source, &one.text(), &why);
                continue;
            }
            if text.is_empty() {
                self.remove.push(name.to_owned());
                one.mark_converted();
                continue;
            }
            match place.value(text) {
                // The Host of the request is passed on as it is.
                Ok(_) if is_host && matches!(text.as_str(), "$host" | "$http_host") => {}
                Ok(value) if is_host && value.contains('{') => self.host = Some(value),
                Ok(_) if is_host => self.host = Some(text.to_owned()),
                Ok(value) => self.set.push(format!("{name}: {value}")),
                Err(variable) => {
                    // Servers believe this field, so that what clients send under its name must not reach them.
                    self.remove.push(name.to_owned());
                    let reason = format!(
                        "`{variable}` has no counterpart; what clients send under its name is removed"
                    );
                    let instead = "`rewrite.set` with {client}, {scheme}, {host}, {header.NAME}";
                    notes.left_out(one.source, &one.text(), &reason, instead);
                    continue;
                }
            }
            one.mark_converted();
        }
    }

    fn read_responses(
        &mut self,
        scope: &DirectiveScope<'_>,
        prefix: &str,
        place: FieldPlace<'_>,
        notes: &mut ConversionNotes,
    ) {
        self.response_add = added_fields(scope, place, notes);
        self.answer_remove.extend(expires::replaced_fields(scope));
        self.answer_remove.extend(more_headers::replaced_fields(scope));
        for one in scope.all("add_header") {
            // nginx has one of these, and puts its own in the place of the server's.
            if ["last-modified", "etag"].contains(&one.peek(0).to_ascii_lowercase().as_str()) {
                self.answer_remove.push(one.peek(0).to_owned());
                let reason = "the server's own is removed from all answers";
                notes.changed(one.source, &one.text(), reason, "`rewrite.response-set`");
            }
        }
        if prefix == "proxy" {
            let removed = [
                (redirects::removes_location(scope, place), &["Location", "Refresh"][..]),
                (redirects::removes_cookies(scope), &["Set-Cookie"]),
            ];
            let names = removed.into_iter().filter(|(is_removed, _)| *is_removed);
            self.answer_remove.extend(names.flat_map(|(_, all)| all).map(|one| (*one).to_owned()));
        }
        let hidden = hidden_fields::location_removals(scope, prefix, place.passed_fields);
        self.answer_remove.extend(hidden.into_iter().map(str::to_owned));
        for one in scope.all(&format!("{prefix}_hide_header")) {
            if let Err(why) = check_field(&format!("{}:", one.word(0))) {
                notes.left_out_because(one.source, &one.text(), &why);
                continue;
            }
            self.answer_remove.push(one.word(0).to_owned());
            one.mark_converted();
        }
    }

    fn pairs(self) -> Vec<KeyValue> {
        let mut out: Vec<KeyValue> = Vec::new();
        out.extend(self.host.map(|host| KeyValue::new("host", value::quote(&host))));
        let lists =
            [("set", self.set), ("remove", self.remove), ("response-remove", self.answer_remove)];
        let written = lists.into_iter().filter(|(_, list)| !list.is_empty());
        out.extend(written.map(|(key, list)| KeyValue::new(key, value::quote_all(&list))));
        if !self.response_add.is_empty() {
            out.push(KeyValue::new("response-add", value::list(self.response_add)));
        }
        out
    }
}
