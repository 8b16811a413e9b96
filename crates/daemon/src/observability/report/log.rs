//! Lines of the access log → what `log` shows: those that fit a query, or how many of each kind. Pure.

mod cef;
mod entry;
mod filter;
mod logfmt;

use std::collections::HashMap;

use api::types::{LogCount, LogEntry, LogGroup, LogPage, LogQuery, LogScope};
use model::cause::Cause;
use model::slo::outcome::EndedOperation;

pub use self::filter::LogFilter;
use crate::observability::access_log::recent_lines::LinesAfter;

/// Lines that one answer has if its query sets no limit, and at most.
/// With 400 bytes a line an answer has 4 MB at most.
const LIMIT: usize = 1_000;
const LIMIT_MAX: usize = 10_000;

/// The answer to a query whose filter was read.
pub fn build_page(
    found: &LinesAfter,
    filter: &LogFilter,
    query: &LogQuery,
    scope: LogScope,
    now_unix_ms: u64,
) -> LogPage {
    let mut page =
        LogPage { now_unix_ms, scope, next: found.newest, lost: found.lost, ..LogPage::default() };
    let limit = query.limit.map_or(LIMIT, |limit| usize::try_from(limit).unwrap_or(LIMIT_MAX));
    let limit = limit.min(LIMIT_MAX);
    let mut counts: HashMap<String, LogCount> = HashMap::new();
    for line in found.text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        page.examined += 1;
        let Some(entry) = entry::parse(line).filter(|entry| filter.fits(entry)) else { continue };
        match query.top {
            Some(group) => count_entry(&mut counts, group, &entry),
            None => page.entries.push(entry),
        }
    }
    let surplus = page.entries.len().saturating_sub(limit);
    page.entries.drain(..surplus);
    page.top = counts.into_values().collect();
    page.top.sort_by(|a, b| b.lines.cmp(&a.lines).then_with(|| a.name.cmp(&b.name)));
    page.top.truncate(limit);
    page
}

fn count_entry(counts: &mut HashMap<String, LogCount>, group: LogGroup, entry: &LogEntry) {
    let name = group_name(group, entry);
    let count = counts
        .entry(name)
        .or_insert_with_key(|name| LogCount { name: name.clone(), ..LogCount::default() });
    count.lines += 1;
    count.errors += u64::from(is_error(entry));
    count.bytes_to_client += entry.bytes_to_client;
}

fn group_name(group: LogGroup, entry: &LogEntry) -> String {
    let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    match group {
        LogGroup::Client => entry::client_address(&entry.client).to_owned(),
        LogGroup::Service => entry.service.clone(),
        LogGroup::Server => known(&entry.server),
        LogGroup::Status if entry.status == 0 => "-".to_owned(),
        LogGroup::Status => entry.status.to_string(),
        LogGroup::Cause => known(&entry.cause),
        LogGroup::Target => {
            let target = known(&entry.target);
            target.split_once('?').map_or(target.clone(), |(path, _)| path.to_owned())
        }
    }
}

