//! Header fields: `header`, `request_header`, and `header_up` and `header_down` of a proxy.

use crate::header_field::check_field;
use crate::notes::{ConversionNotes, UnsupportedReason};
use crate::statement::ConfigStatement;
use crate::value;

use super::order::RouteStep;
use super::placeholder::{TemplateUse, template};
use super::proxy_target::ProxyTarget;
use super::route_state::RouteState;

/// Names of the upstream's address, for its Host.
const UPSTREAM: [&str; 3] = [
    "{upstream_hostport}",
    "{http.reverse_proxy.upstream.hostport}",
    "{http.reverse_proxy.upstream.host}",
];

/// Whether a directive changes fields of requests or answers.
pub fn is_edit(kind: &str) -> bool {
    matches!(kind, "header" | "request_header")
}

/// The words of one change of a field.
struct FieldChange<'s> {
    statement: &'s ConfigStatement,
    /// `+`, `-`, `?`, `>`, or empty for a field that is set.
    sign: &'s str,
    name: &'s str,
    value: &'s str,
    /// The value is a search expression, with a replacement.
    replaces: bool,
}

/// Reads a change from a name and the words behind it.
fn change<'s>(statement: &'s ConfigStatement, first: &'s str, rest: &[&'s str]) -> FieldChange<'s> {
    let length = usize::from(first.starts_with(['+', '-', '?', '>']));
    let name = first[length..].trim_end_matches(':');
    FieldChange {
        statement,
        sign: &first[..length],
        name,
        value: rest.first().copied().unwrap_or(""),
        replaces: rest.len() > 1,
    }
}

/// The changes of `header` or `request_header`, on its line or in its block.
fn changes<'s>(step: &'s RouteStep<'_>) -> Vec<FieldChange<'s>> {
    let statement = step.statement;
    let mut out = Vec::new();
    if step.count() > 0 {
        let rest: Vec<&str> = (1..step.count()).map(|at| step.word(at)).collect();
        out.push(change(statement, step.word(0), &rest));
    }
    let lines =
        statement.inner().iter().filter(|one| !matches!(one.name.as_str(), "defer" | "match"));
    out.extend(lines.map(|line| {
        let rest: Vec<&str> = line.words_from(0).iter().map(String::as_str).collect();
        change(line, &line.name, &rest)
    }));
    out
}

/// `header` changes answers, `request_header` changes requests.
pub fn edit(step: &RouteStep<'_>, state: &mut RouteState, notes: &mut ConversionNotes) {
    step.statement.settle_converted(notes);
    let request = step.kind() == "request_header";
    let deferred =
        step.statement.find("defer").inspect(|one| one.settle_converted(notes)).is_some();
    let changes = changes(step);
    // One of these lines makes Caddy wait for the server's answer with all of the block.
    let deferred = deferred || changes.iter().any(|one| matches!(one.sign, "-" | ">"));
    if let Some(only) = step.statement.find("match") {
        only.leave_out(
            "fields are set whatever the answer is",
            "`response-add` with `statuses`",
            notes,
        );
    }
    for change in changes {
        match request {
            true => edit_request(&change, state, notes),
            false => edit_answer(&change, deferred, state, notes),
        }
    }
}

/// Takes out the fields of a `request_header` whose condition is not known, so that servers do not believe clients.
pub fn distrust(step: &RouteStep<'_>, state: &mut RouteState) {
    if step.kind() != "request_header" {
        return;
    }
    for change in changes(step) {
        remove_or_close(change.name, state);
    }
}

/// Takes out a field. Where the name stands for several, nothing goes on to servers that may believe them.
fn remove_or_close(name: &str, state: &mut RouteState) {
    if is_removable(name) {
        state.edits.remove_field(name);
    } else if name.contains('*') {
        state.closed = state.closed.or(Some(502));
    }
}

fn is_removable(name: &str) -> bool {
    // A star stands for several fields.
    let is_one = !name.eq_ignore_ascii_case("host") && !name.contains('*');
    is_one && check_field(&format!("{name}: x")).is_ok()
}

/// Reports a change that cannot be written.
fn leave_out(change: &FieldChange<'_>, why: &UnsupportedReason, notes: &mut ConversionNotes) {
    notes.left_out_because(change.statement.source, &change.statement.text(), why);
}

fn edit_request(change: &FieldChange<'_>, state: &mut RouteState, notes: &mut ConversionNotes) {
    change.statement.settle_converted(notes);
    if change.name.eq_ignore_ascii_case("host") {
        return set_host(change, None, state, notes);
    }
    if ["connection", "upgrade"].iter().any(|own| change.name.eq_ignore_ascii_case(own)) {
        let reason = "upgrades are passed on, and connections are kept, without a switch";
        return change.statement.note_not_needed(reason, notes);
    }
    let removable = is_removable(change.name);
    if change.sign == "-" && removable {
        return state.edits.remove_field(change.name);
    }
    let value = match change.replaces {
        true => Err(UnsupportedReason::new(
            "parts of a field are not replaced: what clients send under its name is removed",
            "`rewrite.set` with a whole value",
        )),
        false => template(change.value, TemplateUse::Field),
    };
    let field =
        value.and_then(|value| check_field(&format!("{}: {value}", change.name)).map(|()| value));
    match field {
        Ok(value) if change.sign == "+" => state.edits.add_field(change.name, &value),
        Ok(value) if change.sign.is_empty() || change.sign == ">" => {
            state.edits.set_field(change.name, &value);
        }
        Ok(_) => {
            let reason =
                "fields are set, added or removed: what clients send under its name is removed";
            leave_out(change, &UnsupportedReason::new(reason, "`rewrite.set`"), notes);
            remove_or_close(change.name, state);
        }
        Err(why) => {
            leave_out(change, &why, notes);
            remove_or_close(change.name, state);
        }
    }
}

