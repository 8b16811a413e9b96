//! The comparison of an `if`, as a condition.

use crate::condition::RuleCondition;

use super::compared_value::{ComparedValue, unknown};
use super::defined::{DefinedVariables, VariablePlace};
use super::match_condition::{match_condition, truth_condition};
use super::value_branch::fold_condition;
use super::variables::{only_variable, replace_variable, variable_names};

/// The words of an `if` without the surrounding parentheses.
pub fn if_words(args: &[String]) -> Vec<&str> {
    let mut words: Vec<&str> = args.iter().map(String::as_str).collect();
    if let Some(first) = words.first_mut() {
        *first = first.strip_prefix('(').unwrap_or(first);
        if first.is_empty() {
            words.remove(0);
        }
    }
    if let Some(last) = words.last_mut() {
        *last = last.strip_suffix(')').unwrap_or(last);
        // An empty text that is compared stands before the parenthesis.
        if last.is_empty() {
            words.pop();
        }
    }
    words
}

/// A comparison with its parts.
struct Comparison<'w> {
    value: &'w str,
    /// `None`: whether the value is neither empty nor `0`.
    pattern: Option<ComparedValue>,
    negated: bool,
}

/// The condition of an `if`. `Unknown` stands where it cannot be expressed.
pub fn if_condition(
    words: &[&str],
    variables: &DefinedVariables<'_>,
    place: VariablePlace<'_>,
) -> RuleCondition {
    if let Some(is_negated) = requested_file(words) {
        return RuleCondition::Is(is_negated);
    }
    let Some(comparison) = comparison(words, place) else {
        return unknown("only values are compared, not files");
    };
    let Some(branches) = variables.expand(comparison.value, place) else {
        return unknown("its variable has too many values");
    };
    for name in variable_names(comparison.value) {
        if branches.iter().any(|branch| branch.when.unknown().is_none() && branch.value.is_some()) {
            variables.mark_used(name);
        }
    }
    let not_known = unknown("the compared value is not known");
    fold_condition(&branches, &not_known, |value| {
        let found = compare(value, comparison.pattern.as_ref(), place);
        if comparison.negated { found.negate() } else { found }
    })
}

/// Whether the comparison asks for the file that the client asks for. No file is served, so that none is there. Returns
/// whether the comparison is negated.
pub fn requested_file(words: &[&str]) -> Option<bool> {
    let [operator, path] = *words else { return None };
    let asked = ["$request_filename", "$uri", "$document_uri", "$request_uri"];
    let is_test = matches!(operator.trim_start_matches('!'), "-f" | "-d" | "-e" | "-x");
    (is_test && asked.iter().any(|one| path.contains(one))).then(|| operator.starts_with('!'))
}

fn comparison<'w>(words: &[&'w str], place: VariablePlace<'_>) -> Option<Comparison<'w>> {
    let (value, operator, text) = match *words {
        [value, operator @ ("=" | "!=" | "~" | "~*" | "!~" | "!~*"), text] => {
            (value, operator, text)
        }
        [value] => (value, "", ""),
        _ => return None,
    };
    if !value.starts_with('$') {
        return None;
    }
    let pattern = match operator {
        "" => None,
        "=" | "!=" => {
            let text = place.fill_constants(text);
            if text.contains('$') {
                return None;
            }
            Some(ComparedValue::exact(&text))
        }
        _ => Some(ComparedValue::Search {
            expression: text.to_owned(),
            ignore_case: operator.ends_with('*'),
        }),
    };
    Some(Comparison { value, pattern, negated: operator.starts_with('!') })
}

/// Compares a value of which only variables of the request are left.
fn compare(
    value: &str,
    pattern: Option<&ComparedValue>,
    place: VariablePlace<'_>,
) -> RuleCondition {
    let value = place.fill_constants(value);
    if !value.contains('$') {
        return match pattern {
            None => RuleCondition::Is(!matches!(value.as_str(), "" | "0")),
            Some(pattern) => match pattern.matches(&value) {
                Some(matches) => RuleCondition::Is(matches),
                None => unknown("the expression is one that only PCRE reads, or too long"),
            },
        };
    }
    if is_longer_than_zero(&value) {
        // A text with something fixed in it is neither empty nor `0`.
        match pattern {
            None => return RuleCondition::Is(true),
            Some(ComparedValue::Text { text, .. }) if matches!(text.as_str(), "" | "0") => {
                return RuleCondition::Is(false);
            }
            Some(_) => {}
        }
    }
    let name = place.compared_variable(&value).filter(|_| only_variable(&value).is_some());
    match (name, pattern) {
        (Some(name), Some(pattern)) => match_condition(name, pattern),
        (Some(name), None) => truth_condition(name),
        (None, _) => unknown("a value that is put together is not compared"),
    }
}

/// Whether a text has another fixed part than `0`.
fn is_longer_than_zero(text: &str) -> bool {
    let mut fixed = text.to_owned();
    for name in variable_names(text) {
        fixed = replace_variable(&fixed, name, "");
    }
    !matches!(fixed.as_str(), "" | "0") && !fixed.contains('$')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parentheses_are_no_part_of_the_words() {
        for (args, words) in [
            (&["($a", "=", "b)"][..], &["$a", "=", "b"][..]),
            (&["($a)"], &["$a"]),
            (&["(", "$a", "=", "", ")"], &["$a", "=", ""]),
            (&["($a", "~", "^(b|c)$)"], &["$a", "~", "^(b|c)$"]),
        ] {
            let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
            assert_eq!(if_words(&args), words);
        }
    }
}
