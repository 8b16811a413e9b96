//! The metrics, labels and values that a PromQL expression names. This module evaluates nothing, and reports only names
//! where no name may occur.

use std::collections::BTreeSet;

/// A metric that an expression selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricSelector {
    pub name: String,
    /// Labels and the values they are compared with. `a|b` gives two values.
    pub matchers: Vec<(String, Vec<String>)>,
}

/// The names in an expression.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExpressionNames {
    pub selectors: Vec<MetricSelector>,
    /// Labels of an aggregation's `by`; the result keeps only these.
    pub by: BTreeSet<String>,
    /// Labels in `on`, by which the expression joins.
    pub on: BTreeSet<String>,
}

/// Functions and aggregations that may be used.
const CALLS: [&str; 17] = [
    "abs",
    "absent",
    "bottomk",
    "changes",
    "count",
    "histogram_quantile",
    "increase",
    "label_values",
    "max",
    "min",
    "rate",
    "sum",
    "time",
    "topk",
    "vector",
    "avg",
    "delta",
];
const WORDS: [&str; 5] = ["and", "or", "unless", "offset", "bool"];
const JOINS: [&str; 4] = ["on", "ignoring", "group_left", "group_right"];

/// Parses an expression and returns its names.
///
/// # Errors
///
/// The part that is not understood.
pub fn parse_expression(text: &str) -> Result<ExpressionNames, String> {
    let mut out = ExpressionNames::default();
    let mut rest = text;
    let mut depth = 0_i32;
    while let Some(first) = rest.chars().next() {
        let word: String =
            rest.chars().take_while(|c| c.is_ascii_alphanumeric() || "_:".contains(*c)).collect();
        if first.is_ascii_digit() {
            // A number, or a time such as 15m.
            rest = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '.');
        } else if !word.is_empty() {
            rest = rest[word.len()..].trim_start();
            if JOINS.contains(&word.as_str()) || word == "by" {
                let (labels, after) = inside(rest, '(', ')')?;
                let labels = labels.split(',').map(|label| label.trim().to_owned());
                let into = if word == "by" { &mut out.by } else { &mut out.on };
                into.extend(labels);
                rest = after;
            } else if !CALLS.contains(&word.as_str()) && !WORDS.contains(&word.as_str()) {
                let matchers = if rest.starts_with('{') {
                    let (all, after) = inside(rest, '{', '}')?;
                    rest = after;
                    matchers(all)?
                } else {
                    Vec::new()
                };
                out.selectors.push(MetricSelector { name: word, matchers });
            }
        } else if first == '{' {
            let (all, after) = inside(rest, '{', '}')?;
            rest = after;
            out.selectors.extend(named_selectors(matchers(all)?)?);
        } else if first == '[' {
            rest = inside(rest, '[', ']')?.1;
        } else if "()+-*/<>=!, \n".contains(first) {
            depth += i32::from(first == '(') - i32::from(first == ')');
            rest = &rest[1..];
        } else {
            return Err(format!("what is {rest}"));
        }
    }
    if depth == 0 { Ok(out) } else { Err(format!("brackets are not in pairs: {text}")) }
}

/// A selector for each name that `__name__` matches.
fn named_selectors(mut all: Vec<(String, Vec<String>)>) -> Result<Vec<MetricSelector>, String> {
    let at =
        all.iter().position(|(label, _)| label == "__name__").ok_or("a selector without a name")?;
    let (_, names) = all.remove(at);
    Ok(names.into_iter().map(|name| MetricSelector { name, matchers: all.clone() }).collect())
}

/// The text between the brackets, and the rest. A bracket inside quotes ends the text too, where no quotes are
/// expected.
fn inside(text: &str, open: char, close: char) -> Result<(&str, &str), String> {
    let wrong = || format!("{open} is missing or not closed: {text}");
    text.strip_prefix(open).ok_or_else(wrong)?.split_once(close).ok_or_else(wrong)
}

fn matchers(text: &str) -> Result<Vec<(String, Vec<String>)>, String> {
    let mut out = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let wrong = || format!("not a matcher: {rest}");
        let (label, after) = rest.split_once('"').ok_or_else(wrong)?;
        let (value, after) = after.split_once('"').ok_or_else(wrong)?;
        let label = label.trim_end_matches(['=', '~', '!']).trim();
        out.push((label.to_owned(), value.split('|').map(str::to_owned).collect()));
        rest = after.trim_start();
        rest = rest.strip_prefix(',').map_or(rest, str::trim_start);
    }
    Ok(out)
}

#[test]
fn names_are_distinguished_from_calls_words_and_labels() {
    let found = parse_expression("sum by (job, le) (rate(a_total{b=~\"c|d\", e!=\"f\"}[5m])) / on (job) (x:y:z > 0.5) or g offset 1h").unwrap();
    let names: Vec<&str> = found.selectors.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["a_total", "x:y:z", "g"]);
    let of = |label: &str, values: &[&str]| {
        (label.to_owned(), values.iter().map(|v| (*v).to_owned()).collect::<Vec<String>>())
    };
    assert_eq!(found.selectors[0].matchers, [of("b", &["c", "d"]), of("e", &["f"])]);
    assert_eq!(found.by.into_iter().collect::<Vec<_>>(), ["job", "le"]);
    assert_eq!(found.on.into_iter().collect::<Vec<_>>(), ["job"]);
    let found = parse_expression("label_values({__name__=~\"a|b\",c=\"$c\"}, d)").unwrap();
    let names: Vec<&str> = found.selectors.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "d"]);
    assert!(
        parse_expression("sum(a").is_err()
            && parse_expression("a{b}").is_err()
            && parse_expression("a ; b").is_err()
    );
}
