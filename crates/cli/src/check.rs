//! `steelyard check`: checks a configuration without a daemon. The model checks; this prints.

mod files;
mod user_account;

use std::process::ExitCode;

use daemon::secrets::{ExposedFile, FileReader, find_exposed_files};
use model::config::{
    CheckedConfig, Config, ConfigFinding, ConfigFindings, EffectiveSetting, Severity, explain, load,
};
use serde::Serialize;

use self::files::check_files;
use self::user_account::UserAccount;
use crate::common_args::{file_name, read_config};
use crate::config_file::StandardConfigArgs;
use crate::outcome::{CommandError, CommandOutcome, finish, print_findings, print_json};
use crate::show::screen;

/// Check a configuration: every mistake with its place, what was found and what was expected.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard check -c shop.toml
  steelyard check -c shop.toml --explain   the whole effective configuration, and where each value came from
  generate-config | steelyard check -c - --json
  steelyard check -c shop.toml --without-files   on a machine without the keys
  sudo steelyard check --as steelyard            opens every file as the systemd unit's user

Exit codes: 0 good (warnings included), 1 mistakes, 2 unreadable.")]
pub struct CheckArgs {
    #[command(flatten)]
    pub config: StandardConfigArgs,
    /// Print every effective value as a configuration, each with its origin.
    #[arg(long)]
    pub explain: bool,
    /// Do not open key, certificate, CA and revocation files, and do not check interfaces,
    /// addresses, programs and directories: they are on another machine.
    #[arg(long)]
    pub without_files: bool,
    /// Open all files as this user, such as the daemon's user. Needs root.
    #[arg(long = "as", value_name = "USER", conflicts_with = "without_files")]
    pub user: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

impl CheckArgs {
    /// Whose files are judged: owners matter only where the reader is known.
    fn file_reader(&self) -> FileReader {
        if self.user.is_some() { FileReader::ProcessUser } else { FileReader::Anybody }
    }
}

/// The document that `--json` prints.
#[derive(Debug, Serialize)]
struct CheckResult {
    file: String,
    good: bool,
    errors: usize,
    warnings: usize,
    findings: Vec<ConfigFinding>,
    unlisted: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    effective: Option<Vec<EffectiveSetting>>,
}

pub fn run(args: &CheckArgs) -> ExitCode {
    finish(args.json, check(args))
}

fn check(args: &CheckArgs) -> Result<CommandOutcome, CommandError> {
    if let Some(user) = &args.user {
        UserAccount::find(user)?.assume()?;
    }
    let text = read_config(args.config.path())?;
    let file = file_name(args.config.path());
    let result = load(&text, &file).and_then(|checked| match args.without_files {
        true => Ok(checked),
        false => check_secret_files(checked, args.file_reader(), &text, &file)
            .and_then(|checked| check_files(checked, &text, &file)),
    });
    let end = if result.is_ok() { CommandOutcome::Done } else { CommandOutcome::Negative };
    if args.json {
        print_json(&check_result(file, result, args.explain))?;
        return Ok(end);
    }
    match result {
        Ok(checked) => {
            print_findings(&checked.warnings, 0);
            let text =
                if args.explain { explain(&checked) } else { render_summary(&file, &checked) };
            screen::print(&text)?;
        }
        Err(findings) => {
            print_findings(&findings.findings, findings.unlisted);
            screen::print(&render_findings_count(&file, &findings))?;
        }
    }
    Ok(end)
}

/// Mistakes where files of secrets can be used by others; a file that is not there is none.
fn check_secret_files(
    checked: CheckedConfig,
    reader: FileReader,
    text: &str,
    file: &str,
) -> Result<CheckedConfig, ConfigFindings> {
    let found = find_exposed_files(&checked.config, reader);
    if found.is_empty() {
        return Ok(checked);
    }
    let entries = checked.origins.entries();
    let mistake = |one: &ExposedFile| {
        let written = entries.iter().find(|entry| entry.key == one.key);
        let line = written.and_then(|entry| entry.origin.strip_prefix("line ")?.parse().ok());
        let line: usize = line.unwrap_or(1);
        ConfigFinding {
            severity: Severity::Error,
            file: file.to_owned(),
            line: u32::try_from(line).unwrap_or(u32::MAX),
            column: 1,
            key: one.key.clone(),
            message: one.error.to_string(),
            found: None,
            expected: None,
            suggestion: None,
            // 160 characters are two lines of a usual terminal; a minified line must not fill the screen.
            excerpt: text.lines().nth(line - 1).unwrap_or_default().chars().take(160).collect(),
            width: 1,
        }
    };
    Err(ConfigFindings { findings: found.iter().map(mistake).collect(), unlisted: 0 })
}

fn check_result(
    file: String,
    result: Result<CheckedConfig, ConfigFindings>,
    explained: bool,
) -> CheckResult {
    let (good, effective, findings, unlisted) = match result {
        Ok(checked) => (true, explained.then(|| checked.origins.entries()), checked.warnings, 0),
        Err(findings) => (false, None, findings.findings, findings.unlisted),
    };
    let errors = findings.iter().filter(|finding| finding.severity == Severity::Error).count();
    let warnings = findings.len() - errors;
    CheckResult { file, good, errors, warnings, findings, unlisted, effective }
}

fn render_summary(file: &str, checked: &CheckedConfig) -> String {
    let Config { services, pools, .. } = &checked.config;
    let servers = pools.values().map(|pool| pool.servers.len()).sum();
    let mut text = format!(
        "{file}: good: {}, {}, {}",
        pluralize(services.len(), "service"),
        pluralize(pools.len(), "pool"),
        pluralize(servers, "server")
    );
    if !checked.warnings.is_empty() {
        text.push_str(&format!(", {}", pluralize(checked.warnings.len(), "warning")));
    }
    text.push('\n');
    text
}

fn render_findings_count(file: &str, findings: &ConfigFindings) -> String {
    let errors = findings.errors().count();
    let more = if findings.unlisted > 0 { "at least " } else { "" };
    format!("{file}: {more}{}\n", pluralize(errors, "mistake"))
}

fn pluralize(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const GOOD: &str = "\
[service.shop]
listen = \"127.0.0.1:80\"
forward = \"http\"
pool = \"web\"
[pool.web]
servers = [\"10.0.0.1:80\", \"10.0.0.2:80\"]
";

    #[test]
    fn a_good_file_is_summed_up_and_a_bad_one_counted() {
        let checked = load(GOOD, "shop.toml").unwrap();
        let text = "shop.toml: good: 1 service, 1 pool, 2 servers\n";
        assert_eq!(render_summary("shop.toml", &checked), text);
        let findings = load("[service.shop]\nlisen = 1", "shop.toml").unwrap_err();
        assert_eq!(render_findings_count("shop.toml", &findings), "shop.toml: 4 mistakes\n");
    }

    #[test]
    fn json_has_the_findings_and_on_request_the_effective_values() {
        let answer = |text, explained| {
            let answer = check_result("shop.toml".into(), load(text, "shop.toml"), explained);
            serde_json::to_value(answer).unwrap()
        };
        let bad = answer("[service.shop]\nlisen = 1", true);
        assert_eq!((bad["good"].as_bool(), bad["errors"].as_u64()), (Some(false), Some(4)));
        let unknown = &bad["findings"].as_array().unwrap()[3];
        assert_eq!((unknown["line"].as_u64(), unknown["column"].as_u64()), (Some(2), Some(1)));
        assert_eq!(unknown["key"], "service.shop.lisen");
        assert_eq!(unknown["suggestion"], "listen");
        assert!(bad.get("effective").is_none());
        assert!(answer(GOOD, false).get("effective").is_none());
        let effective = answer(GOOD, true)["effective"].clone();
        let listen =
            effective.as_array().unwrap().iter().find(|e| e["key"] == "service.shop.listen");
        assert_eq!(listen.unwrap()["origin"], "line 2");
    }

    #[test]
    fn an_unreadable_file_is_neither_good_nor_bad() {
        let file = Path::new("/nonexistent/steelyard.toml");
        let config = StandardConfigArgs::from_path(file);
        let args =
            CheckArgs { config, explain: false, without_files: false, user: None, json: false };
        assert!(matches!(check(&args), Err(CommandError::Unusable(_))));
    }
}
