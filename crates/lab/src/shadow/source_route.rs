//! Which lines of the original's file stand behind a service, a rule or a pool of the converted configuration.
//!
//! The converter writes the place of each object above it. Pure.

use std::collections::BTreeMap;

use convert::dialect::Dialect;

/// The lines of the objects, from the comments of a converted text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectLines {
    services: BTreeMap<String, u32>,
    /// The rules of each service, in their order.
    rules: BTreeMap<String, Vec<u32>>,
    pools: BTreeMap<String, u32>,
}

/// The objects of ours that took a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MatchedObjects {
    pub service: String,
    /// The rule's place from 1; 0: none.
    pub rule: usize,
    pub pools: Vec<String>,
}

impl ObjectLines {
    pub fn read(converted: &str) -> ObjectLines {
        let mut lines = ObjectLines::default();
        let mut place = 0;
        for line in converted.lines() {
            if let Some(comment) = line.strip_prefix("# ") {
                let named = comment.split_whitespace().next().unwrap_or("");
                let number = named.rsplit(':').next().unwrap_or("");
                place = number.parse().unwrap_or(0);
                continue;
            }
            let name = line.trim_matches(['[', ']']);
            let parts: Vec<&str> = name.split('.').collect();
            match (line.starts_with('['), parts.as_slice()) {
                (true, ["service", service]) => {
                    lines.services.insert((*service).to_owned(), place);
                }
                (true, ["service", service, "rule"]) => {
                    lines.rules.entry((*service).to_owned()).or_default().push(place);
                }
                (true, ["pool", pool]) => {
                    lines.pools.insert((*pool).to_owned(), place);
                }
                _ => {}
            }
        }
        lines
    }

    /// The lines of the objects that took a request, with the nearness of what stands around them.
    fn of(&self, matched: &MatchedObjects) -> Vec<ObjectPlace> {
        let rules = self.rules.get(&matched.service);
        let rule = rules.and_then(|rules| rules.get(matched.rule.checked_sub(1)?));
        let pools = matched.pools.iter().filter_map(|pool| self.pools.get(pool));
        let others = self.services.get(&matched.service).into_iter().chain(pools);
        let place = |line: &u32, is_rule| ObjectPlace { line: *line, is_rule };
        let all = rule.map(|line| place(line, true)).into_iter();
        all.chain(others.map(|line| place(line, false))).filter(|one| one.line > 0).collect()
    }
}

/// Where an object stands in the original's file.
#[derive(Clone, Copy, Debug)]
struct ObjectPlace {
    line: u32,
    is_rule: bool,
}

/// How near a line of the original's file is to the rule that took a request; the nearest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RouteNearness {
    /// The rule's own line.
    Rule,
    /// The rule's own block.
    Block,
    /// The blocks of the service and the pools, and those around the rule.
    Around,
    /// `defaults` and `global`.
    General,
}

/// The lines behind a request.
pub type RouteLines = BTreeMap<u32, RouteNearness>;

/// The lines of the original's file that concern a request: the blocks of the objects that took it.
///
/// The rule's innermost block counts whole, and of other blocks the statements that stand directly in them.
pub fn route_lines(
    source: &str,
    dialect: Dialect,
    objects: &ObjectLines,
    matched: &MatchedObjects,
) -> RouteLines {
    let mut route = RouteLines::new();
    for ObjectPlace { line, is_rule } in objects.of(matched) {
        if is_rule {
            enter(&mut route, line, RouteNearness::Rule);
        }
        match dialect {
            Dialect::Haproxy => add_section(&haproxy_sections(source), line, is_rule, &mut route),
            _ => {
                let nesting = BlockNesting::read(source, dialect);
                add_nested(&nesting, line, is_rule, &mut route);
            }
        }
    }
    if dialect == Dialect::Haproxy {
        let mut general = false;
        for (text, number) in source.lines().zip(1u32..) {
            if text.starts_with(|c: char| c.is_ascii_lowercase()) {
                general = text.starts_with("defaults") || text.starts_with("global");
            }
            if general {
                enter(&mut route, number, RouteNearness::General);
            }
        }
    }
    route
}

