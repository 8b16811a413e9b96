//! Which lines of the original's file stand behind a service, a rule or a pool of the converted configuration.
//!
//! The converter writes the place of each object above it. Pure.

use std::collections::{BTreeMap, BTreeSet};

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

    /// The lines of the objects that took a request; the rule's first.
    fn of(&self, matched: &MatchedObjects) -> Vec<u32> {
        let rules = self.rules.get(&matched.service);
        let rule = rules.and_then(|rules| rules.get(matched.rule.checked_sub(1)?));
        let pools = matched.pools.iter().filter_map(|pool| self.pools.get(pool));
        let all = rule.into_iter().chain(self.services.get(&matched.service)).chain(pools);
        all.copied().filter(|line| *line > 0).collect()
    }
}

/// The lines of the original's file that concern a request: the blocks of the objects that took it.
///
/// The innermost block counts whole, and of the blocks around it the statements that stand directly in them.
pub fn route_lines(
    source: &str,
    dialect: Dialect,
    objects: &ObjectLines,
    matched: &MatchedObjects,
) -> BTreeSet<u32> {
    let blocks = match dialect {
        Dialect::Haproxy => haproxy_sections(source),
        _ => brace_depths(source),
    };
    let mut route = BTreeSet::new();
    for (place, line) in objects.of(matched).into_iter().enumerate() {
        match dialect {
            Dialect::Haproxy => {
                let section = |line: u32| blocks.get(line as usize - 1).copied();
                let own = section(line);
                route.extend((1..=blocks.len() as u32).filter(|one| section(*one) == own));
            }
            _ => add_nested(&blocks, line, place == 0, &mut route),
        }
    }
    // What `defaults` and `global` say holds for all.
    if dialect == Dialect::Haproxy {
        let mut general = false;
        for (text, number) in source.lines().zip(1u32..) {
            if text.starts_with(|c: char| c.is_ascii_lowercase()) {
                general = text.starts_with("defaults") || text.starts_with("global");
            }
            if general {
                route.insert(number);
            }
        }
    }
    route
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

/// `whole`: everything in the line's own block counts, otherwise what stands directly in it.
fn add_nested(depths: &[u32], line: u32, whole: bool, route: &mut BTreeSet<u32>) {
    let at = line as usize - 1;
    let Some(own) = depths.get(at) else { return };
    route.insert(line);
    let inside = depths.iter().enumerate().skip(at + 1).take_while(|(_, depth)| *depth > own);
    let counts = inside.filter(|(_, depth)| whole || **depth == own + 1);
    route.extend(counts.map(|(index, _)| index as u32 + 1));
    let mut level = *own;
    let (mut first, mut last) = (at, at);
    while level > 0 {
        while first > 0 && depths[first] >= level {
            first -= 1;
        }
        while last + 1 < depths.len() && depths[last + 1] >= level {
            last += 1;
        }
        let direct = (first..=last).filter(|index| depths[*index] == level);
        route.extend(direct.map(|index| index as u32 + 1));
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
        assert!([2, 4, 5, 6].iter().all(|line| lines.contains(line)), "{lines:?}");
        assert!(!lines.contains(&9), "the other location has no part: {lines:?}");
    }

    #[test]
    fn a_rule_of_haproxy_leads_to_its_sections() {
        let source = "global\n daemon\nfrontend a\n bind :80\n use_backend b\nbackend b\n server s 10.0.0.1:80\nbackend c\n server t 10.0.0.2:80\n";
        let converted = "# f:3 frontend a\n[service.a]\n# f:5 use_backend b\n[[service.a.rule]]\n# f:6 backend b\n[pool.b]\n";
        let objects = ObjectLines::read(converted);
        let matched =
            MatchedObjects { service: "a".into(), rule: 1, pools: vec!["b".into()] };
        let lines = route_lines(source, Dialect::Haproxy, &objects, &matched);
        assert_eq!(lines.into_iter().collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7]);
    }
}
