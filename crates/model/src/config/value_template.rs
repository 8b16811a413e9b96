//! Texts with variables that are filled from a request: values of fields that a rule writes.
//!
//! Every part comes from a head that the codec accepted, or from the connection, so that nothing in it can end a line.

use std::io::Write;
use std::net::SocketAddr;

use super::suggestion::nearest_match;
use crate::request_head::ParsedHead;

/// Bytes that variables may put into one head, all together.
pub const MAX_VALUE_BYTES: usize = 16 * 1_024;

const NAMES: [&str; 8] =
    ["client", "client-port", "client-chain", "scheme", "host", "host-name", "port", "sni"];

/// The beginning of the variables that stand for fields.
const FIELD: &str = "header.";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueTemplate(Vec<ValuePart>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum ValuePart {
    Text(String),
    Client,
    ClientPort,
    ClientChain,
    Scheme,
    Host,
    HostName,
    Port,
    Sni,
    /// A field of this name, lower case.
    Field(String),
}

/// Why a text is no template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueTemplateError {
    #[error("a `{{` begins a variable, and no `}}` ends it")]
    Open,
    #[error("there is no variable `{{{0}}}`")]
    Unknown(String),
}

/// What variables stand for.
#[derive(Clone, Copy, Debug)]
pub struct RequestFacts<'a> {
    pub client: SocketAddr,
    /// The port that the client reached.
    pub port: u16,
    pub scheme: &'static str,
    /// The server name that a TLS client requested.
    pub sni: Option<&'a str>,
    /// What the client sent as X-Forwarded-For, joined.
    pub forwarded_for: &'a [u8],
    pub head: &'a ParsedHead<'a>,
}

/// The bytes that variables may still put into a head.
#[derive(Clone, Copy, Debug)]
pub struct ValueBudget(usize);

impl Default for ValueBudget {
    fn default() -> ValueBudget {
        ValueBudget(MAX_VALUE_BYTES)
    }
}

impl ValueBudget {
    /// Takes bytes of a value; `None`: fewer are left.
    pub fn take(&mut self, bytes: usize) -> Option<()> {
        self.0 = self.0.checked_sub(bytes)?;
        Some(())
    }
}

