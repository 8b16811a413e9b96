//! Criteria of HAProxy about numbers: values, ranges, and comparisons that hold for all values after them.

use crate::condition::RuleCondition;
use crate::notes::UnsupportedReason;

use super::criterion_parts::{CriterionParts, MatchMethod};

/// Words of comparisons.
const OPERATORS: [&str; 5] = ["eq", "gt", "ge", "lt", "le"];

/// Numbers from one to another, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NumberSpan {
    pub first: u64,
    pub last: u64,
}

impl NumberSpan {
    fn contains(self, number: u64) -> bool {
        self.first <= number && number <= self.last
    }

    /// The numbers as a range of `when`.
    fn text(self) -> String {
        match (self.first, self.last) {
            (first, last) if first == last => first.to_string(),
            (first, u64::MAX) => format!("{first}-"),
            (0, last) => format!("-{last}"),
            (first, last) => format!("{first}-{last}"),
        }
    }
}

/// The spans of a criterion, one of which its number must be in.
///
/// # Errors
/// It is not compared as a number.
pub fn spans(parts: &CriterionParts<'_>) -> Result<Vec<NumberSpan>, UnsupportedReason> {
    let unknown = || UnsupportedReason::new("it is not compared with whole numbers", "");
    if !matches!(parts.how, MatchMethod::Exact | MatchMethod::Integer) {
        return Err(unknown());
    }
    let mut operator = "eq";
    let mut spans = Vec::new();
    let mut is_compared = false;
    for value in &parts.values {
        if OPERATORS.contains(value) {
            operator = value;
            continue;
        }
        is_compared = true;
        let span = span(operator, value).ok_or_else(unknown)?;
        spans.extend((span.first <= span.last).then_some(span));
    }
    spans.sort_unstable();
    if is_compared { Ok(spans) } else { Err(unknown()) }
}

/// The span of one value, which may have no number in it; `None`: it is no number.
fn span(operator: &str, value: &str) -> Option<NumberSpan> {
    if let Some((low, high)) = value.split_once(':').filter(|_| operator == "eq") {
        let first = if low.is_empty() { 0 } else { low.parse().ok()? };
        let last = if high.is_empty() { u64::MAX } else { high.parse().ok()? };
        return Some(NumberSpan { first, last });
    }
    let number: u64 = value.parse().ok()?;
    let nothing = NumberSpan { first: 1, last: 0 };
    Some(match operator {
        "gt" => number.checked_add(1).map_or(nothing, |first| NumberSpan { first, last: u64::MAX }),
        "ge" => NumberSpan { first: number, last: u64::MAX },
        "lt" => number.checked_sub(1).map_or(nothing, |last| NumberSpan { first: 0, last }),
        "le" => NumberSpan { first: 0, last: number },
        _ => NumberSpan { first: number, last: number },
    })
}

/// One of the values of a criterion whose numbers stand in `condition` as ranges.
///
/// # Errors
/// It is not compared as a number.
pub fn number_condition(
    parts: &CriterionParts<'_>,
    condition: &dyn Fn(String) -> RuleCondition,
) -> Result<RuleCondition, UnsupportedReason> {
    let spans = spans(parts)?;
    let every = NumberSpan { first: 0, last: u64::MAX };
    if spans.contains(&every) {
        return Ok(RuleCondition::Is(true));
    }
    Ok(any_of(spans.into_iter().map(|span| condition(span.text())).collect()))
}

/// The client's port, which is between 1 and 65535.
///
/// # Errors
/// It is not compared as a number.
pub fn client_port(parts: &CriterionParts<'_>) -> Result<RuleCondition, UnsupportedReason> {
    let highest = u64::from(u16::MAX);
    let cut =
        |span: NumberSpan| NumberSpan { first: span.first.max(1), last: span.last.min(highest) };
    let spans: Vec<NumberSpan> =
        spans(parts)?.into_iter().map(cut).filter(|span| span.first <= span.last).collect();
    if spans.contains(&NumberSpan { first: 1, last: highest }) {
        return Ok(RuleCondition::Is(true));
    }
    let one = |span: NumberSpan| RuleCondition::texts("client-port", &[span.text()]);
    Ok(any_of(spans.into_iter().map(one).collect()))
}

/// How often a field came: told apart is whether it did. `single`: it came once at most.
///
/// # Errors
/// It is not compared as a number.
pub fn count_condition(
    parts: &CriterionParts<'_>,
    present: RuleCondition,
    single: bool,
) -> Result<RuleCondition, UnsupportedReason> {
    let spans = spans(parts)?;
    let holds = |number: u64| spans.iter().any(|span| span.contains(number));
    let mut next = 1;
    for span in &spans {
        if span.first <= next && span.last >= next {
            next = span.last.saturating_add(1);
        }
    }
    let every = if single { holds(1) } else { next == u64::MAX };
    let none = if single { !holds(1) } else { spans.iter().all(|span| span.last == 0) };
    let several = || {
        RuleCondition::Unknown(UnsupportedReason::new(
            "how often a field came is not told apart",
            "`when = { header = \"X-Name\" }`, which says whether it came",
        ))
    };
    Ok(match (holds(0), every, none) {
        (true, true, _) => RuleCondition::Is(true),
        (_, true, _) => present,
        (true, _, true) => present.negate(),
        (_, _, true) => RuleCondition::Is(false),
        (true, ..) => present.negate().or(several()),
        _ => present.and(several()),
    })
}

/// Whether a connection uses TLS, as a truth value or as 0 or 1. A truth value is compared with nothing.
///
/// # Errors
/// It is compared as something else.
pub fn truth_condition(
    parts: &CriterionParts<'_>,
    truth: RuleCondition,
) -> Result<RuleCondition, UnsupportedReason> {
    match parts.how {
        MatchMethod::Exact | MatchMethod::Boolean => return Ok(truth),
        MatchMethod::Present => return Ok(RuleCondition::Is(true)),
        _ => {}
    }
    let spans = spans(parts)?;
    let holds = |number: u64| spans.iter().any(|span| span.contains(number));
    Ok(match (holds(0), holds(1)) {
        (true, true) => RuleCondition::Is(true),
        (false, true) => truth,
        (true, false) => truth.negate(),
        (false, false) => RuleCondition::Is(false),
    })
}

/// One of several conditions.
fn any_of(mut conditions: Vec<RuleCondition>) -> RuleCondition {
    match conditions.len() {
        0 => RuleCondition::Is(false),
        1 => conditions.remove(0),
        _ => RuleCondition::Any(conditions),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::haproxy::criterion_parts::split_criterion;

    #[test]
    fn all_values_and_their_comparisons_count() {
        for (text, expected) in [
            ("src_port 5", Some("5")),
            ("src_port 5 7:9 ge 20", Some("5 7-9 20-")),
            ("src_port gt 5 lt 1", Some("0 6-")),
            ("src_port lt 0", Some("")),
            ("src_port :9", Some("-9")),
            ("src_port -m int 9:", Some("9-")),
            ("src_port 9:5", Some("")),
            ("src_port gt", None),
            ("src_port x", None),
            ("src_port -m str 5", None),
        ] {
            let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
            let parts = split_criterion(&words).unwrap_or_else(|why| panic!("{text}: {why:?}"));
            let found = spans(&parts).ok();
            let texts = found.map(|all| all.iter().map(|one| one.text()).collect::<Vec<_>>());
            assert_eq!(texts.map(|all| all.join(" ")).as_deref(), expected, "{text}");
        }
    }
}
