//! The rule language of routers: matchers with arguments, `&&`, `||`, `!` and parentheses.

/// The deepest nesting of parentheses and `!`. It bounds the recursion on hostile input.
const DEEP: usize = 16;
/// The most matchers of one rule. A rule with more is left out.
const MATCHERS: usize = 256;

/// A rule as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleExpression {
    Match(MatcherCall),
    All(Vec<RuleExpression>),
    Any(Vec<RuleExpression>),
    Not(Box<RuleExpression>),
}

/// A matcher with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatcherCall {
    /// The name in small letters.
    pub name: String,
    pub arguments: Vec<String>,
}

impl RuleExpression {
    /// The matchers from left to right.
    pub fn matchers(&self) -> Vec<&MatcherCall> {
        match self {
            RuleExpression::Match(call) => vec![call],
            RuleExpression::Not(inner) => inner.matchers(),
            RuleExpression::All(parts) | RuleExpression::Any(parts) => {
                parts.iter().flat_map(RuleExpression::matchers).collect()
            }
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum RuleToken {
    Name(String),
    Text(String),
    Sign(&'static str),
}

/// Parses the rule of a router.
///
/// # Errors
/// What is wrong, as a part of a sentence.
pub fn parse_rule(text: &str) -> Result<RuleExpression, String> {
    let mut parser = RuleParser { tokens: tokenize(text)?, at: 0, matchers: 0 };
    let out = parser.any(0)?;
    match parser.peek() {
        None => Ok(out),
        Some(token) => Err(format!("{} is not expected there", describe(token))),
    }
}

fn tokenize(text: &str) -> Result<Vec<RuleToken>, String> {
    const SIGNS: [&str; 6] = ["&&", "||", "!", "(", ")", ","];
    let mut out = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        if let Some(sign) = SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
            out.push(RuleToken::Sign(sign));
            rest = &rest[sign.len()..];
        } else if first == '`' {
            let body = &rest[1..];
            let end = body.find('`').ok_or("a backtick is not closed")?;
            out.push(RuleToken::Text(body[..end].to_owned()));
            rest = &body[end + 1..];
        } else if first == '"' {
            let quoted = read_quoted(&rest[1..])?;
            rest = &rest[1 + quoted.bytes..];
            out.push(RuleToken::Text(quoted.text));
        } else if first.is_ascii_alphabetic() {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
            out.push(RuleToken::Name(rest[..end].to_ascii_lowercase()));
            rest = &rest[end..];
        } else {
            return Err(format!("`{}` is no part of a rule", first.escape_default()));
        }
        rest = rest.trim_start();
    }
    Ok(out)
}

/// A string in quotes: its text, and its bytes in the source with the closing quote.
struct QuotedText {
    text: String,
    bytes: usize,
}

/// Reads an interpreted string of Go after its opening quote.
fn read_quoted(rest: &str) -> Result<QuotedText, String> {
    let mut text = String::new();
    let mut chars = rest.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Ok(QuotedText { text, bytes: at + 1 }),
            '\\' => match chars.next().map(|(_, escaped)| escaped) {
                Some(c @ ('\\' | '"' | '\'')) => text.push(c),
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some('r') => text.push('\r'),
                _ => return Err("an escape in quotes is not known".to_owned()),
            },
            c => text.push(c),
        }
    }
    Err("a quote is not closed".to_owned())
}

fn describe(token: &RuleToken) -> String {
    match token {
        RuleToken::Name(name) => format!("`{name}`"),
        RuleToken::Text(text) => format!("the text `{text}`"),
        RuleToken::Sign(sign) => format!("`{sign}`"),
    }
}

struct RuleParser {
    tokens: Vec<RuleToken>,
    at: usize,
    matchers: usize,
}

impl RuleParser {
    fn peek(&self) -> Option<&RuleToken> {
        self.tokens.get(self.at)
    }

