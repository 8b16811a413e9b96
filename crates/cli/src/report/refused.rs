//! `steelyard report refused`: the last requests that were refused for their form.

use std::process::ExitCode;

use api::types::{RefusedRequest, RefusedRequests};

use crate::common_args::{DaemonArgs, block_on};
use crate::outcome::{CommandError, CommandOutcome, finish};
use crate::refresh::{RefreshArgs, show_or_watch};
use crate::show::paint::Paint;
use crate::show::screen;
use crate::show::table::{TextTable, left};
use crate::show::unit::{count, moment};

/// Show the last rejected requests: the client, the violated rule, and what was found.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard report refused                   of all services, the newest first
  steelyard report refused --service shop
  steelyard report refused --watch           again every two seconds, until Ctrl-C
  steelyard report refused --json | jq '.requests[] | {client, defect, found}'

The daemon keeps 256 of them, at most 64 of one client (an IPv4 address, or an IPv6 /64). Header values are
shown only if the rule is about that header: cookies and passwords are
never stored. Bytes are escaped, such as \\x0a for a line feed.
A service called 'refused' is shown by `steelyard report 'refused,'`.")]
pub struct ReportRefusedArgs {
    /// Only of this service.
    #[arg(long, value_name = "SERVICE")]
    service: Option<String>,
    #[command(flatten)]
    again: RefreshArgs,
    #[command(flatten)]
    contact: DaemonArgs,
}

pub fn run(args: &ReportRefusedArgs) -> ExitCode {
    finish(args.contact.json, block_on(show(args)))
}

async fn show(args: &ReportRefusedArgs) -> Result<CommandOutcome, CommandError> {
    let client = args.contact.client()?;
    let ask = || async { Ok(client.refused(args.service.as_deref()).await?) };
    let show = |refused: &RefusedRequests| render(refused, screen::width(), Paint::for_stdout());
    show_or_watch(args.again, args.contact.json, ask, show).await
}

fn render(refused: &RefusedRequests, width: usize, paint: Paint) -> String {
    if refused.requests.is_empty() {
        return "No request was refused since the daemon's start.\n".to_owned();
    }
    let columns = ["WHEN", "SERVICE", "CLIENT", "WHY", "FOUND", "STATUS", "HOST", "REQUEST"];
    let mut table = TextTable::new(&columns.map(left));
    for request in &refused.requests {
        let status =
            if request.status == 0 { "none".to_owned() } else { request.status.to_string() };
        table.row(vec![
            moment(request.unix_ms).into(),
            request.service.as_str().into(),
            request.client.as_str().into(),
            describe_defect(request).into(),
            describe_finding(request).into(),
            status.into(),
            request.host.as_deref().unwrap_or("-").into(),
            describe_request(request).into(),
        ]);
    }
    let mut text = table.render(width, paint);
    if refused.evicted > 0 {
        let lost = count(refused.evicted);
        text.push_str(&format!(
            "{lost} older ones are not kept: there is room for {}\n",
            refused.max_requests
        ));
    }
    if refused.over_client_limit > 0 {
        let lost = count(refused.over_client_limit);
        text.push_str(&format!(
            "{lost} of clients that had {} already are not kept\n",
            refused.max_per_client
        ));
    }
    text
}

fn describe_defect(one: &RefusedRequest) -> String {
    match &one.defect {
        Some(defect) => format!("{}: {defect}", one.cause),
        None => one.cause.clone(),
    }
}

/// `Content-Length: "+1" at byte 42`.
fn describe_finding(one: &RefusedRequest) -> String {
    let mut parts = Vec::new();
    parts.extend(one.field.as_ref().map(|field| format!("{field}:")));
    parts.extend(one.found.as_ref().map(|found| format!("\"{found}\"")));
    parts.extend(one.at.map(|at| format!("at byte {at}")));
    if parts.is_empty() { "-".to_owned() } else { parts.join(" ") }
}

fn describe_request(one: &RefusedRequest) -> String {
    let parts = [one.method.as_deref(), one.target.as_deref(), Some(one.protocol.as_str())];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_request_is_a_line_and_what_is_missing_is_counted() {
        let first = RefusedRequest {
            unix_ms: 1_772_283_909_000,
            id: "0040000000000005".into(),
            service: "shop".into(),
            client: "192.0.2.7:4711".into(),
            protocol: "HTTP/1.1".into(),
            method: Some("POST".into()),
            host: Some("shop.example".into()),
            target: Some("/cart".into()),
            cause: "bad-request".into(),
            defect: Some("bad-length".into()),
            field: Some("Content-Length".into()),
            at: Some(42),
            found: Some("+1".into()),
            status: 400,
        };
        let second = RefusedRequest {
            method: None,
            host: None,
            target: Some("\\x16\\x03".into()),
            defect: None,
            cause: "plain-on-tls".into(),
            field: None,
            at: None,
            found: None,
            status: 0,
            ..first.clone()
        };
        let mut refused = RefusedRequests {
            requests: vec![first, second],
            max_requests: 256,
            max_per_client: 64,
            evicted: 3,
            over_client_limit: 1_200,
            ..RefusedRequests::default()
        };
        let text = render(&refused, 200, Paint::fixed(false));
        for wanted in [
            "2026-02-28 13:05:09Z  shop     192.0.2.7:4711  bad-request: bad-length",
            "Content-Length: \"+1\" at byte 42  400     shop.example  POST /cart HTTP/1.1",
            "none    -             \\x16\\x03 HTTP/1.1",
            "3 older ones are not kept: there is room for 256\n",
            "of clients that had 64 already are not kept\n",
        ] {
            assert!(text.contains(wanted), "no {wanted:?} in\n{text}");
        }
        refused.requests.clear();
        assert!(render(&refused, 200, Paint::fixed(false)).starts_with("No request was refused"));
    }
}
