//! Variables of the environment that a tool such as envsubst has still to fill in.

use std::collections::HashSet;

use crate::template::TemplatePlaceholder;

/// Directives that give a variable its value.
const DEFINING: [&str; 8] =
    ["set", "map", "geo", "split_clients", "js_set", "js_var", "perl_set", "auth_request_set"];

/// Variables of nginx itself, which knows them in any letter case.
const OWN: [&str; 16] = [
    "args",
    "document_root",
    "document_uri",
    "host",
    "hostname",
    "https",
    "is_args",
    "query_string",
    "remote_addr",
    "remote_user",
    "request_method",
    "request_uri",
    "scheme",
    "server_name",
    "server_port",
    "uri",
];

/// The first `${NAME}` in capital letters to which nothing in the text gives a value. nginx refuses such a file.
pub fn find_variable(text: &str) -> Option<TemplatePlaceholder> {
    // Each name is looked for once, since a file may use it in every line.
    let mut known: HashSet<&str> = HashSet::new();
    for (line, number) in text.lines().zip(1u32..) {
        if line.trim_start().starts_with('#') {
            continue;
        }
        for name in names(line) {
            if known.insert(name) && !is_defined(name, text) {
                return Some(TemplatePlaceholder { line: number, text: line.trim().to_owned() });
            }
        }
    }
    None
}

/// The names in `${NAME}` that have capital letters alone.
fn names(line: &str) -> impl Iterator<Item = &str> {
    let is_capital = |name: &&str| {
        let all = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        name.starts_with(|c: char| c.is_ascii_uppercase()) && name.chars().all(all)
    };
    line.split("${")
        .skip(1)
        .filter_map(|rest| rest.split_once('}'))
        .map(|parts| parts.0)
        .filter(is_capital)
}

fn is_defined(name: &str, text: &str) -> bool {
    let small = name.to_ascii_lowercase();
    let is_own = OWN.contains(&small.as_str())
        || ["http_", "arg_", "cookie_", "sent_http_"].iter().any(|start| small.starts_with(start));
    let uses = [format!("${small}"), format!("(?<{small}>"), format!("(?p<{small}>")];
    let defines = |line: &str| {
        let line = line.to_ascii_lowercase();
        let mut words = line.split_whitespace();
        let is_defining = words.next().is_some_and(|word| DEFINING.contains(&word));
        is_defining && words.any(|word| word.trim_end_matches([';', '{']) == uses[0])
            || uses[1..].iter().any(|group| line.contains(group))
    };
    is_own || text.lines().any(defines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_nothing_defines_are_found() {
        for (text, line) in [
            ("http {\nlisten ${NGINX_PORT};\n}", Some(2)),
            ("proxy_pass http://${BACKEND}:80;", Some(1)),
            ("# listen ${NGINX_PORT};", None),
            ("set $BACKEND a;\nproxy_pass http://${BACKEND};", None),
            ("map $host $BACKEND { default a; }\nproxy_pass http://${BACKEND};", None),
            ("location ~ ^/(?<NAME>.*)$ { return 301 /x/${NAME}; }", None),
            ("return 301 https://${HOST}${REQUEST_URI};", None),
            ("proxy_set_header A ${HTTP_X_A}; set $x ${x}a${arg_B};", None),
        ] {
            assert_eq!(find_variable(text).map(|found| found.line), line, "{text}");
        }
    }
}
