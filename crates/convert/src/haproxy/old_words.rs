//! Words of HAProxy before version 2.1, in the words that took their place.
//!
//! Old words that refuse become a `deny` with a criterion that nothing tells apart, so that they stay closed.

/// The lines that a line of old words stands for, or none if its words are today's.
pub fn modern_lines(words: &[String]) -> Vec<Vec<String>> {
    let first = words.first().map_or("", String::as_str);
    let second = words.get(1).map_or("", String::as_str);
    let third = words.get(2).map_or("", String::as_str);
    let rest = |from: usize| words.get(from..).unwrap_or(&[]).to_vec();
    let line = |begin: &[&str], more: Vec<String>| -> Vec<Vec<String>> {
        vec![begin.iter().map(|word| (*word).to_owned()).chain(more).collect()]
    };
    match first {
        // `listen NAME ADDRESS`, until version 1.8.
        "listen" | "frontend" if third.contains(':') => {
            let mut both = line(&[first, second], Vec::new());
            both.extend(line(&["bind"], rest(2)));
            both
        }
        "contimeout" => line(&["timeout", "connect"], rest(1)),
        "clitimeout" => line(&["timeout", "client"], rest(1)),
        "srvtimeout" => line(&["timeout", "server"], rest(1)),
        "redispatch" => line(&["option", "redispatch"], rest(1)),
        "dispatch" if words.len() == 2 => line(&["server", "dispatch"], rest(1)),
        "reqadd" | "rspadd" => match second.split_once(':') {
            Some((name, value)) => {
                let action = [kind(first), "add-header", name.trim(), value.trim()];
                line(&action, rest(2))
            }
            None => Vec::new(),
        },
        "reqdel" | "reqidel" | "rspdel" | "rspidel" => match whole_field(second) {
            Some(name) => line(&[kind(first), "del-header", name], rest(2)),
            None => Vec::new(),
        },
        "reqdeny" | "reqideny" | "reqtarpit" | "reqitarpit" => {
            line(&["http-request", "deny", "if", "{", first, second, "}"], Vec::new())
        }
        "reqsetbe" | "reqisetbe" => {
            line(&["use_backend", third, "if", "{", first, second, "}"], Vec::new())
        }
        // A value that cannot be made, so that servers do not see what was to be replaced.
        "reqrep" | "reqirep" => match changed_field(second) {
            Some(name) => line(&["http-request", "set-header", name, "%[reqrep]"], rest(3)),
            None => line(&["http-request", "replace-uri", second, third], rest(3)),
        },
        "reqpass" | "reqipass" | "reqallow" | "reqiallow" => {
            line(&["http-request", "allow", "if", "{", first, second, "}"], Vec::new())
        }
        _ => Vec::new(),
    }
}

fn kind(word: &str) -> &'static str {
    if word.starts_with("req") { "http-request" } else { "http-response" }
}

/// The field's name in an expression of a header line: `^Name:(.*)`.
fn changed_field(expression: &str) -> Option<&str> {
    let (name, _) = expression.strip_prefix('^')?.split_once(':')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    (!name.is_empty() && name.chars().all(plain)).then_some(name)
}

/// The field's name in an expression such as `^Name:` or `^Name:.*`, which takes out the whole field.
fn whole_field(expression: &str) -> Option<&str> {
    let name = expression.strip_prefix('^')?.trim_end_matches(".*").strip_suffix(':')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    (!name.is_empty() && name.chars().all(plain)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_words_have_modern_ones_and_what_refuses_stays_closed() {
        for (old, modern) in [
            ("listen web 10.0.0.1:80", vec!["listen web", "bind 10.0.0.1:80"]),
            ("listen web", vec![]),
            ("listen web from base", vec![]),
            ("clitimeout 50000", vec!["timeout client 50000"]),
            ("dispatch 10.0.0.1:80", vec!["server dispatch 10.0.0.1:80"]),
            ("reqadd X-A:1 if b", vec!["http-request add-header X-A 1 if b"]),
            ("reqidel ^X-A:", vec!["http-request del-header X-A"]),
            ("rspidel ^X-A:.*", vec!["http-response del-header X-A"]),
            ("reqidel ^X-.*", vec![]),
            ("reqideny ^GET", vec!["http-request deny if { reqideny ^GET }"]),
            ("reqsetbe ^GET b", vec!["use_backend b if { reqsetbe ^GET }"]),
            ("reqirep ^X-A:(.*) X-A:b", vec!["http-request set-header X-A %[reqrep]"]),
            ("reqrep ^GET.*/a.* /b if c", vec!["http-request replace-uri ^GET.*/a.* /b if c"]),
            ("reqipass ^GET", vec!["http-request allow if { reqipass ^GET }"]),
        ] {
            let words: Vec<String> = old.split(' ').map(str::to_owned).collect();
            let lines: Vec<String> =
                modern_lines(&words).iter().map(|line| line.join(" ")).collect();
            assert_eq!(lines, modern, "{old}");
        }
    }
}
