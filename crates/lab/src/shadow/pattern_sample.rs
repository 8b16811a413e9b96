//! Texts that fit the patterns of configurations: an example of a regular expression, of a glob, of a host pattern.
//!
//! An expression that is too complex gives a text that does not fit. That costs a request and nothing else.

/// A text that fits a simple regular expression: the first alternative, one of each class, each repetition once.
pub fn sample_expression(expression: &str) -> String {
    let chars: Vec<char> = expression.chars().collect();
    let mut reader = ExpressionReader { chars, at: 0 };
    reader.alternatives()
}

struct ExpressionReader {
    chars: Vec<char>,
    at: usize,
}

impl ExpressionReader {
    /// The first of the alternatives up to the end of the group.
    fn alternatives(&mut self) -> String {
        let mut first = String::new();
        let mut chosen = false;
        while let Some(&c) = self.chars.get(self.at) {
            self.at += 1;
            match c {
                ')' => break,
                '|' => chosen = true,
                _ => {
                    let piece = self.atom(c);
                    if !chosen {
                        first.push_str(&piece);
                    }
                }
            }
        }
        first
    }

    /// One atom, of which `c` is the first character, with its repetition.
    fn atom(&mut self, c: char) -> String {
        let piece = match c {
            '^' | '$' => return String::new(),
            '.' => "x".to_owned(),
            '[' => self.class(),
            '(' => self.group(),
            '\\' => {
                let escaped = self.chars.get(self.at).copied().unwrap_or('\\');
                self.at += 1;
                match escaped {
                    'd' => "7".to_owned(),
                    'w' | 'S' => "x".to_owned(),
                    's' => " ".to_owned(),
                    'b' => String::new(),
                    other => other.to_string(),
                }
            }
            other => other.to_string(),
        };
        match self.chars.get(self.at) {
            Some('*' | '+') => {
                self.at += 1;
                piece
            }
            Some('?') => {
                self.at += 1;
                piece
            }
            Some('{') => {
                let count: String =
                    self.chars[self.at + 1..].iter().take_while(|c| c.is_ascii_digit()).collect();
                while self.chars.get(self.at).is_some_and(|c| *c != '}') {
                    self.at += 1;
                }
                self.at += 1;
                piece.repeat(count.parse::<usize>().unwrap_or(1).min(64))
            }
            _ => piece,
        }
    }

    /// A group without the marks of its kind. What looks ahead or behind gives nothing.
    fn group(&mut self) -> String {
        if self.chars.get(self.at) != Some(&'?') {
            return self.alternatives();
        }
        let looks = matches!(self.chars.get(self.at + 1), Some('=' | '!'))
            || matches!(self.chars.get(self.at + 2), Some('=' | '!'));
        while self.chars.get(self.at).is_some_and(|c| !matches!(c, ':' | '>' | '=' | '!' | ')')) {
            self.at += 1;
        }
        if self.chars.get(self.at) != Some(&')') {
            self.at += 1;
        }
        let inner = self.alternatives();
        if looks { String::new() } else { inner }
    }

    fn class(&mut self) -> String {
        let negated = self.chars.get(self.at) == Some(&'^');
        let mut members = Vec::new();
        while let Some(&c) = self.chars.get(self.at) {
            self.at += 1;
            if c == ']' && !members.is_empty() {
                break;
            }
            members.push(c);
        }
        if negated {
            let free = ['x', '7', '-', '_'].into_iter().find(|c| !members.contains(c));
            return free.unwrap_or('x').to_string();
        }
        match members.first() {
            Some('\\') if members.get(1) == Some(&'d') => "7".to_owned(),
            Some('\\') if members.get(1) == Some(&'w') => "x".to_owned(),
            Some('\\') => members.get(1).unwrap_or(&'x').to_string(),
            Some(first) => first.to_string(),
            None => String::new(),
        }
    }
}

/// A path that fits a glob of rules: each `*` and `**` becomes `x`, and at the end nothing.
pub fn sample_glob(glob: &str) -> String {
    let path = glob.trim_end_matches('*').replace("**", "*").replace('*', "x");
    if path.starts_with('/') { path } else { format!("/{path}") }
}

/// Host names that fit a host pattern: itself, and for a wildcard or a leading dot a name below it.
pub fn sample_hosts(pattern: &str) -> Vec<String> {
    let whole = |name: &str| {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
        let good = name.contains(|c: char| c.is_ascii_alphabetic()) && name.chars().all(fits);
        good.then(|| name.to_ascii_lowercase())
    };
    if let Some(expression) = pattern.strip_prefix('~') {
        return whole(&sample_expression(expression)).into_iter().collect();
    }
    if let Some(rest) = pattern.strip_prefix("*.") {
        return whole(&format!("below.{rest}")).into_iter().collect();
    }
    if let Some(rest) = pattern.strip_prefix('.') {
        return [whole(rest), whole(&format!("below.{rest}"))].into_iter().flatten().collect();
    }
    let name = pattern.replace('*', "any");
    whole(&name).filter(|name| !name.starts_with(['-', '.'])).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_globs_and_hosts_have_samples() {
        for (expression, sample) in [
            (r"^/rooms/[0-9]+$", "/rooms/0"),
            (r"\.(css|js|png)$", ".css"),
            (r"^/(?<id>[0-9]+)/x(?=y)", "/0/x"),
            (r"^b[0-9]+\.example$", "b0.example"),
            (r"^/feed/(.*)$", "/feed/x"),
            (r"(?i)^/a(?:b|c)?\d{3}", "/ab777"),
            (r"^/[^/]+/y", "/x/y"),
            ("(", ""),
            ("[", ""),
            ("a{", "a"),
        ] {
            assert_eq!(sample_expression(expression), sample, "{expression}");
        }
        assert_eq!(sample_glob("/**.css"), "/x.css");
        assert_eq!(sample_glob("/admin*"), "/admin");
        assert_eq!(sample_hosts("*.wiki.example"), ["below.wiki.example"]);
        assert_eq!(sample_hosts(".blog.example"), ["blog.example", "below.blog.example"]);
        assert_eq!(sample_hosts("~^b[0-9]+\\.example$"), ["b0.example"]);
        assert_eq!(sample_hosts("_"), Vec::<String>::new());
    }
}