fn set_host(
    change: &FieldChange<'_>,
    target: Option<&ProxyTarget>,
    state: &mut RouteState,
    notes: &mut ConversionNotes,
) {
    let own = target.and_then(|target| target.single_host.clone());
    let host = match UPSTREAM.contains(&change.value) {
        true => own.ok_or_else(|| {
            UnsupportedReason::new(
                "each server is asked for its own name: here they are asked for the client's",
                "`rewrite.host`, or a pool for each server",
            )
        }),
        false => template(change.value, TemplateUse::Field),
    };
    match host.and_then(|host| check_field(&format!("x: {host}")).map(|()| host)) {
        Ok(host) if change.sign.is_empty() && !change.replaces => {
            state.edits.set_key("host", value::quote(&host));
        }
        Ok(_) => {
            leave_out(change, &UnsupportedReason::new("Host is replaced as a whole", ""), notes)
        }
        Err(why) => leave_out(change, &why, notes),
    }
}

fn edit_answer(
    change: &FieldChange<'_>,
    deferred: bool,
    state: &mut RouteState,
    notes: &mut ConversionNotes,
) {
    change.statement.settle_converted(notes);
    if change.sign == "-" && is_removable(change.name) {
        return state.edits.remove_answer_field(change.name);
    }
    let value = template(change.value, TemplateUse::Field);
    let field =
        value.and_then(|value| check_field(&format!("{}: {value}", change.name)).map(|()| value));
    let reason = match (field, change.sign) {
        (Err(why), _) => why,
        (Ok(_), _) if change.replaces => {
            UnsupportedReason::new("parts of a field are not replaced", "`response-set`")
        }
        // A field that is set at once stands beside that of the server.
        (Ok(value), "") if !deferred => {
            return state.edits.add_answer_field(change.name, &value, true, true);
        }
        (Ok(value), "+") => {
            return state.edits.add_answer_field(change.name, &value, true, false);
        }
        (Ok(value), "" | ">") if !value.contains('{') => {
            return state.edits.set_answer_field(change.name, &value);
        }
        (Ok(_), "?") => UnsupportedReason::new(
            "a field is not set only where the server has not set it",
            "`response-add` or `response-set`",
        ),
        (Ok(_), _) => UnsupportedReason::new("the field cannot be written", "`response-set`"),
    };
    leave_out(change, &reason, notes);
}

/// `header_up` and `header_down` of a proxy, and the fields that Caddy sets about clients.
pub fn edit_proxied(
    step: &RouteStep<'_>,
    target: &ProxyTarget,
    trusts_proxies: bool,
    state: &mut RouteState,
    notes: &mut ConversionNotes,
) {
    if !trusts_proxies {
        for field in
            ["X-Forwarded-For: {client}", "X-Forwarded-Proto: {scheme}", "X-Forwarded-Host: {host}"]
        {
            let parts = field.split_once(": ");
            parts.into_iter().for_each(|parts| state.edits.set_field(parts.0, parts.1));
        }
    }
    if target.tls {
        ask_for_own_name(step.statement, target, state, notes);
    }
    for line in step.statement.inner() {
        let rest: Vec<&str> = line.words_from(1).iter().map(String::as_str).collect();
        let change = change(line, line.word(0), &rest);
        match line.name.as_str() {
            "header_up" if change.name.eq_ignore_ascii_case("host") => {
                line.settle_converted(notes);
                set_host(&change, Some(target), state, notes);
            }
            "header_up" => {
                let own = ["x-forwarded-for", "x-forwarded-proto"];
                if trusts_proxies && own.iter().any(|own| change.name.eq_ignore_ascii_case(own)) {
                    let reason = "the field is written for trusted proxies by itself";
                    line.note_changed(reason, "`forwarded`", notes);
                    continue;
                }
                edit_request(&change, state, notes);
            }
            "header_down" => edit_down(&change, state, notes),
            _ => {}
        }
    }
}

/// Servers over TLS are asked for their own name, unless the file says otherwise. Caddy does it since version 2.11.
fn ask_for_own_name(
    proxy: &ConfigStatement,
    target: &ProxyTarget,
    state: &mut RouteState,
    notes: &mut ConversionNotes,
) {
    let sets_host = |one: &ConfigStatement| {
        one.name == "header_up" && one.peek(0).trim_end_matches(':').eq_ignore_ascii_case("host")
    };
    if proxy.inner().iter().any(sets_host) {
        return;
    }
    let instead = "`header_up Host {hostport}` for the client's, as before Caddy 2.11";
    match &target.single_host {
        Some(host) => {
            state.edits.set_key("host", value::quote(host));
            let reason =
                "servers over TLS are asked for their own name, as Caddy does since version 2.11";
            proxy.note_changed(reason, instead, notes);
        }
        None => {
            let reason = "each server over TLS is asked for its own name: here they are asked for the client's";
            proxy.leave_out(reason, "`rewrite.host`, or a pool for each server", notes);
        }
    }
}

/// Fields of the server's answer alone.
fn edit_down(change: &FieldChange<'_>, state: &mut RouteState, notes: &mut ConversionNotes) {
    let deferred = change.sign.is_empty();
    if change.sign == "+" {
        change.statement.settle_converted(notes);
        match template(change.value, TemplateUse::Field) {
            Ok(value) if check_field(&format!("{}: {value}", change.name)).is_ok() => {
                state.edits.add_answer_field(change.name, &value, false, false);
            }
            Ok(_) => leave_out(change, &UnsupportedReason::new("it is no field to add", ""), notes),
            Err(why) => leave_out(change, &why, notes),
        }
        return;
    }
    edit_answer(change, deferred, state, notes);
}
