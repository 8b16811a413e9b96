//! Answers that rules of HAProxy give themselves: refusals, redirects and fixed texts.

use crate::notes::{ConversionNotes, UnsupportedReason};
use crate::value::{self, KeyValue};

use super::error_pages::fixed_text;
use super::lex::ConfigLine;
use super::log_format;

/// Words of a refusal that describe its answer.
const CONTENT: [&str; 8] =
    ["content-type", "errorfile", "errorfiles", "file", "lf-file", "string", "lf-string", "hdr"];

/// The status of a `return` action, if it is an error status.
pub fn refusing_status(action: &[String]) -> Option<u16> {
    let at = action.iter().position(|word| word == "status")?;
    action.get(at + 1)?.parse().ok().filter(|status| *status >= 400)
}

/// The refusal with its status and body. What cannot be said of them is reported, and the refusal stays.
pub fn refuse_action(
    action: &[String],
    request: bool,
    line: &ConfigLine,
    notes: &mut ConversionNotes,
) -> KeyValue {
    let at = action.iter().position(|word| word == "deny_status" || word == "status");
    let status = at.and_then(|at| action.get(at + 1)).filter(|_| request);
    let has_content = |word: &String| CONTENT.contains(&word.as_str());
    if request && action.iter().any(has_content) {
        match return_action(&action[1..], "403") {
            Ok(value) => return KeyValue::new("answer", value),
            Err(why) => notes.changed(line.source, &line.text(), &why.reason, &why.instead),
        }
    }
    match status {
        Some(status) if status != "403" => KeyValue::new("answer", status.clone()),
        _ => KeyValue::new("deny", "true"),
    }
}

/// The redirect of these words.
///
/// # Errors
/// It cannot be written.
pub fn redirect(words: &[String]) -> Result<String, UnsupportedReason> {
    let mut to = None;
    let mut status = "302".to_owned();
    let mut query = "{query}";
    let mut cookie = None;
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        match word {
            "scheme" | "location" | "prefix" => to = Some((word, words.next().unwrap_or_default())),
            "code" => words.next().unwrap_or_default().clone_into(&mut status),
            "drop-query" => query = "",
            // Every target that is written has a text.
            "ignore-empty" => {}
            "set-cookie" => {
                cookie = Some(format!("Set-Cookie: {}; path=/;", words.next().unwrap_or_default()));
            }
            "clear-cookie" => {
                let name = words.next().unwrap_or_default();
                cookie = Some(format!("Set-Cookie: {name}; path=/; Max-Age=0;"));
            }
            "append-slash" => {
                return Err(UnsupportedReason::new(format!("a redirect has no `{word}`"), ""));
            }
            _ => {
                return Err(UnsupportedReason::new(
                    format!("`{word}` is not known in a redirect"),
                    "",
                ));
            }
        }
    }
    let (kind, target) =
        to.ok_or_else(|| UnsupportedReason::new("it does not say where to", ""))?;
    let target = log_format::redirect_target(target).ok_or_else(|| {
        UnsupportedReason::new(
            "where to depends on variables",
            "`redirect.to` with {host}, {path}, {query}",
        )
    })?;
    let to = match kind {
        "scheme" => format!("{target}://{{host}}{{path}}{query}"),
        "prefix" => format!("{}{{path}}{query}", if target == "/" { "" } else { &target }),
        _ => target,
    };
    let mut pairs = vec![KeyValue::new("to", value::quote(&to)), KeyValue::new("status", status)];
    pairs.extend(cookie.map(|cookie| KeyValue::new("headers", value::quote(&cookie))));
    Ok(value::table(&pairs))
}

/// An answer with its body and fields. `status`: where none is written.
///
/// # Errors
/// It has a part that cannot be written.
pub fn return_action(words: &[String], status: &str) -> Result<String, UnsupportedReason> {
    let mut status = status;
    let mut kind = None;
    let mut body = None;
    let mut fields = Vec::new();
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let mut next = || words.next().unwrap_or_default();
        match word {
            "status" | "deny_status" => status = next(),
            "content-type" => kind = Some(next()),
            "string" => body = Some(next().to_owned()),
            "lf-string" => body = Some(fixed_text(next(), "an answer has no variables")?),
            "hdr" => {
                let name = next();
                let text = fixed_text(next(), "the fields of an answer have no variables")?;
                fields.push(format!("{name}: {text}"));
            }
            // The service's own page for the status.
            "default-errorfiles" => {}
            _ => {
                return Err(UnsupportedReason::new(
                    format!("an answer has no `{word}`"),
                    "`answer` with a body of at most 4,096 bytes; a file in an `error-page`",
                ));
            }
        }
    }
    let mut pairs = vec![KeyValue::new("status", status.to_owned())];
    pairs.extend(kind.map(|kind| KeyValue::new("type", value::quote(kind))));
    pairs.extend(body.map(|body| KeyValue::new("body", value::quote(&body))));
    if !fields.is_empty() {
        pairs.push(KeyValue::new("headers", value::quote_all(&fields)));
    }
    Ok(value::table(&pairs))
}
