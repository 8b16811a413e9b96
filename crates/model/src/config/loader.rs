//! Converts a text to a checked configuration, or to all its mistakes. It reads no file and keeps no state.

use toml::de::DeTable;

use super::decode::ConfigDecoder;
use super::effective_settings::EffectiveSettings;
use super::explain::SettingOrigins;
use super::file_parts::{DecodedFile, decode_in_parts};
use super::file_root::{Config, ROOT, build_config, resolve_config, verify_config};
use super::finding::{ConfigFinding, ConfigFindings, FindingCollector, FindingDetails, Severity};
use super::server::{ServerConfig, build_server};
use super::source_text::{LineIndex, SourceSpan, SourceText};
use super::syntax_message::syntax_message;

/// Largest configuration file, bytes.
/// 10,000 services with 400 bytes each fit.
pub const FILE_MAX: usize = 4 * 1_024 * 1_024;

/// A valid configuration with its warnings.
#[derive(Clone, Debug)]
pub struct CheckedConfig {
    pub config: Config,
    pub warnings: Vec<ConfigFinding>,
    /// The origin of each value.
    pub origins: SettingOrigins,
}

impl CheckedConfig {
    /// The settings of a discovered server in this pool, of which only name and address are known.
    pub fn server_template(&self, pool: &str) -> Option<ServerConfig> {
        let effective = self.origins.effective();
        let at = effective.pools.iter().position(|section| section.name == pool)?;
        effective.server_templates.get(at).map(build_server)
    }
}

/// Checks a whole file. `file` is used only in messages.
pub fn load(text: &str, file: &str) -> Result<CheckedConfig, ConfigFindings> {
    let verified = verify_text(text, file)?;
    let origins = SettingOrigins::new(verified.effective, verified.lines);
    Ok(CheckedConfig {
        config: build_config(origins.effective()),
        warnings: verified.warnings,
        origins,
    })
}

/// Checks a text as [`load`] does, and builds nothing of it. Returns its warnings.
///
/// # Errors
/// The findings of the text, at least one of them an error.
pub fn check_text(text: &str, file: &str) -> Result<Vec<ConfigFinding>, ConfigFindings> {
    verify_text(text, file).map(|verified| verified.warnings)
}

/// A text without errors.
struct VerifiedText {
    effective: EffectiveSettings,
    warnings: Vec<ConfigFinding>,
    lines: LineIndex,
}

fn verify_text(text: &str, file: &str) -> Result<VerifiedText, ConfigFindings> {
    if text.len() > FILE_MAX {
        let source = SourceText::new("", file);
        let mut sink = FindingCollector::new(&source);
        let message = format!("the file has {} bytes, more than {FILE_MAX}", text.len());
        sink.error(SourceSpan::default(), "", FindingDetails::new(message));
        return Err(sink.finish());
    }
    let source = SourceText::new(text, file);
    let mut syntax = Vec::new();
    let DecodedFile { root, findings: mut judged } = match decode_in_parts(&source) {
        Some(decoded) => decoded,
        None => {
            let (tree, errors) = DeTable::parse_recoverable(text);
            syntax = errors;
            let mut findings = FindingCollector::new(&source);
            let root = ConfigDecoder::new(&mut findings).decode_table(
                &ROOT,
                tree.get_ref(),
                SourceSpan::default(),
            );
            DecodedFile { root, findings }
        }
    };
    let effective = resolve_config(root);
    verify_config(&effective, syntax.is_empty(), &mut judged);
    let judged_errors = judged.errors();
    let mut judged = judged.finish();
    if syntax.is_empty() && judged_errors == 0 {
        return Ok(VerifiedText { effective, warnings: judged.findings, lines: source.lines });
    }
    if syntax.is_empty() {
        return Err(judged);
    }
    let mut sink = FindingCollector::new(&source);
    let mut shadows = Vec::with_capacity(syntax.len());
    for (place, message) in syntax_errors(&syntax, text) {
        shadows.push(affected_lines(&source, place));
        sink.error(
            place,
            "",
            FindingDetails::new(format!("not TOML: {}", syntax_message(message))),
        );
    }
    // After a syntax error, findings are unreliable until the next table header.
    let lit = |finding: &ConfigFinding| {
        !shadows.iter().any(|(first, last)| (*first..=*last).contains(&finding.line))
    };
    judged.findings.retain(|finding| finding.severity == Severity::Error && lit(finding));
    let mut findings = sink.finish();
    findings.findings.append(&mut judged.findings);
    findings.findings.sort_by_key(|finding| (finding.line, finding.column));
    Err(findings)
}

/// The effective configuration as TOML, each line with its origin.
pub fn explain(checked: &CheckedConfig) -> String {
    checked.origins.explain()
}

/// The first syntax error of each line. An array or inline table that is not closed swallows the rest of the file, so
/// errors inside it are not reported.
fn syntax_errors<'e>(errors: &'e [toml::de::Error], text: &str) -> Vec<(SourceSpan, &'e str)> {
    let nested = |error: &toml::de::Error| {
        ["array", "inline table"].iter().any(|word| error.message().contains(word))
    };
    let open = errors.iter().any(|error| error.message().starts_with("unclosed") && nested(error));
    let lines = LineIndex::new(text);
    let mut kept: Vec<(SourceSpan, &str)> = Vec::new();
    for error in errors {
        let span = error.span().unwrap_or(text.len()..text.len());
        let place = SourceSpan::from(span.start.min(text.len())..span.end.min(text.len()));
        if kept.last().is_none_or(|(last, _)| lines.line(*last) != lines.line(place)) {
            kept.push((place, error.message()));
        }
        if open && nested(error) {
            break;
        }
    }
    kept
}

/// The lines from a syntax error to the one before the next table header.
fn affected_lines(source: &SourceText<'_>, place: SourceSpan) -> (u32, u32) {
    let first = source.lines.line(place);
    let rest = source.text.get(source.lines.start(first)..).unwrap_or_default();
    let next = rest.lines().skip(1).position(|line| line.starts_with('['));
    let last = next
        .and_then(|after| u32::try_from(after).ok())
        .map_or(u32::MAX, |after| first.saturating_add(after));
    (first, last)
}
