//! Reads a large file part by part, so that the TOML parser's forms of the whole file never stand in memory at once.
//!
//! A part is a run of whole objects such as `[pool.a]` with its inner tables. Wherever the parts could mean anything else
//! than the whole file does, the answer is `None`, and the caller reads the file as a whole.

use toml::de::DeTable;

use super::decode::ConfigDecoder;
use super::file_root::ROOT;
use super::finding::FindingCollector;
use super::section::ConfigSection;
use super::source_text::{SourceSpan, SourceText};

/// The size of a part in bytes; the parser needs some 40 times as much.
const PART: usize = 256 * 1_024;

/// A file without syntax errors, with its sections and what is wrong with their values.
#[derive(Debug)]
pub struct DecodedFile<'s, 't> {
    pub root: ConfigSection,
    pub findings: FindingCollector<'s, 't>,
}

/// Decodes a large text part by part. `None` if it is small, has syntax errors, or cannot be cut without doubt.
pub fn decode_in_parts<'s, 't>(source: &'s SourceText<'t>) -> Option<DecodedFile<'s, 't>> {
    let starts = part_starts(source.text, PART)?;
    let mut findings = FindingCollector::new(source);
    let mut decoder = ConfigDecoder::new(&mut findings);
    let mut root = ConfigSection::new(&ROOT, SourceSpan::default());
    let ends = starts.iter().skip(1).copied().chain([source.text.len()]);
    for (start, end) in starts.iter().copied().zip(ends) {
        // Blanks in place of the text before, so that places count from the file's start.
        let mut part = " ".repeat(start);
        part.push_str(source.text.get(start..end)?);
        let (tree, syntax) = DeTable::parse_recoverable(&part);
        if !syntax.is_empty() {
            return None;
        }
        let section = decoder.decode_table(&ROOT, tree.get_ref(), SourceSpan::default());
        if !root.absorb(section) {
            return None;
        }
    }
    root.sort_named_tables().then_some(DecodedFile { root, findings })
}

/// Where parts of at least this size begin. `None` if the text makes less than two, or if a line could be something else
/// than it looks like.
fn part_starts(text: &str, size: usize) -> Option<Vec<usize>> {
    if text.len() <= size || text.contains("\"\"\"") || text.contains("'''") {
        return None;
    }
    let mut starts = vec![0];
    let mut simple_headers = Vec::new();
    let mut object = "";
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let begin = at;
        at += line.len();
        let line = line.trim();
        let Some(header) = line.strip_prefix('[') else {
            if object.is_empty() && simple_headers.is_empty() && !is_empty_line(line) {
                return None;
            }
            continue;
        };
        let header = header.trim_start_matches('[');
        match object_name(header) {
            Some(name) => {
                let last = starts.last().copied().unwrap_or_default();
                if name != object && begin - last >= size {
                    starts.push(begin);
                }
                object = name;
            }
            None => {
                if simple_headers.contains(&header) {
                    return None;
                }
                simple_headers.push(header);
            }
        }
    }
    (starts.len() > 1).then_some(starts)
}

fn is_empty_line(line: &str) -> bool {
    line.is_empty() || line.starts_with('#')
}

/// `pool.a` of `pool.a.probe]`. `None` for a header of one word, for keys in quotes, and for the values of an array.
fn object_name(header: &str) -> Option<&str> {
    let is_bare = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let bytes = header.as_bytes();
    let word = bytes.iter().take_while(|byte| is_bare(byte)).count();
    if !bytes.first()?.is_ascii_alphabetic() || bytes.get(word) != Some(&b'.') {
        return None;
    }
    let name = bytes.iter().skip(word + 1).take_while(|byte| is_bare(byte)).count();
    let end = word + 1 + name;
    (name > 0 && matches!(bytes.get(end), Some(b'.' | b']'))).then(|| header.get(..end))?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str, size: usize) -> Vec<&str> {
        let Some(starts) = part_starts(text, size) else { return vec![text] };
        let ends = starts.iter().skip(1).copied().chain([text.len()]);
        starts.iter().zip(ends).map(|(start, end)| &text[*start..end]).collect()
    }

    #[test]
    fn a_file_is_cut_between_objects_alone() {
        let text = "# a file\n[global]\nworkers = 1\n[pool.a]\nx = [\n[1],\n]\n[pool.a.probe]\n[[pool.a.z]]\n[pool.b]\n";
        assert_eq!(
            parts(text, 4),
            [
                "# a file\n[global]\nworkers = 1\n",
                "[pool.a]\nx = [\n[1],\n]\n[pool.a.probe]\n[[pool.a.z]]\n",
                "[pool.b]\n"
            ]
        );
    }

    #[test]
    fn a_file_whose_lines_are_in_doubt_stays_whole() {
        for text in [
            "a = 1\n[pool.a]\n[pool.b]\n",
            "[pool.a]\nx = \"\"\"\n[pool.b]\n\"\"\"\n",
            "[pool.a]\nx = '''\n[pool.b]\n'''\n",
            "[global]\n[pool.a]\n[pool.b]\n[global]\n",
        ] {
            assert_eq!(parts(text, 4), [text]);
        }
    }
}
