//! `steelyard log`: the newest lines of the access log, filtered, followed, or counted.

use std::process::ExitCode;
use std::time::Duration;

use api::types::{LogEntry, LogGroup, LogPage, LogQuery, LogScope};
use clap::ValueEnum;

use crate::common_args::{DaemonArgs, block_on};
use crate::outcome::{CommandError, CommandOutcome, finish, json_line, print_json};
use crate::show::paint::Paint;
use crate::show::plain::plain;
use crate::show::screen;
use crate::show::table::{TextTable, left, right};
use crate::show::unit::{bytes, count};

/// Between two looks with `--follow`: below what a person notices, and a call that costs microseconds.
const LOOK: Duration = Duration::from_millis(500);

/// Show the newest lines of the access log: filter, follow, find a request, count the top talkers.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard log                                 the newest lines
  steelyard log --follow --service shop         and new ones, until Ctrl-C
  steelyard log --status 5xx --server 'web/*'
  steelyard log --cause any --client 192.0.2.0/24
  steelyard log --id 0040000000000005           one request, by the ID in its response
  steelyard log --top client                    clients with the most requests
  steelyard log --top target --status 404
  steelyard log --follow --json | jq 'select(.\"total-ms\" > 500)'

The daemon keeps the newest 1 MiB of lines in memory, for every log target. By default it logs only errors;
`access-log = { all = true }` in [global] logs every request.")]
pub struct LogArgs {
    /// Also show new lines, until Ctrl-C.
    #[arg(short, long, conflicts_with = "top")]
    follow: bool,
    /// Only of this service.
    #[arg(long, value_name = "SERVICE")]
    service: Option<String>,
    /// Only with this server: POOL/NAME, or POOL/*.
    #[arg(long, value_name = "POOL/NAME")]
    server: Option<String>,
    /// Only with these statuses: 503, 5xx, 500-599, several with commas.
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,
    /// Only with this cause, or `any`.
    #[arg(long, value_name = "CAUSE")]
    cause: Option<String>,
    /// Only from this client: an address or a network.
    #[arg(long, value_name = "ADDRESS")]
    client: Option<String>,
    /// Only requests with this id, the balancer's or that of a trusted proxy.
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Maximum of lines, or of rows with --top.
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 20)]
    lines: u32,
    /// Count lines by this, the most frequent first.
    #[arg(long, value_enum, value_name = "WHAT")]
    top: Option<CountGroup>,
    #[command(flatten)]
    contact: DaemonArgs,
}

/// By what lines are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CountGroup {
    /// The client's address, without its port
    Client,
    /// The service of the request
    Service,
    /// The server of the last attempt
    Server,
    /// The status of the response
    Status,
    /// The cause of the failure
    Cause,
    /// The target, without its query
    Target,
}

impl CountGroup {
    fn group(self) -> LogGroup {
        match self {
            CountGroup::Client => LogGroup::Client,
            CountGroup::Service => LogGroup::Service,
            CountGroup::Server => LogGroup::Server,
            CountGroup::Status => LogGroup::Status,
            CountGroup::Cause => LogGroup::Cause,
            CountGroup::Target => LogGroup::Target,
        }
    }
}

pub fn run(args: &LogArgs) -> ExitCode {
    finish(args.contact.json, block_on(show(args)))
}

async fn show(args: &LogArgs) -> Result<CommandOutcome, CommandError> {
    let client = args.contact.client()?;
    let mut query = LogQuery {
        after: None,
        service: args.service.clone(),
        server: args.server.clone(),
        status: args.status.clone(),
        cause: args.cause.clone(),
        client: args.client.clone(),
        id: args.id.clone(),
        limit: Some(args.lines),
        top: args.top.map(CountGroup::group),
    };
    let page = client.log(&query).await?;
    if page.scope == LogScope::Off {
        return Err(CommandError::Absent(OFF.to_owned()));
    }
    let json = args.contact.json;
    if let Some(group) = query.top {
        if json {
            print_json(&page)?;
        } else {
            let text = render_counts(&page, group, screen::width(), Paint::for_stdout());
            screen::print(&text)?;
        }
        return Ok(CommandOutcome::Done);
    }
    print_entries(&page, json)?;
    if !args.follow {
        if page.entries.is_empty() && !json {
            screen::print(&render_nothing(&page))?;
        }
        return Ok(CommandOutcome::Done);
    }
    // What comes between two looks is shown whole.
    query.limit = None;
    query.after = Some(page.next);
    loop {
        tokio::time::sleep(LOOK).await;
        let page = client.log(&query).await?;
        if page.lost > 0 && !json {
            screen::print(&format!("… {} lines came too quickly to be kept\n", count(page.lost)))?;
        }
        print_entries(&page, json)?;
        query.after = Some(page.next);
    }
}

