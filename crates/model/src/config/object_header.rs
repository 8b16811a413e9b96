//! Reads the header lines of a configuration's tables, without parsing what stands between them.
//!
//! Only headers that cannot mean anything else than they look like are read: bare keys, no blanks, no comments.

/// The header of a table in an object.
#[derive(Clone, Copy, Debug, Default)]
pub struct ObjectHeader<'t> {
    /// `pool.a` of `[pool.a.probe]`.
    pub object: &'t str,
    /// `pool` of it.
    pub table: &'t str,
    /// `a` of it.
    pub name: &'t str,
    /// `probe` of it.
    pub inner: Option<&'t str>,
    /// The header is the object's own.
    pub is_whole_table: bool,
    /// `rule` of `[[service.a.rule]]`.
    pub list: Option<&'t str>,
}

/// Whether no line of the text can look like a header, or like no header, inside a text of several lines.
pub fn has_plain_lines(text: &str) -> bool {
    !text.contains("\"\"\"") && !text.contains("'''")
}

/// Whether a header is of bare keys alone: blanks, quotes and comments could hide that two headers are the same.
pub fn is_plain_header(line: &str) -> bool {
    let inside = line.trim_start_matches('[').trim_end_matches(']');
    inside.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

/// Whether a line says nothing.
pub fn is_empty_line(line: &str) -> bool {
    line.is_empty() || line.starts_with('#')
}

/// `None` for a header of one word, for keys in quotes, and for the values of an array.
pub fn read_header(line: &str) -> Option<ObjectHeader<'_>> {
    let is_list = line.starts_with("[[");
    let header = line.trim_start_matches('[');
    let word = bare_key(header)?;
    let name = bare_key(header.get(word.len()..)?.strip_prefix('.')?)?;
    let object = header.get(..word.len() + 1 + name.len())?;
    let rest = header.get(object.len()..)?;
    let inner = rest.strip_prefix('.').and_then(bare_key);
    let is_whole_table = rest.starts_with(']');
    if !word.starts_with(|first: char| first.is_ascii_alphabetic())
        || !(is_whole_table || inner.is_some())
    {
        return None;
    }
    let list =
        inner.filter(|inner| is_list && rest.get(1 + inner.len()..).is_some_and(closes_list));
    Some(ObjectHeader { object, table: word, name, inner, is_whole_table, list })
}

fn closes_list(rest: &str) -> bool {
    rest.starts_with("]]")
}

/// The bare key at the start of a text.
fn bare_key(text: &str) -> Option<&str> {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let end = text.find(|c| !is_bare(c)).unwrap_or(text.len());
    text.get(..end).filter(|key| !key.is_empty())
}
