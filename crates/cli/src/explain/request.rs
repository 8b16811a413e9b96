//! `steelyard explain request`: which service, rule, pool and servers would take a request, and why not the others.
//!
//! The daemon answers from the active configuration; this only renders. Nothing is counted and nothing is sent.

use std::net::IpAddr;
use std::process::ExitCode;

use api::types::{RequestDescription, RequestExplained};

use crate::common_args::{DaemonArgs, block_on};
use crate::outcome::{CommandError, CommandOutcome, finish, print_json};
use crate::show::paint::Paint;
use crate::show::plain::plain;
use crate::show::screen;
use crate::show::table::{TextTable, left};

/// Show which rule, pool and servers would get a request.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard explain request --url http://shop.example/cart
  steelyard explain request --method POST --url /api/v1/orders --header 'x-tenant: blue' --from 203.0.113.9
  steelyard explain request --service shop --url /cart --json
  steelyard explain request --url tcp://shop.example:443 --sni shop.example")]
pub struct ExplainRequestArgs {
    /// `http://host:port/path?query`, `https://…`, a path, or `tcp://host:port` for a connection.
    #[arg(long, value_name = "URL")]
    url: String,
    /// The method.
    #[arg(long, value_name = "METHOD", default_value = "GET")]
    method: String,
    /// A header of the request; may be repeated.
    #[arg(long = "header", value_name = "NAME: VALUE")]
    headers: Vec<String>,
    /// The client's address.
    #[arg(long, value_name = "ADDRESS")]
    from: Option<IpAddr>,
    /// The service, if the URL does not determine it.
    #[arg(long, value_name = "NAME")]
    service: Option<String>,
    /// The TLS server name (SNI); with https the URL's host.
    #[arg(long, value_name = "NAME")]
    sni: Option<String>,
    #[command(flatten)]
    contact: DaemonArgs,
}

pub fn run(args: &ExplainRequestArgs) -> ExitCode {
    finish(args.contact.json, block_on(show(args)))
}

async fn show(args: &ExplainRequestArgs) -> Result<CommandOutcome, CommandError> {
    let query = RequestDescription {
        method: args.method.clone(),
        url: args.url.clone(),
        headers: args.headers.clone(),
        from: args.from,
        service: args.service.clone(),
        sni: args.sni.clone(),
    };
    let explained = args.contact.client()?.explain_request(&query).await?;
    if args.contact.json {
        print_json(&explained)?;
    } else {
        screen::print(&render_explanation(&explained, screen::width(), Paint::for_stdout()))?;
    }
    Ok(CommandOutcome::Done)
}

fn render_explanation(explained: &RequestExplained, width: usize, paint: Paint) -> String {
    let mut out = format!("service  {}: {}\n", explained.service, plain(&explained.reason));
    if let Some(client) = &explained.client {
        out.push_str(&format!("client   {}\n", plain(client)));
    }
    if !explained.path.is_empty() {
        out.push_str(&format!("path     {}\n", plain(&explained.path)));
    }
    for reading in explained.readings.iter().filter(|reading| **reading != explained.path) {
        out.push_str(&format!("or       {}\n", plain(reading)));
    }
    if !explained.edits.is_empty() {
        out.push_str(&format!("edits    {}\n", plain(&explained.edits.join(", "))));
    }
    match &explained.rule {
        Some(rule) => {
            out.push_str(&format!(
                "rule     {} {}: {}\n",
                rule.position,
                rule.name,
                plain(&rule.action)
            ));
            out.push_str(&format!("when     {}\n", plain(&rule.when)));
            if let Some(target) = &rule.target {
                out.push_str(&format!("target   {}\n", plain(target)));
            }
            if let Some(mirror) = &rule.mirror {
                out.push_str(&format!("mirror   {}\n", plain(mirror)));
            }
        }
        None => out.push_str("rule     none: the service's pool\n"),
    }
    if let Some(ends) = &explained.local_reply {
        out.push_str(&format!("ends     {}\n", plain(ends)));
    }
    for pool in &explained.pools {
        out.push_str(&format!(
            "pool     {} ({:.1} %, {})\n",
            pool.name, pool.percent, pool.balance
        ));
    }
    if let Some(sticky) = &explained.sticky_server {
        out.push_str(&format!("kept     {}\n", plain(sticky)));
    }
    for table in render_tables(explained) {
        let text = table.render(width, paint);
        if !text.is_empty() {
            out.push('\n');
            out.push_str(&text);
        }
    }
    out
}

/// The rules that do not take it, and the servers that may.
fn render_tables(explained: &RequestExplained) -> [TextTable; 2] {
    let mut passed = TextTable::new(&[left("NOT RULE"), left("BECAUSE")]);
    for rule in &explained.unmatched_rules {
        passed.row(vec![
            format!("{} {}", rule.position, rule.name).into(),
            rule.reason.as_str().into(),
        ]);
    }
    if explained.unmatched_unlisted > 0 {
        passed.row(vec![
            format!("and {} more", explained.unmatched_unlisted).into(),
            String::new().into(),
        ]);
    }
    let mut servers =
        TextTable::new(&[left("SERVER"), left("ADDRESS"), left("MAY"), left("BECAUSE")]);
    for one in &explained.servers {
        let address = one.address.clone().unwrap_or_else(|| "-".to_owned());
        servers.row(vec![
            format!("{}/{}", one.pool, one.name).into(),
            address.into(),
            if one.available { "yes" } else { "no" }.into(),
            one.reason.as_str().into(),
        ]);
    }
    [passed, servers]
}

#[cfg(test)]
mod tests {
    use api::types::{MatchingRule, PoolShare, RuleMismatch};

    use super::*;

    #[test]
    fn an_explanation_names_rule_pool_and_why_not_the_others() {
        let explained = RequestExplained {
            generation: 3,
            service: "shop".into(),
            reason: "it listens on port 80".into(),
            client: Some("203.0.113.9 by x-forwarded-for: its address".into()),
            path: "/api/x".into(),
            readings: vec!["/api/x".into(), "/api;v/x".into()],
            unmatched_rules: vec![RuleMismatch {
                position: 1,
                name: "old".into(),
                reason: "path /old does not hold".into(),
            }],
            unmatched_unlisted: 7,
            edits: vec!["mobile".into(), "edit-2".into()],
            rule: Some(MatchingRule {
                position: 9,
                name: "api".into(),
                when: "path /api/*".into(),
                action: "pool api".into(),
                target: Some("/x".into()),
                mirror: None,
            }),
            local_reply: None,
            pools: vec![PoolShare { name: "api".into(), percent: 100.0, balance: "random".into() }],
            sticky_server: None,
            servers: Vec::new(),
        };
        let text = render_explanation(&explained, 100, Paint::fixed(false));
        for line in [
            "service  shop: it listens on port 80",
            "path     /api/x",
            "or       /api;v/x",
            "edits    mobile, edit-2",
            "rule     9 api: pool api",
            "target   /x",
            "pool     api (100.0 %, random)",
            "1 old       path /old does not hold",
            "and 7 more",
        ] {
            assert!(text.contains(line), "{line} in:\n{text}");
        }
    }
}
