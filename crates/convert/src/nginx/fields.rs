//! Fields that a location changes in requests and answers.

use crate::notes::ConversionNotes;
use crate::value;

use super::scope::DirectiveScope;

/// The keys of `rewrite`. `host`: the host in `proxy_pass`.
pub fn fields(
    scope: &DirectiveScope<'_>,
    host: &str,
    notes: &mut ConversionNotes,
) -> Vec<(&'static str, String)> {
    let mut set = Vec::new();
    let mut answer_set = Vec::new();
    let mut remove = Vec::new();
    let mut own_host = None;
    for one in scope.all_of(&["proxy_set_header", "grpc_set_header"]) {
        let name = one.word(0);
        let text = one.word(1);
        match name.to_ascii_lowercase().as_str() {
            "host" if text.starts_with('$') => {}
            "host" => own_host = Some(text.to_owned()),
            "x-forwarded-for" | "x-forwarded-proto" | "upgrade" | "connection" => {}
            _ if text.is_empty() => remove.push(name.to_owned()),
            _ if text.contains('$') => {
                notes.left_out(
                    one.line,
                    &one.text(),
                    "a field's value cannot be made of variables",
                    "X-Forwarded-For and X-Forwarded-Proto (`forwarded`) tell of the client",
                );
            }
            _ => set.push(format!("{name}: {text}")),
        }
    }
    for one in scope.all("add_header") {
        match one.word(1).contains('$') {
            true => notes.left_out(
                one.line,
                &one.text(),
                "a field's value cannot be made of variables",
                "`rewrite.answer-set` with a fixed value",
            ),
            false => answer_set.push(format!("{}: {}", one.word(0), one.word(1))),
        }
    }
    let hidden: Vec<String> =
        scope.all("proxy_hide_header").iter().map(|one| one.word(0).to_owned()).collect();
    let named = scope
        .all_of(&["proxy_set_header", "grpc_set_header"])
        .iter()
        .any(|one| one.word(0).eq_ignore_ascii_case("host"));
    if !named && host.contains(['.', ':']) {
        own_host = Some(host.to_owned());
    }
    let mut out: Vec<(&'static str, String)> = Vec::new();
    out.extend(own_host.map(|host| ("host", value::quote(&host))));
    for (key, list) in
        [("set", set), ("remove", remove), ("answer-set", answer_set), ("answer-remove", hidden)]
    {
        if !list.is_empty() {
            out.push((key, value::quote_all(&list)));
        }
    }
    out
}
