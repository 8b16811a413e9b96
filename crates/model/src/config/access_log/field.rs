//! A field of the access log as the configuration names it: a variable, a field of the request, or a cookie.

use serde::{Serialize, Serializer};

use super::variable::LogVariable;

/// Most fields of one line.
pub const MAX_LOG_FIELDS: usize = 64;

/// A field, by its name in the configuration and in the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessLogField {
    name: String,
    pub source: LogSource,
}

/// What a field of a line stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogSource {
    /// Everything that a line has without being asked.
    Default,
    Variable(LogVariable),
    /// A field of the request, lower case.
    Header(String),
    /// A cookie of the request.
    Cookie(String),
}

impl LogSource {
    /// The field of the request whose value it is, lower case.
    pub fn request_field(&self) -> Option<&str> {
        match self {
            LogSource::Header(name) => Some(name),
            LogSource::Variable(variable) => variable.request_field(),
            LogSource::Cookie(_) | LogSource::Default => None,
        }
    }
}

impl AccessLogField {
    /// Reads a name; `None`: there is no such field.
    pub fn parse(name: &str) -> Option<AccessLogField> {
        let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&*+-.^_|~".contains(&byte);
        let is_token = |text: &&str| (1..=64).contains(&text.len()) && text.bytes().all(token);
        let source = if name == "default" {
            LogSource::Default
        } else if let Some(field) = name.strip_prefix("header.") {
            LogSource::Header(Some(field).filter(is_token)?.to_ascii_lowercase())
        } else if let Some(cookie) = name.strip_prefix("cookie.") {
            LogSource::Cookie(Some(cookie).filter(is_token)?.to_owned())
        } else {
            LogSource::Variable(LogVariable::from_name(name)?)
        };
        Some(AccessLogField { name: name.to_owned(), source })
    }

    /// The two fields of the request that the combined log format has, in its order.
    pub fn combined() -> [AccessLogField; 2] {
        [LogVariable::Referer, LogVariable::UserAgent].map(AccessLogField::of)
    }

    /// The fields of the request that a line of CEF has, in the order of the writer.
    pub fn cef() -> [AccessLogField; 3] {
        [LogVariable::Host, LogVariable::UserAgent, LogVariable::Referer].map(AccessLogField::of)
    }

    fn of(variable: LogVariable) -> AccessLogField {
        let source = LogSource::Variable(variable);
        AccessLogField { name: variable.name().to_owned(), source }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether a line has it by `default` in any case. The host and the peer of the connection stand there only where
    /// something was the matter with them.
    pub fn is_in_default(&self) -> bool {
        matches!(self.source, LogSource::Variable(variable) if variable.is_default()
            && !matches!(variable, LogVariable::Host | LogVariable::Connection))
    }
}

impl Serialize for AccessLogField {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_list_or_of_one_field_or_cookie() {
        for variable in LogVariable::ALL {
            let field = AccessLogField::parse(variable.name()).unwrap();
            assert_eq!(field.source, LogSource::Variable(*variable));
        }
        for name in ["default", "header.X-A", "cookie.s_1"] {
            assert_eq!(AccessLogField::parse(name).unwrap().name(), name);
        }
        for name in ["", "Host", "header", "header.", "header.a b", "cookie.", "cookie.a=b", "x.y"]
        {
            assert_eq!(AccessLogField::parse(name), None, "{name}");
        }
        let long = format!("header.{}", "a".repeat(65));
        assert_eq!(AccessLogField::parse(&long), None);
    }
}
