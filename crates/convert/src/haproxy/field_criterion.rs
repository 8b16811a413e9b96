//! Criteria of HAProxy about fields, cookies and parameters of a request.

use crate::condition::{RuleCondition, whole_path};
use crate::notes::UnsupportedReason;
use crate::value;

use super::criterion_parts::{CriterionParts, MatchMethod};

/// A condition on a field, a cookie or a parameter. `separator`: between its name and its value.
///
/// # Errors
/// It is compared in a way that cannot be expressed.
pub fn named_field(
    key: &'static str,
    separator: &str,
    parts: &CriterionParts<'_>,
) -> Result<RuleCondition, UnsupportedReason> {
    let name = parts.argument.split(',').next().unwrap_or_default();
    if name.is_empty() {
        return Err(UnsupportedReason::new("it has no name", ""));
    }
    if parts.how == MatchMethod::Present {
        return Ok(RuleCondition::texts(key, &[name]));
    }
    if (key, parts.how) == ("header-list", MatchMethod::Regex) {
        return element_expressions(name, parts);
    }
    let mut texts = Vec::new();
    for value in &parts.values {
        let plain = value.replace('\\', "\\\\").replace('*', "\\*").replace('?', "\\?");
        let value = match parts.how {
            MatchMethod::Exact | MatchMethod::Text => plain,
            MatchMethod::Prefix => format!("{plain}*"),
            MatchMethod::Suffix => format!("*{plain}"),
            MatchMethod::Contains => format!("*{plain}*"),
            MatchMethod::Regex if key == "header" => whole_path(value, parts.ignore_case),
            _ => {
                return Err(UnsupportedReason::new(
                    "fields, cookies and parameters are not compared so",
                    "`*` in the value, or match at the servers",
                ));
            }
        };
        texts.push(value::quote(&format!("{name}{separator}{value}")));
    }
    Ok(match (parts.how, parts.ignore_case) {
        (MatchMethod::Regex, _) => RuleCondition::Key("header-regex", texts),
        (_, true) => RuleCondition::AnyCase(key, texts),
        (_, false) => RuleCondition::Key(key, texts),
    })
}

/// An expression of one element of a list, as one of the field's whole value.
struct ElementExpression {
    text: String,
    /// Values that it fits certainly have such an element.
    is_exact: bool,
}

/// A condition that an element of a field fits one of the expressions: all that may is compared, and the rest unknown.
fn element_expressions(
    name: &str,
    parts: &CriterionParts<'_>,
) -> Result<RuleCondition, UnsupportedReason> {
    let why = || {
        UnsupportedReason::new(
            "elements of a field are not held against such an expression",
            "`header-regex`, which sees the whole value",
        )
    };
    let mut texts = Vec::new();
    let mut is_exact = true;
    for value in &parts.values {
        let ElementExpression { text, is_exact: exact } =
            element_expression(value).ok_or_else(why)?;
        is_exact &= exact;
        let case = if parts.ignore_case { "(?i)" } else { "" };
        texts.push(value::quote(&format!("{name}: {case}{text}")));
    }
    let whole = RuleCondition::Key("header-regex", texts);
    Ok(if is_exact { whole } else { whole.and(RuleCondition::Unknown(why())) })
}

/// The expression of the values that have an element in which this one is found; `None`: it looks around, or at the
/// beginning or the end of an element, in one of several alternatives.
fn element_expression(value: &str) -> Option<ElementExpression> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " -_/()|:;".contains(c);
    let mut core = value.strip_prefix('^').unwrap_or(value);
    let mut begin = if core.len() < value.len() { "(?:.*,)?[ \t]*" } else { ".*" };
    if let Some(rest) = core.strip_prefix(".*") {
        core = rest;
        begin = ".*";
    }
    let mut end = ".*";
    if let Some(rest) = core.strip_suffix('$').filter(|rest| !rest.ends_with('\\')) {
        core = rest;
        end = "[ \t]*(?:,.*)?";
    }
    if let Some(rest) = core.strip_suffix(".*").filter(|rest| !rest.ends_with('\\')) {
        core = rest;
        end = ".*";
    }
    let bare = core.replace("\\^", "").replace("\\$", "").replace("[^", "");
    let in_alternatives =
        core.contains('|') && !core.starts_with('(') && (begin != ".*" || end != ".*");
    if core.contains("(?") || bare.contains(['^', '$']) || in_alternatives {
        return None;
    }
    let is_exact =
        core.replace("\\.", "").replace("\\-", "").replace("\\/", "").chars().all(is_plain);
    Some(ElementExpression { text: format!("{begin}(?:{core}){end}"), is_exact })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_of_an_element_becomes_one_of_the_value() {
        for (expression, expected, is_exact) in [
            ("curl", Some(".*(?:curl).*"), true),
            ("^.*(curl|wget).*$", Some(".*(?:(curl|wget)).*"), true),
            ("^curl", Some("(?:.*,)?[ \t]*(?:curl).*"), true),
            ("bot$", Some(".*(?:bot)[ \t]*(?:,.*)?"), true),
            ("a.b", Some(".*(?:a.b).*"), false),
            ("a\\.b", Some(".*(?:a\\.b).*"), true),
            ("a,b", Some(".*(?:a,b).*"), false),
            ("[^a]b", Some(".*(?:[^a]b).*"), false),
            ("^a|b$", None, false),
            ("(^a|b)", None, false),
            ("a(?!b)", None, false),
        ] {
            let found = element_expression(expression);
            assert_eq!(found.as_ref().map(|one| one.text.as_str()), expected, "{expression}");
            assert_eq!(found.is_some_and(|one| one.is_exact), is_exact, "{expression}");
        }
    }
}