/// By the one definition of an error.
fn is_error(entry: &LogEntry) -> bool {
    let cause = entry.cause.as_deref();
    let ended = EndedOperation {
        cause: cause.and_then(|name| Cause::ALL.iter().copied().find(|it| it.name() == name)),
        by_us: matches!(entry.by.as_deref(), Some("balancer" | "us")),
        status: entry.status,
        duration: std::time::Duration::ZERO,
    };
    ended.error_origin().is_some_and(|origin| origin.is_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &str = r#"{"time":"2026-02-28T13:05:09.000Z","id":"0040000000000005","service":"shop","client":"192.0.2.7:4711","protocol":"HTTP/1.1","method":"GET","target":"/cart?x=1","status":502,"by":"balancer","server":"web/a","attempts":2,"cause":"server-reset","bytes-to-client":120,"head-ms":0.100,"total-ms":1.500}
{"time":"2026-02-28T13:05:10.000Z","service":"api","client":"[2001:db8::1]:99","protocol":"HTTP/2","method":"POST","target":"/v1","status":200,"by":"server","server":"app/b","attempts":1,"bytes-to-client":7,"total-ms":3.000}
"#;
    const COMMON: &str = "192.0.2.7 - - [28/Feb/2026:13:05:09 +0000] \"GET /cart?x=\\\"1 HTTP/1.1\" 502 120 \
        0040000000000005 shop web/a server-reset 2 0.100/-/-/-/-/1.500\n\
        192.0.2.9 - - [28/Feb/2026:13:05:10 +0000] \"-\" - 0 - shop - bad-request:bare-lf 0 0.100/-/-/-/-/- host=\"a\"\n";

    fn page(lines: &str, query: &LogQuery) -> LogPage {
        let found = LinesAfter { text: lines.as_bytes().to_vec(), newest: 2, lost: 0 };
        let filter = LogFilter::read(query).unwrap_or_else(|error| panic!("{error}"));
        build_page(&found, &filter, query, LogScope::All, 7)
    }

    #[test]
    fn both_forms_of_a_line_are_read() {
        let all = page(JSON, &LogQuery::default());
        let first = &all.entries[0];
        assert_eq!((all.entries.len(), all.examined, all.next), (2, 2, 2));
        assert_eq!((first.status, first.attempts, first.total_ms), (502, 2, Some(1.5)));
        let common = page(COMMON, &LogQuery::default());
        let same = &common.entries[0];
        assert_eq!(
            (&same.id, &same.service, &same.server),
            (&first.id, &first.service, &first.server)
        );
        assert_eq!((&same.cause, same.status, same.total_ms), (&first.cause, 502, Some(1.5)));
        assert_eq!(same.target.as_deref(), Some("/cart?x=\\\"1"));
        let refused = &common.entries[1];
        assert_eq!((refused.status, refused.cause.as_deref()), (0, Some("bad-request")));
        assert_eq!(
            (refused.defect.as_deref(), &refused.id, &refused.target),
            (Some("bare-lf"), &None, &None)
        );
        let broken = page("{\"time\":\n\\xff\nnoise\n", &LogQuery::default());
        assert_eq!((broken.entries.len(), broken.examined), (0, 3));
    }

    #[test]
    fn every_filter_selects_and_several_have_to_fit_together() {
        let shop = |query: LogQuery| {
            let found = page(JSON, &query).entries;
            found.iter().map(|entry| entry.service.clone()).collect::<Vec<_>>()
        };
        let some = |text: &str| Some(text.to_owned());
        let base = LogQuery::default;
        for query in [
            LogQuery { service: some("shop"), ..base() },
            LogQuery { server: some("web/a"), ..base() },
            LogQuery { server: some("web/*"), ..base() },
            LogQuery { status: some("5xx"), ..base() },
            LogQuery { status: some("404, 500-502"), ..base() },
            LogQuery { cause: some("server-reset"), ..base() },
            LogQuery { cause: some("any"), ..base() },
            LogQuery { client: some("192.0.2.7"), ..base() },
            LogQuery { client: some("192.0.2.0/24"), ..base() },
            LogQuery { id: some("0040000000000005"), ..base() },
        ] {
            assert_eq!(shop(query.clone()), ["shop"], "{query:?}");
            let more = LogQuery { status: some("200"), ..query.clone() };
            assert!(query.status.is_some() || shop(more).is_empty());
        }
        assert_eq!(shop(LogQuery { client: some("2001:db8::/32"), ..base() }), ["api"]);
        assert_eq!(shop(LogQuery { limit: Some(1), ..base() }), ["api"], "the newest");
    }

    #[test]
    fn a_filter_that_cannot_fit_anything_is_refused() {
        let some = |text: &str| Some(text.to_owned());
        for (query, word) in [
            (LogQuery { status: some("6xx"), ..LogQuery::default() }, "6xx"),
            (LogQuery { status: some("500-400"), ..LogQuery::default() }, "500-400"),
            (LogQuery { cause: some("tired"), ..LogQuery::default() }, "server-reset"),
            (LogQuery { client: some("192.0.2.0/33"), ..LogQuery::default() }, "192.0.2.0/33"),
        ] {
            let error = LogFilter::read(&query).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn top_counts_lines_errors_and_bytes() {
        let by = |group| {
            page(&JSON.repeat(3), &LogQuery { top: Some(group), ..LogQuery::default() }).top
        };
        let clients = by(LogGroup::Client);
        assert_eq!(
            clients[0],
            LogCount { name: "192.0.2.7".into(), lines: 3, errors: 3, bytes_to_client: 360 }
        );
        assert_eq!((clients[1].name.as_str(), clients[1].errors), ("2001:db8::1", 0));
        assert_eq!(by(LogGroup::Target)[0].name, "/cart");
        for group in LogGroup::ALL {
            assert_eq!(by(group).iter().map(|count| count.lines).sum::<u64>(), 6, "{group:?}");
        }
    }
}
