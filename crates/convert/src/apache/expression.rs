//! The expression of `<If>`, where it compares one variable with one text or pattern.
//!
//! Functions, lists and expressions of several parts are not read.

use crate::condition::RuleCondition;

use super::client_networks::ProxyTrust;
use super::rewrite_condition::compare_variable;

/// The condition of an expression at a port. `None`: it is none that is read.
pub fn read(expression: &str, port: u16, trust: &ProxyTrust) -> Option<RuleCondition> {
    let expression = expression.trim();
    let end = expression.find('}')? + 1;
    let variable = &expression[..end];
    let rest = expression[end..].trim_start();
    let operator = ["=~", "!~", "==", "!="].into_iter().find(|one| rest.starts_with(one))?;
    let operand = rest[operator.len()..].trim();
    let compared = match operator.ends_with('~') {
        true => {
            let pattern = ComparedPattern::read(operand)?;
            compare_variable(variable, pattern.text, pattern.ignores_case, port)
        }
        false => compare_variable(variable, &format!("={}", read_text(operand)?), false, port),
    };
    let bound = if variable == "%{REMOTE_ADDR}" { trust.bound(compared) } else { compared };
    let condition = if operator.starts_with('!') { bound.negate() } else { bound };
    condition.unknown().is_none().then_some(condition)
}

/// A pattern between slashes, or between another delimiter behind the letter m.
struct ComparedPattern<'t> {
    text: &'t str,
    ignores_case: bool,
}

impl<'t> ComparedPattern<'t> {
    fn read(operand: &'t str) -> Option<ComparedPattern<'t>> {
        let body = operand.strip_prefix('m').unwrap_or(operand);
        let delimiter = body.chars().next().filter(|c| "/#|".contains(*c))?;
        let end = body.rfind(delimiter).filter(|end| *end > 1)?;
        let text = &body[1..end];
        let flags = &body[end + 1..];
        let is_one = !text.contains(delimiter) && matches!(flags, "" | "i");
        is_one.then_some(ComparedPattern { text, ignores_case: flags == "i" })
    }
}

/// A text between quotes, without variables.
fn read_text(operand: &str) -> Option<&str> {
    let quote = operand.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let text = operand[1..].strip_suffix(quote)?;
    (!text.contains([quote, '%', '\\'])).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_comparison_is_read_and_nothing_else() {
        for (expression, is_read) in [
            ("%{HTTP_USER_AGENT} =~ /bad/", true),
            ("%{HTTP_USER_AGENT} !~ m#bad/x#i", true),
            ("%{REQUEST_METHOD} == 'POST'", true),
            ("%{HTTP_HOST} != \"a.example\"", true),
            ("%{HTTP_USER_AGENT} =~ /a/ && %{REQUEST_URI} =~ /b/", false),
            ("%{HTTP_HOST} == 'a' || true", false),
            ("%{HTTP_HOST} == '%{SERVER_NAME}'", false),
            ("%{ENV:x} == 'a'", false),
            ("-R '10.0.0.0/8'", false),
            ("%{HTTP_HOST} -in {'a'}", false),
            ("", false),
        ] {
            assert_eq!(
                read(expression, 80, &ProxyTrust::Nobody).is_some(),
                is_read,
                "{expression}"
            );
        }
    }
}