impl ValueTemplate {
    /// Reads a text in which `{NAME}` is a variable and `{{` a brace.
    ///
    /// # Errors
    /// A variable that does not exist, or that does not end.
    pub fn parse(text: &str) -> Result<ValueTemplate, ValueTemplateError> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            plain.push_str(before);
            if let Some(after) = after.strip_prefix('{') {
                plain.push('{');
                rest = after;
                continue;
            }
            let (name, after) = after.split_once('}').ok_or(ValueTemplateError::Open)?;
            if !plain.is_empty() {
                parts.push(ValuePart::Text(std::mem::take(&mut plain)));
            }
            parts.push(ValuePart::parse(name)?);
            rest = after;
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(ValuePart::Text(plain));
        }
        Ok(ValueTemplate(parts))
    }

    /// The text, if it has no variables.
    pub fn literal(&self) -> Option<&str> {
        match self.0.as_slice() {
            [] => Some(""),
            [ValuePart::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Whether it needs what the client sent as X-Forwarded-For.
    pub fn wants_forwarded_for(&self) -> bool {
        self.0.contains(&ValuePart::ClientChain)
    }

    /// Appends it with its variables filled, without blanks around it; `None`: the budget is used up.
    pub fn fill(
        &self,
        facts: &RequestFacts<'_>,
        budget: &mut ValueBudget,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        let begin = out.len();
        for part in &self.0 {
            part.write(facts, out);
        }
        budget.take(out.len() - begin)?;
        let blanks = out[begin..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        out.drain(begin..begin + blanks);
        while out.len() > begin && out.last().is_some_and(u8::is_ascii_whitespace) {
            out.pop();
        }
        Some(())
    }
}

impl ValuePart {
    fn parse(name: &str) -> Result<ValuePart, ValueTemplateError> {
        let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        Ok(match name {
            "client" => ValuePart::Client,
            "client-port" => ValuePart::ClientPort,
            "client-chain" => ValuePart::ClientChain,
            "scheme" => ValuePart::Scheme,
            "host" => ValuePart::Host,
            "host-name" => ValuePart::HostName,
            "port" => ValuePart::Port,
            "sni" => ValuePart::Sni,
            _ => match name.strip_prefix(FIELD) {
                Some(field) if !field.is_empty() && field.bytes().all(token) => {
                    ValuePart::Field(field.to_ascii_lowercase())
                }
                _ => return Err(ValueTemplateError::Unknown(name.to_owned())),
            },
        })
    }

    fn write(&self, facts: &RequestFacts<'_>, out: &mut Vec<u8>) {
        match self {
            ValuePart::Text(text) => out.extend_from_slice(text.as_bytes()),
            ValuePart::Client => write_client(facts, out),
            ValuePart::ClientPort => write_port(facts.client.port(), out),
            ValuePart::ClientChain => {
                if !facts.forwarded_for.is_empty() {
                    out.extend_from_slice(facts.forwarded_for);
                    out.extend_from_slice(b", ");
                }
                write_client(facts, out);
            }
            ValuePart::Scheme => out.extend_from_slice(facts.scheme.as_bytes()),
            ValuePart::Host => out.extend_from_slice(facts.head.authority()),
            ValuePart::HostName => {
                out.extend(facts.head.host_as_written().iter().map(u8::to_ascii_lowercase));
            }
            ValuePart::Port => write_port(facts.port, out),
            ValuePart::Sni => out.extend_from_slice(facts.sni.unwrap_or_default().as_bytes()),
            ValuePart::Field(name) => {
                let between: &[u8] = if name == "cookie" { b"; " } else { b", " };
                join_values(facts.head.field(name.as_bytes()), between, out);
            }
        }
    }
}

/// Appends the values that are not empty, with this between them. Stops behind what no value may have.
pub fn join_values<'v>(values: impl Iterator<Item = &'v [u8]>, between: &[u8], out: &mut Vec<u8>) {
    let begin = out.len();
    for value in values.filter(|value| !value.is_empty()) {
        if out.len() > begin {
            out.extend_from_slice(between);
        }
        out.extend_from_slice(value);
        if out.len() - begin > MAX_VALUE_BYTES {
            return;
        }
    }
}

fn write_client(facts: &RequestFacts<'_>, out: &mut Vec<u8>) {
    // Writing into a vector cannot fail.
    let _ = write!(out, "{}", facts.client.ip().to_canonical());
}

fn write_port(port: u16, out: &mut Vec<u8>) {
    // Writing into a vector cannot fail.
    let _ = write!(out, "{port}");
}

/// The variable that a name was probably meant as.
pub fn nearest_variable(name: &str) -> Option<&'static str> {
    nearest_match(name, NAMES)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &[u8] =
        b"GET / HTTP/1.1\r\nHost: Shop.Example:8080\r\nX-A: 1\r\nx-a: \r\nX-A: 2\r\n\
        Cookie: a=1\r\nCookie: b=2\r\n\r\n";

    fn filled(text: &str, forwarded_for: &[u8]) -> Option<String> {
        let head = ParsedHead::new(HEAD, 3, 4..5);
        let facts = RequestFacts {
            client: "[::ffff:192.0.2.9]:4711".parse().unwrap(),
            port: 8443,
            scheme: "https",
            sni: None,
            forwarded_for,
            head: &head,
        };
        let mut out = b"X: ".to_vec();
        let template = ValueTemplate::parse(text).unwrap();
        template.fill(&facts, &mut ValueBudget::default(), &mut out)?;
        Some(String::from_utf8(out).unwrap().split_off(3))
    }

    #[test]
    fn variables_are_filled() {
        for (text, want) in [
            ("plain", "plain"),
            ("{client}:{client-port}", "192.0.2.9:4711"),
            ("{scheme}://{host-name}:{port}/", "https://shop.example:8443/"),
            ("{host}", "Shop.Example:8080"),
            ("{header.X-A}", "1, 2"),
            ("{header.cookie}", "a=1; b=2"),
            ("{sni}", ""),
            (" {sni} {header.x-none} ", ""),
            ("a {sni} b", "a  b"),
            ("{{client}} }", "{client}} }"),
            ("{{{client}}", "{192.0.2.9}"),
            ("{client-chain}", "192.0.2.9"),
        ] {
            assert_eq!(filled(text, b"").as_deref(), Some(want), "{text}");
        }
        let chain = filled("{client-chain}", b"198.51.100.1, x");
        assert_eq!(chain.as_deref(), Some("198.51.100.1, x, 192.0.2.9"));
    }

    #[test]
    fn what_is_no_variable_is_named_and_literal_text_is_known() {
        use ValueTemplateError::{Open, Unknown};
        for (text, want) in [
            ("{client", Open),
            ("a{", Open),
            ("{}", Unknown(String::new())),
            ("{Client}", Unknown("Client".into())),
            ("{header.}", Unknown("header.".into())),
            ("{header.a b}", Unknown("header.a b".into())),
            ("{\"a\":1}", Unknown("\"a\":1".into())),
            ("{{{{{x}", Unknown("x".into())),
        ] {
            assert_eq!(ValueTemplate::parse(text), Err(want), "{text}");
        }
        let literal = |text: &str| ValueTemplate::parse(text).unwrap().literal().map(str::to_owned);
        assert_eq!(literal("{{\"a\":1}"), Some("{\"a\":1}".to_owned()));
        assert_eq!((literal(""), literal("{sni}")), (Some(String::new()), None));
    }

    #[test]
    fn what_variables_may_write_is_bounded() {
        assert!(filled("{client-chain}", &b"a".repeat(MAX_VALUE_BYTES - 11)).is_some());
        assert_eq!(filled("{client-chain}", &b"a".repeat(MAX_VALUE_BYTES - 10)), None);
        assert_eq!(filled("{client-chain}{client-chain}", &b"a".repeat(9_000)), None);
    }
}