/// Enters a line; the nearest place counts.
fn enter(route: &mut RouteLines, line: u32, nearness: RouteNearness) {
    let known = route.entry(line).or_insert(nearness);
    *known = (*known).min(nearness);
}

/// The number of the section of each line.
fn haproxy_sections(source: &str) -> Vec<u32> {
    const SECTIONS: [&str; 5] = ["frontend", "backend", "listen", "defaults", "global"];
    let mut section = 0;
    let number = |line: &str| {
        let first = line.split_whitespace().next().unwrap_or("");
        section += u32::from(SECTIONS.contains(&first));
        section
    };
    source.lines().map(number).collect()
}

fn add_section(sections: &[u32], line: u32, is_rule: bool, route: &mut RouteLines) {
    let own = sections.get(line as usize - 1);
    let nearness = if is_rule { RouteNearness::Block } else { RouteNearness::Around };
    for (section, number) in sections.iter().zip(1u32..) {
        if Some(section) == own {
            enter(route, number, nearness);
        }
    }
}

/// The depth of braces at the start of each line.
fn brace_depths(source: &str) -> Vec<u32> {
    let mut depth = 0u32;
    let at_start = |line: &str| {
        let before = depth;
        let code = line.split(" #").next().unwrap_or("");
        let opened = code.matches('{').count() as u32;
        let closed = code.matches('}').count() as u32;
        depth = (depth + opened).saturating_sub(closed);
        before
    };
    source.lines().map(at_start).collect()
}

/// The depth of sections at the start of each line of Apache.
fn section_depths(source: &str) -> Vec<u32> {
    let mut depth = 0u32;
    let at_start = |line: &str| {
        let before = depth;
        let line = line.trim_start();
        if line.starts_with("</") {
            depth = depth.saturating_sub(1);
        } else if line.starts_with('<') {
            depth += 1;
        }
        before
    };
    source.lines().map(at_start).collect()
}

/// The depth of each line of YAML, by its indentation. An item of a list is deeper than its key.
fn indent_depths(source: &str) -> Vec<u32> {
    let mut open: Vec<usize> = Vec::new();
    let of_line = |line: &str| {
        let code = line.trim_start();
        let depth = open.len() as u32;
        if code.is_empty() || code.starts_with('#') {
            return depth;
        }
        let column = 2 * (line.len() - code.len()) + usize::from(code.starts_with('-'));
        while open.last().is_some_and(|one| *one >= column) {
            open.pop();
        }
        open.push(column);
        open.len() as u32 - 1
    };
    source.lines().map(of_line).collect()
}

/// The lines in which a block begins that has no part in what stands beside it, from 0.
fn block_lines(source: &str, dialect: Dialect) -> Vec<usize> {
    let begins = |line: &str| {
        let line = line.trim_start();
        match dialect {
            Dialect::Apache => line.starts_with('<') && !line.starts_with("</"),
            Dialect::Caddy => line.ends_with('{'),
            Dialect::Envoy | Dialect::Traefik => line.starts_with("- "),
            _ => ["location", "server {", "upstream", "map"]
                .iter()
                .any(|word| line.starts_with(word)),
        }
    };
    source.lines().enumerate().filter(|(_, line)| begins(line)).map(|(at, _)| at).collect()
}

/// How the lines of a text with braces are nested.
#[derive(Clone, Debug)]
struct BlockNesting {
    /// The depth at the start of each line.
    depths: Vec<u32>,
    /// Lines in which a block begins, from 0.
    blocks: Vec<usize>,
}

impl BlockNesting {
    fn read(source: &str, dialect: Dialect) -> BlockNesting {
        let json = source.trim_start().starts_with('{');
        let depths = match dialect {
            Dialect::Apache => section_depths(source),
            Dialect::Envoy | Dialect::Traefik if !json => indent_depths(source),
            _ => brace_depths(source),
        };
        BlockNesting { depths, blocks: block_lines(source, dialect) }
    }
}

