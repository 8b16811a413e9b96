//! Detects files that are no configuration yet: templates whose placeholders are not filled in, and what is no text.

/// The position of a placeholder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplatePlaceholder {
    /// The line number, from 1.
    pub line: u32,
    /// The line, without blanks around it.
    pub text: String,
}

/// The marks of Jinja, Go templates and Mustache, of Jinja's blocks, and of ERB. Each placeholder opens and closes on
/// one line.
const MARKS: [(&str, &str); 3] = [("{{", "}}"), ("{%", "%}"), ("<%", "%>")];

/// The first placeholder of a text. Comments after `#` count too, because a template tool would fill them in.
pub fn find_placeholder(text: &str) -> Option<TemplatePlaceholder> {
    // Lua tables also use the first mark.
    let lua = text.contains("_by_lua");
    let is_placeholder = |line: &str| {
        MARKS.iter().filter(|(open, _)| !lua || *open != "{{").any(|(open, close)| {
            line.split_once(open).is_some_and(|(_, rest)| rest.contains(close))
        })
    };
    let (line, text) = (1u32..).zip(text.lines()).find(|(_, line)| is_placeholder(line))?;
    Some(TemplatePlaceholder { line, text: text.trim().to_owned() })
}

/// The text behind the mark that some editors put before it.
pub fn without_byte_order_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// The first zero byte. Texts in UTF-16 have one in every other place.
pub fn find_zero_byte(text: &str) -> Option<TemplatePlaceholder> {
    let (line, text) = (1u32..).zip(text.lines()).find(|(_, line)| line.contains('\0'))?;
    let text = text.chars().filter(|c| *c != '\0').take(60).collect::<String>();
    Some(TemplatePlaceholder { line, text: text.trim().to_owned() })
}

/// The first variable of the environment, `${NAME}`, that another tool has to fill in. Comments after `#` do not count.
pub fn find_variable(text: &str) -> Option<TemplatePlaceholder> {
    let is_variable = |line: &&str| {
        let mut parts = line.split("${").skip(1);
        parts.any(|rest| {
            let name = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
            let begins = rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
            begins && name.starts_with(['}', ':', '-'])
        })
    };
    let lines = (1u32..).zip(text.lines());
    let mut lines = lines.filter(|(_, line)| !line.trim_start().starts_with('#'));
    let (line, text) = lines.find(|(_, line)| is_variable(line))?;
    Some(TemplatePlaceholder { line, text: text.trim().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_of_tools_are_found_and_words_of_balancers_are_not() {
        for (text, line) in [
            ("listen {{ port }};", Some(1)),
            ("a;\n  {% for s in servers %}\n", Some(2)),
            ("<%= @name %>", Some(1)),
            ("{{- if .Values.tls }}", Some(1)),
            ("use_backend a if { path /a } !{ src 10.0.0.1 }", None),
            ("http-request set-header X %{+Q}[src]", None),
            ("location ~ ^/a{2}$ { return 200; }", None),
            ("http { server { listen 80; }}", None),
            ("content_by_lua_block { local x = {{1}} }", None),
            ("server ${NAME};", None),
        ] {
            assert_eq!(find_placeholder(text).map(|found| found.line), line, "{text}");
        }
    }

    #[test]
    fn variables_of_the_environment_are_found() {
        for (text, line) in [
            ("a: 1\naddress: ${HOST}", Some(2)),
            ("port: \"${PORT:-80}\"", Some(1)),
            ("# set ${HOST} first\na: 1", None),
            ("regex: ^/a{2}${1}", None),
            ("a: $NAME {b}", None),
        ] {
            assert_eq!(find_variable(text).map(|found| found.line), line, "{text}");
        }
    }
}
