//! Directives that answer by themselves: `redir`, `respond`, `error`, `abort`, and those that are not carried over.

use crate::notes::ConversionNotes;
use crate::value::{self, KeyValue};

use super::order::RouteStep;
use super::placeholder::{TemplateUse, has_placeholder, template};

/// The actions of a rule that answers by itself.
pub struct RespondAnswer {
    pub keys: Vec<KeyValue>,
    /// It lets the client go on: a redirect, or a status below 400.
    pub is_permission: bool,
}

impl RespondAnswer {
    fn status(status: u16) -> RespondAnswer {
        let keys = vec![KeyValue::new("answer", status.to_string())];
        RespondAnswer { keys, is_permission: status < 400 }
    }
}

/// What a directive answers.
pub fn answer(step: &RouteStep<'_>, tls: bool, notes: &mut ConversionNotes) -> RespondAnswer {
    let statement = step.statement;
    match step.kind() {
        "redir" => return redirect(step, tls, notes),
        "respond" => return respond(step, notes),
        "error" => return error(step, notes),
        "abort" => {
            statement.note_changed("the client is refused with 403, and not cut off", "", notes);
            return RespondAnswer {
                keys: vec![KeyValue::new("deny", "true")],
                is_permission: false,
            };
        }
        _ => {}
    }
    let reason = match step.kind() {
        "basic_auth" | "forward_auth" => "nobody is asked who he is: what it protects answers 401",
        "php_fastcgi" => "FastCGI is not spoken: 502",
        _ => "files and pages of the balancer itself are not served: 404",
    };
    let instead = match step.kind() {
        "basic_auth" | "forward_auth" => "certificates of clients, or an authenticating server",
        _ => "a web server as a pool",
    };
    statement.leave_out(reason, instead, notes);
    RespondAnswer::status(match step.kind() {
        "basic_auth" | "forward_auth" => 401,
        "php_fastcgi" => 502,
        _ => 404,
    })
}

fn redirect(step: &RouteStep<'_>, tls: bool, notes: &mut ConversionNotes) -> RespondAnswer {
    let code = match step.word(1) {
        "" | "temporary" => 302,
        "permanent" => 301,
        text => text.parse::<u16>().unwrap_or(0),
    };
    let statement = step.statement;
    let to = template(step.word(0), TemplateUse::Redirect { tls });
    match to {
        Ok(to) if matches!(code, 301 | 302 | 303 | 307 | 308) => {
            statement.settle_converted(notes);
            let keys =
                [KeyValue::new("to", value::quote(&to)), KeyValue::new("status", code.to_string())];
            let keys = vec![KeyValue::new("redirect", value::table(&keys))];
            RespondAnswer { keys, is_permission: true }
        }
        Ok(_) if code == 401 => {
            statement.note_changed("the answer has no Location", "", notes);
            RespondAnswer::status(401)
        }
        Ok(_) => {
            statement.leave_out("a redirect has a status that rules do not have: 502", "", notes);
            RespondAnswer::status(502)
        }
        Err(why) => {
            notes.left_out_because(statement.source, &statement.text(), &why);
            RespondAnswer::status(502)
        }
    }
}

fn is_status(text: &str) -> bool {
    text.len() == 3 && text.bytes().all(|b| b.is_ascii_digit())
}