fn add_nested(nesting: &BlockNesting, line: u32, is_rule: bool, route: &mut RouteLines) {
    let BlockNesting { depths, blocks } = nesting;
    let at = line as usize - 1;
    let Some(own) = depths.get(at) else { return };
    let nearness = if is_rule { RouteNearness::Block } else { RouteNearness::Around };
    enter(route, line, nearness);
    let inside = depths.iter().enumerate().skip(at + 1).take_while(|(_, depth)| *depth > own);
    let direct = |index: &usize, depth: &u32| *depth == own + 1 && !blocks.contains(index);
    for (index, _) in inside.filter(|(index, depth)| is_rule || direct(index, depth)) {
        enter(route, index as u32 + 1, nearness);
    }
    let mut level = *own;
    let mut first = at;
    let mut last = at;
    while level > 0 {
        while first > 0 && depths[first] >= level {
            first -= 1;
        }
        while last + 1 < depths.len() && depths[last + 1] >= level {
            last += 1;
        }
        for index in (first..=last).filter(|index| depths[*index] == level) {
            // Other blocks that begin here have no part, not even those of one line.
            if index != at && blocks.contains(&index) {
                continue;
            }
            enter(route, index as u32 + 1, RouteNearness::Around);
        }
        level -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_leads_to_its_block_and_to_what_stands_directly_around_it() {
        let source = "http {\n  root /x;\n  server {\n    auth_basic x;\n    location /a {\n      alias /y;\n    }\n    location /b {\n      return 404;\n    }\n  }\n}\n";
        let converted = "# f:3 server\n[service.web]\nlisten = []\n\n# f:5 location /a\n[[service.web.rule]]\n\n# f:8 location /b\n[[service.web.rule]]\n";
        let objects = ObjectLines::read(converted);
        let matched = MatchedObjects { service: "web".into(), rule: 1, pools: Vec::new() };
        let lines = route_lines(source, Dialect::Nginx, &objects, &matched);
        assert!([2, 4, 5, 6].iter().all(|line| lines.contains_key(line)), "{lines:?}");
        assert!(!lines.contains_key(&9), "the other location has no part: {lines:?}");
    }

    #[test]
    fn blocks_of_apache_and_of_yaml_are_nested_by_their_sections_and_indentation() {
        let apache = "<VirtualHost *:80>\n  A\n  <Location /x>\n    B\n  </Location>\n  <Location /y>\n    C\n  </Location>\n</VirtualHost>\n";
        let yaml = "hosts:\n- name: a\n  routes:\n  - match: x\n    route: b\n  - match: y\n    route: c\n  typed: z\n";
        let converted =
            |rule: u32| format!("# f:1 x\n[service.web]\n# f:{rule} y\n[[service.web.rule]]\n");
        let matched = MatchedObjects { service: "web".into(), rule: 1, pools: Vec::new() };
        for (source, dialect, rule, inside, outside) in [
            (apache, Dialect::Apache, 3, vec![2, 3, 4], 7),
            (yaml, Dialect::Envoy, 4, vec![4, 5, 8], 7),
        ] {
            let objects = ObjectLines::read(&converted(rule));
            let lines = route_lines(source, dialect, &objects, &matched);
            assert!(inside.iter().all(|line| lines.contains_key(line)), "{dialect:?} {lines:?}");
            assert!(!lines.contains_key(&outside), "{dialect:?} {lines:?}");
        }
    }

    #[test]
    fn a_rule_of_haproxy_leads_to_its_sections() {
        let source = "global\n daemon\nfrontend a\n bind :80\n use_backend b\nbackend b\n server s 10.0.0.1:80\nbackend c\n server t 10.0.0.2:80\n";
        let converted = "# f:3 frontend a\n[service.a]\n# f:5 use_backend b\n[[service.a.rule]]\n# f:6 backend b\n[pool.b]\n";
        let objects = ObjectLines::read(converted);
        let matched = MatchedObjects { service: "a".into(), rule: 1, pools: vec!["b".into()] };
        let lines = route_lines(source, Dialect::Haproxy, &objects, &matched);
        assert_eq!(lines[&5], RouteNearness::Rule);
        assert_eq!(
            (lines[&4], lines[&7], lines[&2]),
            (RouteNearness::Block, RouteNearness::Around, RouteNearness::General)
        );
        assert_eq!(lines.keys().copied().collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7]);
    }
}
