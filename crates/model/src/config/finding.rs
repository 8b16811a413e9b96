//! Findings about a configuration: the place, the mistake, and the correction.
//!
//! Printed with `Display` and serialised with serde. It verifies nothing.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::source_text::{SourceSpan, SourceText, TextPosition};

/// Limit for listed findings; further ones are only counted.
/// A file with more mistakes is the wrong file or the wrong format.
pub const MAX_LISTED: usize = 1000;

/// Limit for findings with a search for suggestions, so that a large file with many mistakes is checked quickly.
const MAX_WITH_SUGGESTION: usize = 100;

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// The configuration cannot be used.
    Error,
    /// The configuration can be used, but is probably not what was meant.
    Warning,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigFinding {
    /// Whether the configuration can be used.
    pub severity: Severity,
    /// The file name as given by the operator.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1, in characters.
    pub column: u32,
    /// The key path: `pool.web.servers[1].weight`; empty for syntax errors.
    pub key: String,
    /// The mistake, as part of a sentence.
    pub message: String,
    /// The text in the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// A description of valid values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// The value that was probably meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
    /// The text of the line, shortened.
    pub excerpt: String,
    /// Number of characters on the line that the finding covers.
    pub width: u32,
}

/// All findings; at least one is an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub struct ConfigFindings {
    /// Errors and warnings in the order of their places.
    pub findings: Vec<ConfigFinding>,
    /// Findings beyond the first `MAX_LISTED`.
    pub unlisted: u64,
}

impl ConfigFindings {
    pub fn errors(&self) -> impl Iterator<Item = &ConfigFinding> {
        self.findings.iter().filter(|finding| finding.severity == Severity::Error)
    }
}

/// A finding without its place, which the collector adds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FindingDetails {
    message: String,
    found: Option<String>,
    expected: Option<String>,
    suggestion: Option<String>,
}

impl FindingDetails {
    pub fn new(message: impl Into<String>) -> FindingDetails {
        FindingDetails { message: message.into(), found: None, expected: None, suggestion: None }
    }

    /// The mistake and the correction as one sentence.
    pub fn to_sentence(&self) -> String {
        match &self.expected {
            Some(expected) => format!("{}: expected {expected}", self.message),
            None => self.message.clone(),
        }
    }

    /// Sets the text found, if it is not simply the text at the place.
    pub fn with_found(self, found: impl Into<String>) -> FindingDetails {
        FindingDetails { found: Some(found.into()), ..self }
    }

    /// Sets the description of valid values.
    pub fn with_expected(self, expected: impl Into<String>) -> FindingDetails {
        FindingDetails { expected: Some(expected.into()), ..self }
    }

    /// Sets the value that was probably meant, if known.
    pub fn with_suggestion(self, suggestion: Option<String>) -> FindingDetails {
        FindingDetails { suggestion, ..self }
    }
}

#[derive(Debug)]
pub struct FindingCollector<'s, 't> {
    source: &'s SourceText<'t>,
    list: Vec<PlacedFinding>,
    unlisted: u64,
    errors: u64,
}

/// A finding and the bytes of the file that it is about.
#[derive(Debug)]
struct PlacedFinding {
    place: SourceSpan,
    finding: ConfigFinding,
}

impl<'s, 't> FindingCollector<'s, 't> {
    pub fn new(source: &'s SourceText<'t>) -> Self {
        FindingCollector { source, list: Vec::new(), unlisted: 0, errors: 0 }
    }

    pub fn source(&self) -> &'s SourceText<'t> {
        self.source
    }

    /// Number of errors so far, including unlisted ones.
    pub fn errors(&self) -> u64 {
        self.errors
    }

    /// Whether a search for suggestions is still worthwhile.
    pub fn wants_suggestions(&self) -> bool {
        self.list.len() < MAX_WITH_SUGGESTION
    }

    /// Adds an error at a place.
    pub fn error(&mut self, place: SourceSpan, key: &str, trouble: FindingDetails) {
        self.errors += 1;
        self.add(Severity::Error, place, key, trouble);
    }

    /// Adds a warning at a place.
    pub fn warning(&mut self, place: SourceSpan, key: &str, trouble: FindingDetails) {
        self.add(Severity::Warning, place, key, trouble);
    }

    /// Returns the findings in the order of their places.
    pub fn finish(mut self) -> ConfigFindings {
        self.list.sort_by_key(|placed| (placed.place.start, placed.finding.severity));
        self.list.dedup_by(|later, kept| later.finding == kept.finding);
        ConfigFindings {
            findings: self.list.into_iter().map(|placed| placed.finding).collect(),
            unlisted: self.unlisted,
        }
    }

    fn add(&mut self, severity: Severity, place: SourceSpan, key: &str, trouble: FindingDetails) {
        if self.list.len() >= MAX_LISTED {
            self.unlisted += 1;
            return;
        }
        let TextPosition { line, column } = self.source.position(place);
        let text = self.source.line_text(line);
        let stands = self.source.excerpt(place);
        let room = text.chars().count().saturating_sub(column as usize - 1).max(1);
        let covered =
            self.source.text.get(place.start as usize..place.end as usize).unwrap_or_default();
        let width = covered.chars().count().clamp(1, room);
        let finding = ConfigFinding {
            severity,
            file: self.source.file.to_owned(),
            line,
            column,
            key: replace_control_characters(key),
            message: replace_control_characters(&trouble.message),
            found: trouble
                .found
                .or((!stands.is_empty()).then_some(stands))
                .as_deref()
                .map(replace_control_characters),
            expected: trouble.expected.as_deref().map(replace_control_characters),
            suggestion: trouble.suggestion.as_deref().map(replace_control_characters),
            // 160 characters are two lines of a usual terminal; a minified line must not fill the screen.
            excerpt: replace_control_characters(&text.chars().take(160).collect::<String>()),
            width: u32::try_from(width).unwrap_or(u32::MAX),
        };
        self.list.push(PlacedFinding { place, finding });
    }
}

/// Control characters in a file must not reach a terminal.
fn replace_control_characters(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

impl fmt::Display for ConfigFinding {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(to, "{word}: {}:{}:{}: ", self.file, self.line, self.column)?;
        if !self.key.is_empty() {
            write!(to, "{}: ", self.key)?;
        }
        writeln!(to, "{}", self.message)?;
        // Three digits, so that the excerpts of all files below 1,000 lines are aligned.
        let margin = self.line.to_string().len().max(3);
        writeln!(to, " {:margin$} | {}", self.line, self.excerpt)?;
        if (self.column as usize) <= self.excerpt.chars().count() + 1 {
            // As long as the excerpt at most.
            let width = (self.width as usize).min(160);
            let indent = self.column as usize - 1;
            writeln!(to, " {:margin$} | {:indent$}{}", "", "", "^".repeat(width))?;
        }
        if let Some(expected) = &self.expected {
            let found =
                self.found.as_deref().map(|found| format!("found {found}, ")).unwrap_or_default();
            writeln!(to, " {:margin$} = {found}expected {expected}", "")?;
        }
        if let Some(suggestion) = &self.suggestion {
            writeln!(to, " {:margin$} = did you mean {suggestion}?", "")?;
        }
        Ok(())
    }
}

impl fmt::Display for ConfigFindings {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.findings {
            write!(to, "{finding}")?;
        }
        if self.unlisted > 0 {
            writeln!(to, "and {} more", self.unlisted)?;
        }
        Ok(())
    }
}
