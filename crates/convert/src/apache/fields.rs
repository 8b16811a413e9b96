//! `Header` and `RequestHeader`, and cookies and Locations of `ProxyPassReverse…`.

use crate::header_field::check_field;
use crate::notes::{ConversionNotes, UnsupportedReason};
use crate::site_rule::RewriteEdits;
use crate::statement::ConfigStatement;
use crate::value;

/// Fields of answers and requests of one place.
#[derive(Clone, Debug, Default)]
pub struct FieldEdits {
    pub edits: RewriteEdits,
    /// `Header always`: fields of the balancer's own answers.
    pub own: RewriteEdits,
}

/// Applies the directives of one place, in order, to what is set before.
pub fn apply(
    directives: &[&ConfigStatement],
    fields: &mut FieldEdits,
    notes: &mut ConversionNotes,
) {
    for one in directives {
        match one.name.as_str() {
            "header" => answer_field(one, fields, notes),
            "requestheader" => request_field(one, &mut fields.edits, notes),
            _ => {}
        }
    }
}

/// Removes the fields of requests that `<If>` writes, so that servers do not believe the client's. `is_around`: only
/// those of `<If>` inside the section.
pub fn remove_conditional(
    section: &ConfigStatement,
    is_around: bool,
    fields: &mut FieldEdits,
    notes: &mut ConversionNotes,
) {
    for one in section.inner() {
        match one.name.as_str() {
            "if" | "elseif" | "else" | "limit" | "limitexcept" => {
                remove_conditional(one, false, fields, notes);
            }
            "requestheader" if !is_around => {
                let name = words(one).name;
                one.leave_out(REMOVED, "`rewrite.set`", notes);
                if is_removable(&name) {
                    fields.edits.remove_field(&name);
                }
            }
            _ => {}
        }
    }
}

/// What becomes of a field of requests that cannot be written.
const REMOVED: &str =
    "what clients send under its name is removed, so that servers do not believe it";

fn is_removable(name: &str) -> bool {
    check_field(&format!("{name}: x")).is_ok() && !name.eq_ignore_ascii_case("host")
}

/// The words of a directive: action, name, value, and whether a condition follows.
struct FieldWords {
    action: String,
    name: String,
    value: String,
    /// `env=` or `expr=` decides whether it applies.
    is_conditional: bool,
    always: bool,
}

fn words(one: &ConfigStatement) -> FieldWords {
    let words = one.words_from(0);
    let always = words.first().is_some_and(|word| word.eq_ignore_ascii_case("always"));
    let other = words.first().is_some_and(|word| word.eq_ignore_ascii_case("onsuccess"));
    let rest = &words[usize::from(always || other)..];
    let word = |at: usize| rest.get(at).cloned().unwrap_or_default();
    let action = word(0).to_ascii_lowercase();
    let from = if action == "unset" || action == "echo" { 2 } else { 3 };
    let last =
        rest.iter().skip(from).any(|word| word.starts_with("env=") || word.starts_with("expr="));
    let name = word(1).trim_end_matches(':').to_owned();
    FieldWords { action, name, value: word(2), is_conditional: last, always }
}

/// A value with variables in place of format strings.
fn template(text: &str) -> Result<String, UnsupportedReason> {
    let none = || {
        let reason = format!("rules have no variable for `{text}`");
        Err(UnsupportedReason::new(reason, "`rewrite` with the variables that rules have"))
    };
    let expression = text.strip_prefix("expr=");
    let mut out = String::new();
    let mut rest = expression.unwrap_or(text);
    while let Some(at) = rest.find(['%', '{']) {
        out.push_str(&rest[..at]);
        let tail = &rest[at..];
        if let Some(after) = tail.strip_prefix('{') {
            out.push_str("{{");
            rest = after;
            continue;
        }
        if let Some(after) = tail.strip_prefix("%%") {
            out.push('%');
            rest = after;
            continue;
        }
        let Some(end) = tail.find('}').filter(|_| tail.starts_with("%{")) else { return none() };
        let name = tail[2..end].to_ascii_uppercase();
        // Format strings end in `e` or `s`, expressions do not.
        let kind = usize::from(expression.is_none());
        rest = tail.get(end + 1 + kind..).unwrap_or("");
        // A variable of the environment is none of the request's.
        if expression.is_none() && !tail[end + 1..].starts_with('s') {
            return none();
        }
        let http = name.strip_prefix("HTTP:").or(name.strip_prefix("REQ:"));
        match (name.as_str(), http) {
            ("REMOTE_ADDR", _) => out.push_str("{client}"),
            ("REMOTE_PORT", _) => out.push_str("{client-port}"),
            ("REQUEST_SCHEME", _) => out.push_str("{scheme}"),
            ("SERVER_NAME", _) => out.push_str("{host-name}"),
            ("SERVER_PORT", _) => out.push_str("{port}"),
            ("HTTP_HOST", _) => out.push_str("{host}"),
            ("HTTP_USER_AGENT", _) => out.push_str("{header.user-agent}"),
            ("SSL_TLS_SNI", _) => out.push_str("{sni}"),
            (_, Some(field)) if field.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') => {
                out.push_str(&format!("{{header.{}}}", field.to_ascii_lowercase()));
            }
            _ => return none(),
        }
    }
    out.push_str(rest);
    Ok(out)
}

