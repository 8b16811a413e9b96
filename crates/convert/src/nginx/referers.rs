//! `valid_referers`: the pages from which requests may come, as the values of `$invalid_referer`.

use crate::condition::{RuleCondition, escape_regex, whole_path};
use crate::expression_search;

use super::compared_value::unknown;
use super::tree::Directive;
use super::value_branch::{ValueBranch, merge_any};

pub const NAME: &str = "valid_referers";
/// The variable that the directive gives a value.
pub const VARIABLE: &str = "invalid_referer";

/// The scheme of a Referer that names a page.
const SCHEME: &str = "(?i)https?://";

/// The values of the variable, by the lines of one level. `None`: it has none.
pub fn branches(level: &[Directive]) -> Option<Vec<ValueBranch>> {
    let lines: Vec<&Directive> = level.iter().filter(|one| one.name == NAME).collect();
    if lines.is_empty() {
        return None;
    }
    lines.iter().for_each(|one| one.mark_converted());
    let words = lines.iter().flat_map(|one| one.args());
    let valid = merge_any(words.map(|word| valid(word)).collect());
    Some(vec![ValueBranch::new(valid, ""), ValueBranch::always("1")])
}

/// The requests that one word lets come.
fn valid(word: &str) -> RuleCondition {
    let referer = || RuleCondition::texts("header", &["referer"]);
    match word {
        "none" => referer().negate(),
        "blocked" => referer().and(matching(&format!("{SCHEME}.*")).negate()),
        "server_names" => unknown("the names of the server are not compared with the referer"),
        word => match word.strip_prefix('~') {
            Some(expression) if expression_search::search(expression, true, "").is_some() => {
                matching(&format!("{SCHEME}{}", whole_path(expression, false)))
            }
            Some(_) => unknown("the expression of a referer cannot be read"),
            None => matching(&page(word)),
        },
    }
}

fn matching(expression: &str) -> RuleCondition {
    RuleCondition::texts("header-regex", &[format!("referer: {expression}")])
}

/// The Referers of a host, which may begin or end with `*`, and of a beginning of a path behind it.
fn page(word: &str) -> String {
    let slash = word.find('/').unwrap_or(word.len());
    let (host, path) = word.split_at(slash);
    let label = "[^/:]+";
    let host = match (host.strip_prefix("*."), host.strip_prefix('.'), host.strip_suffix(".*")) {
        (Some(rest), _, _) => format!("{label}\\.{}", escape_regex(rest)),
        (_, Some(rest), _) => format!("(?:{label}\\.)?{}", escape_regex(rest)),
        (_, _, Some(rest)) => format!("{}\\.{label}", escape_regex(rest)),
        _ => escape_regex(host),
    };
    match path {
        "" => format!("{SCHEME}{host}(?:[:/].*)?"),
        path => format!("{SCHEME}{host}(?::[^/]*)?{}.*", escape_regex(path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_told_by_its_host_and_the_beginning_of_its_path() {
        for (word, referer, fits) in [
            ("a.example", "https://a.example", true),
            ("a.example", "http://A.example:8080/x", true),
            ("a.example", "http://a.example.evil.example/", false),
            ("a.example", "http://a.example@evil.example/", false),
            ("a.example", "http://evil.example/a.example", false),
            ("*.a.example", "http://www.a.example/", true),
            ("*.a.example", "http://a.example/", false),
            (".a.example", "http://a.example/", true),
            ("a.*", "http://a.example/", true),
            ("a.*", "http://b.a.example/", false),
            ("a.example/x/", "http://a.example:81/x/y", true),
            ("a.example/x/", "http://a.example/y", false),
        ] {
            let whole = format!("^(?:{})$", page(word));
            assert_eq!(
                expression_search::search(&whole, false, referer),
                Some(fits),
                "{word} {referer}"
            );
        }
    }
}
