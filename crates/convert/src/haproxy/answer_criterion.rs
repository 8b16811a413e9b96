//! Converts a criterion of HAProxy in a rule about answers. What belongs to the request is gone when the answer comes.

use crate::condition::RuleCondition;
use crate::notes::UnsupportedReason;

use super::criterion_parts::{CriterionParts, MatchMethod, split_criterion};
use super::fetch;
use super::field_criterion::named_field;
use super::field_reads::ANSWER_FIELD;
use super::number_criterion::spans;
use super::pools::BackendPools;

/// The key of a condition on the status of the answer, with ranges. It stands in no `when`.
pub const ANSWER_STATUS: &str = "answer-status";

/// Criteria of the connection, which are still known.
const OF_CONNECTION: [&str; 6] =
    ["always_true", "always_false", "src", "src_port", "ssl_fc", "ssl_fc_sni"];

/// Criteria of the request's first line and its fields: HAProxy has none of them when the answer comes, and none matches.
const OF_REQUEST: [&str; 14] = [
    "path",
    "url",
    "pathq",
    "base",
    "baseq",
    "query",
    "urlp",
    "url_param",
    "cook",
    "req.cook",
    "req.hdr",
    "req.fhdr",
    "req.hdr_cnt",
    "req.fhdr_cnt",
];

/// Fields whose values have no commas, so that a test of their elements is one of the whole value.
const WITHOUT_COMMAS: [&str; 4] = ["content-type", "content-length", "location", "server"];

/// Converts a criterion. `words`: the criterion, its flags and its values.
///
/// # Errors
/// It cannot be expressed.
pub fn answer_criterion(
    words: &[String],
    pools: &BackendPools,
) -> Result<RuleCondition, UnsupportedReason> {
    let parts = split_criterion(words)?;
    if parts.is_never {
        return Ok(RuleCondition::Is(false));
    }
    match parts.name.as_str() {
        "status" => statuses(&parts),
        "hdr" | "res.hdr" | "shdr" | "res.fhdr" => field(&parts),
        "hdr_cnt" | "res.hdr_cnt" | "shdr_cnt" | "res.fhdr_cnt" => {
            fetch::field_count_condition(&parts, ANSWER_FIELD)
        }
        name if OF_REQUEST.contains(&name) => Ok(RuleCondition::Is(false)),
        name if OF_CONNECTION.contains(&name) => fetch::criterion(words, pools),
        name => Err(UnsupportedReason::new(
            format!("`{name}` is not known when the answer comes"),
            "`when-response` of an `edit` with statuses and fields of the answer",
        )),
    }
}

fn statuses(parts: &CriterionParts<'_>) -> Result<RuleCondition, UnsupportedReason> {
    let unknown = || UnsupportedReason::new("no range of statuses", "`statuses = \"500-599\"`");
    let limit = |number: u64| u16::try_from(number).unwrap_or(u16::MAX);
    let spans = spans(parts).map_err(|_| unknown())?;
    let ranges: Vec<StatusSpan> = spans
        .into_iter()
        .map(|span| StatusSpan { first: limit(span.first), last: limit(span.last) })
        .collect();
    Ok(span_condition(&ranges))
}

/// Statuses from one to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct StatusSpan {
    first: u16,
    last: u16,
}

/// The statuses that an answer to a client has.
const STATUSES: StatusSpan = StatusSpan { first: 100, last: 599 };

fn span_condition(spans: &[StatusSpan]) -> RuleCondition {
    let cut = |span: &StatusSpan| StatusSpan {
        first: span.first.max(STATUSES.first),
        last: span.last.min(STATUSES.last),
    };
    let inside: Vec<String> = spans
        .iter()
        .map(cut)
        .filter(|span| span.first <= span.last)
        .map(|span| match span.first == span.last {
            true => span.first.to_string(),
            false => format!("{}-{}", span.first, span.last),
        })
        .collect();
    match inside.is_empty() {
        true => RuleCondition::Is(false),
        false => RuleCondition::texts(ANSWER_STATUS, &inside),
    }
}

/// The condition of all other statuses. `ranges`: the values of a condition on statuses.
pub fn other_statuses(ranges: &[String]) -> RuleCondition {
    let mut spans: Vec<StatusSpan> = ranges.iter().filter_map(|range| read_span(range)).collect();
    spans.sort_by_key(|span| span.first);
    let mut others = Vec::new();
    let mut next = STATUSES.first;
    for span in spans {
        if span.first > next {
            others.push(StatusSpan { first: next, last: span.first - 1 });
        }
        next = next.max(span.last + 1);
    }
    others.push(StatusSpan { first: next, last: STATUSES.last });
    span_condition(&others)
}

fn read_span(range: &str) -> Option<StatusSpan> {
    let text = range.trim_matches('"');
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Some(StatusSpan { first: first.parse().ok()?, last: last.parse().ok()? })
}

fn field(parts: &CriterionParts<'_>) -> Result<RuleCondition, UnsupportedReason> {
    let whole = parts.name == "res.fhdr"
        || parts.how == MatchMethod::Present
        || WITHOUT_COMMAS.contains(&parts.argument.to_ascii_lowercase().as_str())
        || parts.how == MatchMethod::Contains
            && parts.values.iter().all(|value| !value.contains(','));
    if !whole || parts.how == MatchMethod::Regex {
        return Err(UnsupportedReason::new(
            "elements of a field of the answer are not told apart",
            "`res.fhdr`, which is about the whole value",
        ));
    }
    named_field(ANSWER_FIELD, ": ", parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<RuleCondition> {
        let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        answer_criterion(&words, &BackendPools::default()).ok()
    }

    #[test]
    fn statuses_and_fields_are_told_apart() {
        let statuses = |texts: &[&str]| Some(RuleCondition::texts(ANSWER_STATUS, texts));
        let fields = |text: &str| Some(RuleCondition::texts(ANSWER_FIELD, &[text]));
        for (criterion, expected) in [
            ("status 500 502:504", statuses(&["500", "502-504"])),
            ("status ge 500", statuses(&["500-599"])),
            ("status lt 400", statuses(&["100-399"])),
            ("status gt 600", Some(RuleCondition::Is(false))),
            ("status x", None),
            ("res.hdr(Set-Cookie) -m found", fields("Set-Cookie")),
            ("res.hdr(Content-Type) -m beg text/", fields("Content-Type: text/*")),
            ("res.hdr(Vary) -m str a", None),
            ("res.fhdr(Vary) a,b", fields("Vary: a,b")),
            ("res.hdr_cnt(a) eq 0", fields("a").map(RuleCondition::negate)),
            ("ssl_fc", Some(RuleCondition::Tls)),
            ("path /a", Some(RuleCondition::Is(false))),
            ("hdr(host) a", None),
        ] {
            assert_eq!(read(criterion), expected, "{criterion}");
        }
        let others = other_statuses(&["\"500-503\"".to_owned(), "\"200\"".to_owned()]);
        assert_eq!(Some(others), statuses(&["100-199", "201-499", "504-599"]));
    }
}
