//! Reads a large file part by part, so that the TOML parser's forms of the whole file never stand in memory at once.
//!
//! A part begins with an object such as `[pool.a]`, or with an element of an object's list such as `[[service.a.rule]]`.
//! Wherever the parts could mean anything else than the whole file does, the answer is `None`, and the caller reads the
//! file as a whole.

use std::collections::HashSet;

use toml::de::DeTable;

use super::decode::ConfigDecoder;
use super::file_root::ROOT;
use super::finding::FindingCollector;
use super::object_header::{
    ObjectHeader, has_plain_lines, is_empty_line, is_plain_header, read_header,
};
use super::section::{ConfigSection, ContinuedList};
use super::source_text::{SourceSpan, SourceText};

/// The size of a part in bytes; the parser needs some 40 times as much.
const PART: usize = 256 * 1_024;

/// A file without syntax errors, with its sections and what is wrong with their values.
#[derive(Debug)]
pub struct DecodedFile<'s, 't> {
    pub root: ConfigSection,
    pub findings: FindingCollector<'s, 't>,
}

/// Decodes a large text part by part. `None` if it is small, has mistakes, or cannot be cut without doubt.
pub fn decode_in_parts<'s, 't>(source: &'s SourceText<'t>) -> Option<DecodedFile<'s, 't>> {
    let starts = part_starts(source.text, PART)?;
    let mut findings = FindingCollector::new(source);
    let mut decoder = ConfigDecoder::new(&mut findings);
    let mut root = ConfigSection::new(&ROOT, SourceSpan::default());
    let ends = starts.iter().skip(1).map(|next| next.at).chain([source.text.len()]);
    for (start, end) in starts.iter().zip(ends) {
        let (tree, syntax) = DeTable::parse_recoverable(source.text.get(start.at..end)?);
        if !syntax.is_empty() {
            return None;
        }
        decoder.begin_at(start.at);
        let section = decoder.decode_table(&ROOT, tree.get_ref(), SourceSpan::default());
        if !root.absorb(section, start.continued) {
            return None;
        }
    }
    // A mistake's place counts elements of lists from the object's beginning, which only the whole file has.
    (findings.errors() == 0 && root.sort_named_tables()).then_some(DecodedFile { root, findings })
}

/// Where a part begins.
#[derive(Debug)]
struct PartStart<'t> {
    /// The offset in the text, in bytes.
    at: usize,
    /// The list that the part before has begun.
    continued: Option<ContinuedList<'t>>,
}

/// The beginnings of parts of at least this size. `None` if the text makes less than two, or if a line could be something
/// else than it looks like.
fn part_starts(text: &str, size: usize) -> Option<Vec<PartStart<'_>>> {
    if text.len() <= size || !has_plain_lines(text) {
        return None;
    }
    let mut starts = vec![PartStart { at: 0, continued: None }];
    let mut tables = HashSet::new();
    let mut cut_lists = HashSet::new();
    let mut last = ObjectHeader::default();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let begin = at;
        at += line.len();
        let line = line.trim();
        if !line.starts_with('[') {
            if tables.is_empty() && last.object.is_empty() && !is_empty_line(line) {
                return None;
            }
            continue;
        }
        if !is_plain_header(line) {
            return None;
        }
        let Some(header) = read_header(line) else {
            if !tables.insert(line) {
                return None;
            }
            continue;
        };
        if header.is_whole_table && !tables.insert(header.object) {
            return None;
        }
        let is_due = begin - starts.last().map_or(0, |last| last.at) >= size;
        if is_due && header.object != last.object {
            starts.push(PartStart { at: begin, continued: None });
        } else if let Some(list) = header.list.filter(|_| is_due && header.list == last.list) {
            let ObjectHeader { table, name, .. } = header;
            starts.push(PartStart {
                at: begin,
                continued: Some(ContinuedList { table, name, list }),
            });
            cut_lists.insert(list);
        }
        let seen = last.list.filter(|_| header.object == last.object);
        last = ObjectHeader { list: header.list.or(seen), ..header };
    }
    // A list in one line and as tables would be a mistake.
    let is_key_of_list = |line: &str| {
        let key = line.split('=').next().unwrap_or_default();
        cut_lists.contains(key.trim())
    };
    let is_safe = cut_lists.is_empty() || !text.lines().any(is_key_of_list);
    (is_safe && starts.len() > 1).then_some(starts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str, size: usize) -> Vec<&str> {
        let Some(starts) = part_starts(text, size) else { return vec![text] };
        let ends = starts.iter().skip(1).map(|next| next.at).chain([text.len()]);
        starts.iter().zip(ends).map(|(start, end)| &text[start.at..end]).collect()
    }

    #[test]
    fn a_file_is_cut_between_objects_alone() {
        let text = "# a file\n[global]\nworkers = 1\n[pool.a]\nx = [\n1,\n]\n[pool.a.probe]\n[[pool.a.z]]\n[pool.a.z.y]\n[[pool.a.z]]\n[pool.b]\n";
        assert_eq!(
            parts(text, 4),
            [
                "# a file\n[global]\nworkers = 1\n",
                "[pool.a]\nx = [\n1,\n]\n[pool.a.probe]\n[[pool.a.z]]\n[pool.a.z.y]\n",
                "[[pool.a.z]]\n",
                "[pool.b]\n"
            ]
        );
    }

    #[test]
    fn an_object_may_be_cut_in_a_list_that_others_follow() {
        let mut text = String::new();
        for at in 0..1_500 {
            text.push_str(&format!(
                "[service.s{at}]\nlisten = \"127.0.0.1:{}\"\nforward = \"http\"\npool = \"p\"\n",
                at + 1
            ));
            for field in 0..4 {
                text.push_str(&format!(
                    "[[service.s{at}.edit]]\nrewrite = {{ remove = \"X-{field}\" }}\n"
                ));
            }
            text.push_str(&format!("[[service.s{at}.rule]]\ndeny = true\n"));
        }
        text.push_str("[pool.p]\nservers = [\"10.0.0.1:80\"]\n");
        let starts = part_starts(&text, PART).unwrap();
        let cut = starts.iter().filter_map(|start| start.continued.as_ref());
        assert!(cut.filter(|continued| continued.list == "edit").count() > 0, "{starts:?}");
        let source = SourceText::new(&text, "x");
        assert!(decode_in_parts(&source).is_some());
    }

    #[test]
    fn a_file_whose_lines_are_in_doubt_stays_whole() {
        for text in [
            "a = 1\n[pool.a]\n[pool.b]\n",
            "[pool.a]\nx = \"\"\"\n[pool.b]\n\"\"\"\n",
            "[pool.a]\nx = '''\n[pool.b]\n'''\n",
            "[global]\n[pool.a]\n[pool.b]\n[global]\n",
            "[pool.a]\n[pool.b]\n[pool.a]\n",
            "[pool.a]\n[pool.b] # more\n[pool.c]\n",
            "[pool.a]\n[ pool.b ]\n[pool.c]\n",
            "[pool.a]\n[pool.\"b\"]\n[pool.c]\n",
            "[pool.a]\nx = []\n[[pool.a.x]]\n[[pool.a.x]]\ny = 1\n[[pool.a.x]]\n",
        ] {
            assert_eq!(parts(text, 4), [text]);
        }
    }
}