    fn take_sign(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Some(RuleToken::Sign(found)) if *found == sign);
        self.at += usize::from(found);
        found
    }

    fn any(&mut self, depth: usize) -> Result<RuleExpression, String> {
        let first = self.all(depth)?;
        let mut parts = vec![first];
        while self.take_sign("||") {
            parts.push(self.all(depth)?);
        }
        Ok(one_or(parts, RuleExpression::Any))
    }

    fn all(&mut self, depth: usize) -> Result<RuleExpression, String> {
        let first = self.single(depth)?;
        let mut parts = vec![first];
        while self.take_sign("&&") {
            parts.push(self.single(depth)?);
        }
        Ok(one_or(parts, RuleExpression::All))
    }

    fn single(&mut self, depth: usize) -> Result<RuleExpression, String> {
        if depth > DEEP {
            return Err(format!("it nests deeper than {DEEP}"));
        }
        if self.take_sign("!") {
            return Ok(RuleExpression::Not(Box::new(self.single(depth + 1)?)));
        }
        if self.take_sign("(") {
            let inner = self.any(depth + 1)?;
            return match self.take_sign(")") {
                true => Ok(inner),
                false => Err("a parenthesis is not closed".to_owned()),
            };
        }
        let name = match self.peek() {
            Some(RuleToken::Name(name)) => name.clone(),
            Some(token) => {
                return Err(format!("{} stands where a matcher belongs", describe(token)));
            }
            None => return Err("it ends where a matcher belongs".to_owned()),
        };
        self.at += 1;
        self.matchers += 1;
        if self.matchers > MATCHERS {
            return Err(format!("it has more than {MATCHERS} matchers"));
        }
        let arguments = self.arguments(&name)?;
        Ok(RuleExpression::Match(MatcherCall { name, arguments }))
    }

    fn arguments(&mut self, name: &str) -> Result<Vec<String>, String> {
        if !self.take_sign("(") {
            return Err(format!("`{name}` has no arguments"));
        }
        let mut out = Vec::new();
        loop {
            match self.peek() {
                Some(RuleToken::Text(text)) => out.push(text.clone()),
                _ => {
                    return Err(format!(
                        "an argument of `{name}` is no text in backticks or quotes"
                    ));
                }
            }
            self.at += 1;
            if self.take_sign(")") {
                return Ok(out);
            }
            if !self.take_sign(",") {
                return Err(format!("the arguments of `{name}` are not closed"));
            }
        }
    }
}

fn one_or(
    mut parts: Vec<RuleExpression>,
    join: fn(Vec<RuleExpression>) -> RuleExpression,
) -> RuleExpression {
    match (parts.len(), parts.pop()) {
        (1, Some(only)) => only,
        (_, last) => {
            parts.extend(last);
            join(parts)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, arguments: &[&str]) -> RuleExpression {
        let arguments = arguments.iter().map(|&one| one.to_owned()).collect();
        RuleExpression::Match(MatcherCall { name: name.to_owned(), arguments })
    }

    #[test]
    fn rules_are_read_with_the_precedence_of_their_operators() {
        let a = || call("host", &["a"]);
        let b = || call("path", &["/b"]);
        let c = || call("header", &["k", "v"]);
        for (text, expected) in [
            ("Host(`a`)", a()),
            ("host(\"a\")", a()),
            ("Host(`a`) || Path(`/b`) && Header(`k`, `v`)", {
                RuleExpression::Any(vec![a(), RuleExpression::All(vec![b(), c()])])
            }),
            ("(Host(`a`) || Path(`/b`)) && !Header(`k`,`v`)", {
                let any = RuleExpression::Any(vec![a(), b()]);
                RuleExpression::All(vec![any, RuleExpression::Not(Box::new(c()))])
            }),
            ("Path(\"/a\\\\.b\\\"\")", call("path", &["/a\\.b\""])),
        ] {
            assert_eq!(parse_rule(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_rule_is_refused_with_a_reason() {
        let deep = format!("{}Host(`a`){}", "(".repeat(40), ")".repeat(40));
        let long = vec!["Host(`a`)"; 300].join(" || ");
        for (text, reason) in [
            ("", "ends"),
            ("Host(`a`", "not closed"),
            ("Host(`a", "backtick"),
            ("Host('a')", "no part"),
            ("Host(\"a", "quote"),
            ("Host(\"\\q\")", "escape"),
            ("Host", "no arguments"),
            ("Host()", "no text"),
            ("Host(`a`) Host(`b`)", "not expected"),
            ("&& Host(`a`)", "matcher"),
            (&deep, "deeper"),
            (&long, "more than"),
        ] {
            let found = parse_rule(text).unwrap_err();
            assert!(found.contains(reason), "{text}: {found}");
        }
    }
}