fn respond(step: &RouteStep<'_>, notes: &mut ConversionNotes) -> RespondAnswer {
    let first = step.word(0).to_owned();
    let alone = step.count() == 1 && is_status(&first);
    let status = if alone { first.as_str() } else { step.word(1) };
    let code = if status.is_empty() { Some(200) } else { status.parse::<u16>().ok() };
    let statement = step.statement;
    statement.settle_converted(notes);
    for option in statement.inner() {
        match option.name.as_str() {
            "body" => {}
            "close" => option.note_changed("the connection is kept", "", notes),
            _ => option.leave_out("it is no option of an answer", "", notes),
        }
    }
    let block = statement.find("body").map(|body| {
        let text = body.word(0).to_owned();
        body.settle_converted(notes);
        text
    });
    let body = block.unwrap_or(if alone { String::new() } else { first });
    let Some(code) = code.filter(|code| (200..=599).contains(code)) else {
        statement.leave_out("the status is none that rules answer with: 502", "", notes);
        return RespondAnswer::status(502);
    };
    if body.is_empty() || matches!(code, 204 | 205 | 304) {
        return RespondAnswer::status(code);
    }
    if body.len() > 4_096 || has_placeholder(&body) {
        let reason = "the body has placeholders or more than 4 KiB: it is empty here";
        statement.leave_out(reason, "`answer` with a fixed body", notes);
        return RespondAnswer::status(code);
    }
    let keys = [
        KeyValue::new("status", code.to_string()),
        KeyValue::new("body", value::quote(&body)),
        KeyValue::new("type", value::quote(body_type(&body))),
    ];
    let keys = vec![KeyValue::new("answer", value::table(&keys))];
    RespondAnswer { keys, is_permission: code < 400 }
}

/// The type that Caddy writes to a body: that of JSON where it looks like an object or a list.
fn body_type(body: &str) -> &'static str {
    let encloses = |open: char, close: char| body.starts_with(open) && body.ends_with(close);
    let is_json = encloses('{', '}') || encloses('[', ']');
    if is_json { "application/json" } else { "text/plain; charset=utf-8" }
}

fn error(step: &RouteStep<'_>, notes: &mut ConversionNotes) -> RespondAnswer {
    let first = step.word(0).to_owned();
    let status = if step.count() == 1 && is_status(&first) { first.as_str() } else { step.word(1) };
    let code = status.parse::<u16>().ok().filter(|code| (400..=599).contains(code));
    let statement = step.statement;
    statement.settle_converted(notes);
    for option in statement.inner() {
        option.note_changed("the answer has the body that errors have", "", notes);
    }
    RespondAnswer::status(code.unwrap_or(500))
}

/// Whether requests go on in the same way with and without a directive.
pub fn has_no_effect(kind: &str) -> bool {
    matches!(
        kind,
        "root"
            | "fs"
            | "log_skip"
            | "log_append"
            | "log_name"
            | "tracing"
            | "push"
            | "map"
            | "vars"
            | "templates"
            | "intercept"
            | "copy_response"
            | "copy_response_headers"
            | "encode"
    )
}

/// Reports a directive that neither answers nor changes a request here. Where nothing is known of it, what comes behind it is
/// closed.
pub fn note_other(kind: &str, step: &RouteStep<'_>, notes: &mut ConversionNotes) {
    let statement = step.statement;
    match kind {
        // The service's compression is written apart.
        "encode" => {}
        "root" | "fs" => {
            statement.leave_out("files are not served", "a web server as a pool", notes);
        }
        "log_skip" | "log_append" | "log_name" => {
            statement.note_changed(
                "the access log has a form of its own",
                "`[global] access-log`",
                notes,
            );
        }
        "tracing" => statement.note_changed(
            "spans are sent for all services or for none",
            "`[global] telemetry`",
            notes,
        ),
        "push" => statement.note_not_needed("browsers take no pushed answers any more", notes),
        "map" | "vars" => statement.leave_out("rules have no variables of their own", "", notes),
        "templates" | "intercept" | "copy_response" | "copy_response_headers" => {
            statement.leave_out("answers of servers are not replaced or filled in", "", notes);
        }
        "import" => {
            let reason = "files are not opened: what it may hold is not known, and what stands behind it is closed";
            statement.leave_out(reason, "put the file's text in its place", notes);
        }
        _ => {
            let reason = "nothing is known of the directive: what stands behind it is closed";
            statement.leave_out(reason, "", notes);
        }
    }
}