fn answer_field(one: &ConfigStatement, fields: &mut FieldEdits, notes: &mut ConversionNotes) {
    let FieldWords { action, name, value, is_conditional, always } = words(one);
    let cookie = name.eq_ignore_ascii_case("set-cookie") && value.contains("BALANCER_WORKER_ROUTE");
    if cookie {
        let reason = "the cookie that keeps a client at its server is written by the balancer";
        return one.note_changed(reason, "`sticky`", notes);
    }
    if is_conditional {
        let reason = "a field of answers has no condition of the environment";
        return one.leave_out(reason, "`response-add` with `statuses`", notes);
    }
    if action == "unset" && check_field(&format!("{name}: x")).is_ok() {
        if always {
            // Apache has two tables of fields, and those of servers are in the other one.
            fields.edits.forget_added(&name);
            fields.own.remove_answer_field(&name);
            let reason = "it takes back what `Header always` set; the fields of servers stay";
            return one.note_changed(reason, "`response-remove`", notes);
        }
        fields.edits.remove_answer_field(&name);
        fields.own.remove_answer_field(&name);
        return one.settle_converted(notes);
    }
    let value =
        template(&value).and_then(|value| check_field(&format!("{name}: {value}")).map(|()| value));
    let value = match value {
        Ok(value) => value,
        Err(why) => return notes.left_out_because(one.source, &one.text(), &why),
    };
    match action.as_str() {
        // What is set always stands beside a server's field.
        "set" | "add" if always => {
            fields.edits.add_answer_field(&name, &value, true, action == "set");
        }
        "set" if !value.contains('{') => fields.edits.set_answer_field(&name, &value),
        "set" => {
            fields.edits.remove_answer_field(&name);
            fields.edits.add_answer_field(&name, &value, false, false);
        }
        "add" => fields.edits.add_answer_field(&name, &value, false, false),
        "append" | "merge" => {
            fields.edits.add_answer_field(&name, &value, always, false);
            one.note_changed("the value stands on a line of its own", "`response-add`", notes);
        }
        _ => {
            let reason = "fields of answers are set, added or removed";
            return one.leave_out(reason, "`response-set`", notes);
        }
    }
    if always {
        fields.own.add_answer_field(&name, &value, true, action == "set");
    }
    one.settle_converted(notes);
}

/// What mod_proxy adds to a field behind all directives, where it does so.
fn forwarded_value(name: &str, edits: &RewriteEdits) -> Option<&'static str> {
    let added = match name.to_ascii_lowercase().as_str() {
        "x-forwarded-for" => "{client}",
        "x-forwarded-host" => "{host}",
        _ => return None,
    };
    edits.sets_field(name).then_some(added)
}

fn request_field(one: &ConfigStatement, edits: &mut RewriteEdits, notes: &mut ConversionNotes) {
    let FieldWords { action, name, value, is_conditional, .. } = words(one);
    let removable = is_removable(&name);
    if action == "unset" && removable {
        // Where a condition is not known, the field goes in any case.
        match forwarded_value(&name, edits) {
            Some(added) => edits.set_field(&name, added),
            None => edits.remove_field(&name),
        }
        match is_conditional {
            true => one.note_changed("the field is removed in any case", "", notes),
            false => one.settle_converted(notes),
        }
        return;
    }
    let value =
        template(&value).and_then(|value| check_field(&format!("{name}: {value}")).map(|()| value));
    match (value, action.as_str()) {
        (Ok(value), "set") if name.eq_ignore_ascii_case("host") && !is_conditional => {
            edits.set_key("host", value::quote(&value));
            one.settle_converted(notes);
        }
        (Ok(value), "set") if !is_conditional => {
            match forwarded_value(&name, edits) {
                Some(added) => edits.set_field(&name, &format!("{value}, {added}")),
                None => edits.set_field(&name, &value),
            }
            one.settle_converted(notes);
        }
        (Ok(value), "add" | "append" | "merge") if !is_conditional => {
            edits.add_field(&name, &value);
            match action.as_str() {
                "add" => one.settle_converted(notes),
                _ => one.note_changed(
                    "the value stands on a line of its own",
                    "`rewrite.add`",
                    notes,
                ),
            }
        }
        _ => {
            one.leave_out(REMOVED, "`rewrite.set`", notes);
            if removable {
                edits.remove_field(&name);
            }
        }
    }
}