const OFF: &str = "the access log is off, and nothing is kept: set `access-log` in [global] to \"stderr\" or a file";

fn print_entries(page: &LogPage, json: bool) -> Result<(), CommandError> {
    for entry in &page.entries {
        screen::print(&if json { json_line(entry)? } else { render_entry(entry) })?;
    }
    Ok(())
}

/// `time service client "GET /x" 502 server-reset web/a 1.500 ms id`.
fn render_entry(entry: &LogEntry) -> String {
    let status = if entry.status == 0 { "-".to_owned() } else { entry.status.to_string() };
    let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let request = [entry.method.as_deref(), entry.target.as_deref()];
    let request = request.into_iter().flatten().collect::<Vec<_>>().join(" ");
    let cause = match (&entry.cause, &entry.defect) {
        (Some(cause), Some(defect)) => format!("{cause}:{defect}"),
        (cause, _) => known(cause),
    };
    let time = entry.total_ms.map_or("-".to_owned(), |total| format!("{total:.1} ms"));
    let line = format!(
        "{} {} {} \"{request}\" {status} {cause} {} {time} {}",
        entry.time,
        entry.service,
        entry.client,
        known(&entry.server),
        known(&entry.id)
    );
    format!("{}\n", plain(&line))
}

fn render_nothing(page: &LogPage) -> String {
    let all = match page.scope {
        LogScope::All => "",
        LogScope::Sample => {
            "; a share of what is neither failed nor slow is logged, as `access-log.sample` says"
        }
        _ => {
            "; errors alone are logged, `access-log = { all = true }` in [global] logs every request"
        }
    };
    format!("No line of the {} that are kept fits{all}.\n", count(page.examined))
}

fn render_counts(page: &LogPage, group: LogGroup, width: usize, paint: Paint) -> String {
    if page.top.is_empty() {
        return render_nothing(page);
    }
    let name = match group {
        LogGroup::Client => "CLIENT",
        LogGroup::Service => "SERVICE",
        LogGroup::Server => "SERVER",
        LogGroup::Status => "STATUS",
        LogGroup::Cause => "CAUSE",
        LogGroup::Target => "TARGET",
    };
    let columns = [left(name), right("LINES"), right("ERRORS"), right("BYTES")];
    let mut table = TextTable::new(&columns);
    for row in &page.top {
        table.row(vec![
            plain(&row.name).into(),
            count(row.lines).into(),
            count(row.errors).into(),
            bytes(row.bytes_to_client).into(),
        ]);
    }
    table.render(width, paint)
}

#[cfg(test)]
mod tests {
    use api::types::LogCount;

    use super::*;

    #[test]
    fn a_line_has_what_is_known_and_no_control_characters() {
        let entry = LogEntry {
            time: "2026-02-28T13:05:09.000Z".into(),
            id: Some("0040000000000005".into()),
            service: "shop".into(),
            client: "192.0.2.7:4711".into(),
            method: Some("GET".into()),
            target: Some("/cart\u{1b}[2J".into()),
            status: 502,
            server: Some("web/a".into()),
            cause: Some("server-reset".into()),
            total_ms: Some(1.5),
            ..LogEntry::default()
        };
        let text = render_entry(&entry);
        assert!(!text.contains('\u{1b}'), "{text:?}");
        assert!(
            text.starts_with("2026-02-28T13:05:09.000Z shop 192.0.2.7:4711 \"GET /cart"),
            "{text}"
        );
        assert!(text.ends_with("502 server-reset web/a 1.5 ms 0040000000000005\n"), "{text}");
        let refused = LogEntry {
            cause: Some("bad-request".into()),
            defect: Some("bare-lf".into()),
            ..LogEntry::default()
        };
        assert!(render_entry(&refused).ends_with("\"\" - bad-request:bare-lf - - -\n"));
    }

    #[test]
    fn counts_are_a_table_and_nothing_says_what_is_logged() {
        let top = vec![LogCount {
            name: "192.0.2.7".into(),
            lines: 1_200,
            errors: 3,
            bytes_to_client: 2_048,
        }];
        let mut page = LogPage { top, scope: LogScope::Errors, examined: 5, ..LogPage::default() };
        let text = render_counts(&page, LogGroup::Client, 80, Paint::fixed(false));
        assert!(text.starts_with("CLIENT") && text.contains("192.0.2.7"), "{text}");
        page.top.clear();
        let text = render_counts(&page, LogGroup::Client, 80, Paint::fixed(false));
        assert!(text.starts_with("No line of the 5 that are kept fits; errors alone"), "{text}");
    }
}
