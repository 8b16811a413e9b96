//! Validates object names: kebab-case.

use super::super::finding::FindingDetails;

/// Validates a kebab-case name of at most `most` characters.
pub fn validate_name(text: &str, most: usize) -> Result<(), FindingDetails> {
    let kebab = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    };
    if text.len() <= most && text.split('-').all(kebab) {
        return Ok(());
    }
    let lower = text
        .chars()
        .take(most)
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { ' ' });
    let better = lower.collect::<String>().split_whitespace().collect::<Vec<_>>().join("-");
    Err(FindingDetails::new("not a name in kebab-case")
        .with_expected(format!(
            "lower-case letters, digits and single `-` between them, at most {most} characters"
        ))
        .with_suggestion((!better.is_empty()).then_some(better)))
}
