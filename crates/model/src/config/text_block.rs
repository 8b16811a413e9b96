//! Finds the lines of a text that hold one object alone, so that a change of it reads and writes nothing else.
//!
//! It parses no values. Wherever lines could belong to two objects the answer is `None`, and the caller takes the whole
//! text.

use std::collections::BTreeMap;
use std::ops::Range;

use super::object_header::{
    ObjectHeader, has_plain_lines, is_empty_line, is_plain_header, read_header,
};

/// The list of a service that a rule stands in.
const RULE: &str = "rule";

/// A text by its table headers.
#[derive(Debug)]
pub struct TextBlocks<'t> {
    text: &'t str,
    starts: Vec<BlockStart<'t>>,
}

#[derive(Debug)]
struct BlockStart<'t> {
    /// The offset of the first comment or blank line before the header, in bytes.
    at: usize,
    header: ObjectHeader<'t>,
}

impl<'t> TextBlocks<'t> {
    /// `None` if a line could be something else than it looks like.
    pub fn new(text: &'t str) -> Option<TextBlocks<'t>> {
        if !has_plain_lines(text) {
            return None;
        }
        let mut starts = Vec::new();
        let mut at = 0;
        let mut content_end = 0;
        for line in text.split_inclusive('\n') {
            let begin = at;
            at += line.len();
            let line = line.trim();
            if line.starts_with('[') {
                if !is_plain_header(line) {
                    return None;
                }
                // What is before the first header, comments on the whole file for example, is nobody's.
                let from = if starts.is_empty() { begin } else { content_end };
                let header = read_header(line).unwrap_or_default();
                starts.push(BlockStart { at: from, header });
            }
            if !is_empty_line(line) {
                content_end = at;
            }
        }
        Some(TextBlocks { text, starts })
    }

    /// The bytes of an object such as `pool.a`, with the comments before it and all its inner tables.
    pub fn object(&self, object: &str) -> Option<Range<usize>> {
        self.run(|header| header.object == object)
    }

    /// Every object whose lines are one run, in order.
    pub fn objects(&self) -> BTreeMap<&'t str, Range<usize>> {
        let mut objects: BTreeMap<&str, Option<Range<usize>>> = BTreeMap::new();
        let mut starts = self.starts.iter().peekable();
        while let Some(first) = starts.next() {
            let object = first.header.object;
            while starts.next_if(|next| next.header.object == object).is_some() {}
            let end = starts.peek().map_or(self.text.len(), |next| next.at);
            // The second run of an object makes both nobody's.
            let run = Some(first.at..end).filter(|_| !objects.contains_key(object));
            objects.insert(object, run);
        }
        let known = objects.into_iter().filter(|(object, _)| !object.is_empty());
        known.filter_map(|(object, run)| Some((object, run?))).collect()
    }

    /// Whether the text has a table such as `[pool.a]` of this kind.
    pub fn has_tables(&self, kind: &str) -> bool {
        self.starts.iter().any(|start| start.header.table == kind)
    }

    /// The bytes of each rule of a service that is written as `[[service.a.rule]]`, in order. `None` if other lines are
    /// between them.
    pub fn rules(&self, service: &str) -> Option<Vec<Range<usize>>> {
        let object = format!("service.{service}");
        self.object(&object)?;
        let is_rule =
            |header: &ObjectHeader<'_>| header.object == object && header.inner == Some(RULE);
        let all = self.run(is_rule)?;
        let inside = self.starts.iter().filter(|start| all.contains(&start.at));
        let heads: Vec<&BlockStart<'_>> = inside.collect();
        heads.first().filter(|first| first.header.list == Some(RULE))?;
        let elements: Vec<usize> = heads
            .iter()
            .filter(|start| start.header.list == Some(RULE))
            .map(|start| start.at)
            .collect();
        let ends = elements.iter().skip(1).copied().chain([all.end]);
        Some(elements.iter().copied().zip(ends).map(|(start, end)| start..end).collect())
    }

    /// The bytes of the only run of headers that are meant.
    fn run(&self, is_meant: impl Fn(&ObjectHeader<'_>) -> bool) -> Option<Range<usize>> {
        let first = self.starts.iter().position(|start| is_meant(&start.header))?;
        let rest = self.starts.get(first..)?;
        let count = rest.iter().take_while(|start| is_meant(&start.header)).count();
        let after = rest.get(count..)?;
        if after.iter().any(|start| is_meant(&start.header)) {
            return None;
        }
        let end = after.first().map_or(self.text.len(), |next| next.at);
        Some(self.starts.get(first)?.at..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# The file.\n[service.a]\nx = 1\n\n# First.\n[[service.a.rule]]\nname = \"r\"\n[service.a.rule.when]\nhost = \"h\"\n[[service.a.rule]]\ny = [\n2,\n]\n# Pools.\n[pool.p]\nz = 3\n[pool.q]\n# End.\n";

    fn cut(text: &str, range: Option<Range<usize>>) -> Option<&str> {
        text.get(range?)
    }

    #[test]
    fn an_object_has_its_lines_and_the_comments_before_it() {
        let blocks = TextBlocks::new(TEXT).unwrap();
        assert_eq!(cut(TEXT, blocks.object("pool.p")), Some("# Pools.\n[pool.p]\nz = 3\n"));
        assert_eq!(cut(TEXT, blocks.object("pool.q")), Some("[pool.q]\n# End.\n"));
        assert_eq!(blocks.object("pool.none"), None);
        let service = cut(TEXT, blocks.object("service.a")).unwrap();
        assert!(service.starts_with("[service.a]") && service.ends_with("2,\n]\n"), "{service}");
        assert!(blocks.has_tables("pool") && !blocks.has_tables("vrrp"));
        for (object, lines) in blocks.objects() {
            assert_eq!(Some(lines), blocks.object(object));
        }
        assert_eq!(blocks.objects().len(), 3);
    }

    #[test]
    fn a_rule_ends_before_the_next_one() {
        let rules = TextBlocks::new(TEXT).unwrap().rules("a").unwrap();
        let rules: Vec<&str> = rules.into_iter().map(|range| &TEXT[range]).collect();
        assert_eq!(
            rules,
            [
                "\n# First.\n[[service.a.rule]]\nname = \"r\"\n[service.a.rule.when]\nhost = \"h\"\n",
                "[[service.a.rule]]\ny = [\n2,\n]\n",
            ]
        );
    }

    #[test]
    fn lines_that_could_be_of_two_objects_are_nobodys() {
        let apart = "[pool.a]\n[pool.b]\n[pool.a.probe]\n";
        let blocks = TextBlocks::new(apart).unwrap();
        assert_eq!(blocks.object("pool.a"), None);
        assert!(blocks.object("pool.b").is_some());
        assert_eq!(blocks.objects().into_keys().collect::<Vec<_>>(), ["pool.b"]);
        let between = "[[service.a.rule]]\n[service.a.tls]\n[service.a.rule.when]\n";
        assert_eq!(TextBlocks::new(between).unwrap().rules("a"), None);
        for text in ["[pool.a] # x\n", "[pool.\"a\"]\n", "[pool.a]\nx = '''\n[pool.b]\n'''\n"] {
            assert!(TextBlocks::new(text).is_none(), "{text}");
        }
    }
}
