//! Locations in nginx's order of evaluation, each as a condition on the path.
//!
//! nginx uses an exact match first. Otherwise it remembers the longest prefix, and looks into the locations within it.
//! The first matching regular expression has priority over that prefix, unless the prefix has `^~`; those within the
//! prefix come first. Steelyard uses the first matching rule, so the rules are written in that order.

use std::cmp::Reverse;

use crate::condition::RuleCondition;
use crate::notes::ConversionNotes;

use super::location::{LocationBlock, LocationMatch, LocationPath, fallback};
use super::tree::Directive;

/// A location with those within it.
struct LocationNode<'t> {
    path: LocationPath<'t>,
    directive: &'t Directive,
    inner: Vec<LocationNode<'t>>,
}

/// The locations of one level.
struct LocationLevel<'n, 't> {
    nodes: &'n [LocationNode<'t>],
    /// The enclosing locations, the outermost first.
    outer: Vec<&'t Directive>,
    /// What the enclosing locations demand, for locations whose own path does not imply it.
    guard: Option<RuleCondition>,
    /// Prefixes that nginx prefers to the enclosing locations.
    preferred: Vec<&'t str>,
}

/// The prefixes of a level in alphabetical order, so that those which begin alike are neighbours.
struct SortedPrefixes<'n, 't>(Vec<&'n LocationNode<'t>>);

/// An expression of a level within other prefixes, and how deep that level is.
struct InnerRegex<'t> {
    depth: usize,
    blocks: Vec<LocationBlock<'t>>,
}

#[derive(Default)]
struct LocationOrder<'t> {
    exact: Vec<LocationBlock<'t>>,
    inner_regexes: Vec<InnerRegex<'t>>,
}

/// All locations of a server, in the order of their rules. Exact ones come first.
pub fn ordered_locations<'t>(
    server: &'t [Directive],
    notes: &mut ConversionNotes,
) -> Vec<LocationBlock<'t>> {
    let nodes = nodes(server, notes);
    let level =
        LocationLevel { nodes: &nodes, outer: Vec::new(), guard: None, preferred: Vec::new() };
    let mut order = LocationOrder::default();
    let prefixes = order.prefix_groups(&level, 0);
    let regexes = level.regexes(None);
    let mut out = order.exact;
    // Those of the innermost prefix come first. Those of one depth exclude each other.
    order.inner_regexes.sort_by_key(|one| Reverse(one.depth));
    out.extend(order.inner_regexes.into_iter().flat_map(|one| one.blocks));
    let has_regexes = !regexes.is_empty();
    let sorted = SortedPrefixes::of(&nodes);
    let mut later = Vec::new();
    for PrefixGroup { node, blocks } in prefixes {
        if has_regexes && node.path.kind == LocationMatch::Final {
            let longer =
                sorted.longer(node.path.text).filter(|one| one.path.kind == LocationMatch::Prefix);
            let others: Vec<&str> = longer.map(|one| one.path.text).collect();
            out.extend(blocks.into_iter().map(|block| without(block, &others)));
        } else {
            later.extend(blocks);
        }
    }
    out.extend(regexes);
    out.extend(later);
    out
}

/// A prefix location with the prefix locations within it, the longest first.
struct PrefixGroup<'n, 't> {
    node: &'n LocationNode<'t>,
    blocks: Vec<LocationBlock<'t>>,
}

fn nodes<'t>(level: &'t [Directive], notes: &mut ConversionNotes) -> Vec<LocationNode<'t>> {
    let mut out = Vec::new();
    for directive in level.iter().filter(|one| one.name == "location") {
        let path = LocationPath::read(directive);
        if path.kind == LocationMatch::Named {
            if !is_reached(level, path.text) && !directive.is_settled() {
                let reason = "there are no internal redirects";
                let instead = "a rule for what should go there";
                notes.left_out(directive.source, &directive.text(), reason, instead);
            }
            continue;
        }
        let inner = nodes(directive.inner(), notes);
        out.push(LocationNode { path, directive, inner });
    }
    out
}

/// Whether a location of this level, or of a level within, falls back to this named location.
fn is_reached(level: &[Directive], name: &str) -> bool {
    level.iter().any(|one| {
        one.name == "location"
            && (fallback(one.inner()) == Some(name) || is_reached(one.inner(), name))
    })
}

/// The location for paths outside of these prefixes.
fn without<'t>(mut block: LocationBlock<'t>, prefixes: &[&str]) -> LocationBlock<'t> {
    let own = block.path.text;
    let others = prefixes.iter().filter(|one| !block.path.is_prefix() || one.starts_with(own));
    let mut all = vec![block.when];
    all.extend(others.map(|one| prefix_condition(one).negate()));
    block.when = match all.len() {
        1 => all.remove(0),
        _ => RuleCondition::All(all),
    };
    block
}

fn prefix_condition(text: &str) -> RuleCondition {
    LocationPath { kind: LocationMatch::Prefix, text }.condition()
}

impl<'n, 't> SortedPrefixes<'n, 't> {
    fn of(nodes: &'n [LocationNode<'t>]) -> SortedPrefixes<'n, 't> {
        let mut sorted: Vec<&LocationNode<'t>> =
            nodes.iter().filter(|node| node.path.is_prefix()).collect();
        sorted.sort_by_key(|node| node.path.text);
        SortedPrefixes(sorted)
    }

    /// The longer prefixes that begin with this one.
    fn longer<'s>(&'s self, text: &'s str) -> impl Iterator<Item = &'n LocationNode<'t>> + 's {
        let begin = self.0.partition_point(|one| one.path.text <= text);
        self.0[begin..].iter().copied().take_while(move |one| one.path.text.starts_with(text))
    }
}

impl<'n, 't> LocationLevel<'n, 't> {
    fn block(&self, node: &LocationNode<'t>) -> LocationBlock<'t> {
        let own = node.path.condition();
        let when = match &self.guard {
            Some(guard) => guard.clone().and(own),
            None => own,
        };
        LocationBlock {
            directive: node.directive,
            outer: self.outer.clone(),
            when,
            path: node.path,
        }
    }

    /// Whether nginx leads requests for this path past the enclosing locations.
    fn is_passed_over(&self, path: &str) -> bool {
        self.preferred.iter().any(|one| path.starts_with(one))
    }

    fn outer_of(&self, node: &LocationNode<'t>) -> Vec<&'t Directive> {
        [&self.outer[..], &[node.directive]].concat()
    }

    /// The expressions of the level in their order, each behind the locations within it. `besides`: a further condition.
    fn regexes(&self, besides: Option<&RuleCondition>) -> Vec<LocationBlock<'t>> {
        let mut out = Vec::new();
        for node in self.nodes.iter().filter(|node| node.path.is_regex()) {
            let mut block = self.block(node);
            if let Some(besides) = besides {
                block.when = besides.clone().and(block.when);
            }
            let level = LocationLevel {
                nodes: &node.inner,
                outer: self.outer_of(node),
                guard: Some(block.when.clone()),
                preferred: Vec::new(),
            };
            out.extend(level.all());
            out.push(block);
        }
        out
    }

    /// All locations within an expression, in their order.
    fn all(&self) -> Vec<LocationBlock<'t>> {
        let mut order = LocationOrder::default();
        let prefixes = order.prefix_groups(self, 0);
        let mut out = order.exact;
        out.extend(order.inner_regexes.into_iter().flat_map(|one| one.blocks));
        out.extend(self.regexes(None));
        out.extend(prefixes.into_iter().flat_map(|group| group.blocks));
        out
    }
}

impl<'t> LocationOrder<'t> {
    /// The prefixes of a level, the longest first. Exact locations and the expressions within prefixes are kept aside.
    fn prefix_groups<'n>(
        &mut self,
        level: &LocationLevel<'n, 't>,
        depth: usize,
    ) -> Vec<PrefixGroup<'n, 't>> {
        for node in level.nodes.iter().filter(|node| node.path.kind == LocationMatch::Exact) {
            if !level.is_passed_over(node.path.text) {
                self.exact.push(level.block(node));
            }
        }
        let sorted = SortedPrefixes::of(level.nodes);
        let mut nodes: Vec<&'n LocationNode<'t>> =
            level.nodes.iter().filter(|node| node.path.is_prefix()).collect();
        nodes.sort_by_key(|node| Reverse(node.path.text.len()));
        let mut out = Vec::new();
        for node in nodes {
            let mut blocks = Vec::new();
            if !node.inner.is_empty() {
                blocks = self.inner_groups(level, node, &sorted, depth);
            }
            if !level.is_passed_over(node.path.text) {
                blocks.push(level.block(node));
            }
            out.push(PrefixGroup { node, blocks });
        }
        out
    }

    /// The prefix locations within a prefix. Its expressions are kept aside.
    fn inner_groups(
        &mut self,
        level: &LocationLevel<'_, 't>,
        node: &LocationNode<'t>,
        sorted: &SortedPrefixes<'_, 't>,
        depth: usize,
    ) -> Vec<LocationBlock<'t>> {
        let text = node.path.text;
        let mut preferred: Vec<&'t str> = sorted.longer(text).map(|one| one.path.text).collect();
        preferred.extend(level.preferred.iter().filter(|one| one.starts_with(text)));
        let inner = LocationLevel {
            nodes: &node.inner,
            outer: level.outer_of(node),
            guard: level.guard.clone(),
            preferred,
        };
        let groups = self.prefix_groups(&inner, depth + 1);
        let mut here = prefix_condition(text);
        let finals = SortedPrefixes::of(&node.inner);
        let finals = finals.0.iter().filter(|one| one.path.kind == LocationMatch::Final);
        let others = inner.preferred.iter().copied().chain(finals.map(|one| one.path.text));
        for other in others {
            here = here.and(prefix_condition(other).negate());
        }
        let blocks = inner.regexes(Some(&here));
        self.inner_regexes.push(InnerRegex { depth, blocks });
        groups.into_iter().flat_map(|group| group.blocks).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The locations by their text, each with its condition.
    fn ordered(text: &str) -> Vec<String> {
        let mut notes = ConversionNotes::new("x");
        let parsed = super::super::tree::parse(text.to_owned(), 1, &mut notes);
        ordered_locations(&parsed, &mut notes)
            .into_iter()
            .map(|one| {
                let when = one.when.simplify(false).to_when().unwrap_or_default();
                format!("{} {when}", one.path.text)
            })
            .collect()
    }

    #[test]
    fn locations_stand_in_the_order_of_nginx() {
        for (text, order) in [
            (
                "location / { } location /a { } location = /a { } location ~ x { }",
                vec![
                    "/a { path = \"/a\" }",
                    "x { path-regex = \".*x.*\" }",
                    "/a { path = \"/a*\" }",
                    "/ ",
                ],
            ),
            // A longer prefix is preferred to one with `^~`.
            (
                "location ^~ /a { } location /a/b { } location ~ x { }",
                vec![
                    "/a { path = \"/a*\", not = { path = \"/a/b*\" } }",
                    "x { path-regex = \".*x.*\" }",
                    "/a/b { path = \"/a/b*\" }",
                ],
            ),
            // `^~` holds for what stands within.
            (
                "location ^~ /a { location /a/b { } } location ~ x { }",
                vec![
                    "/a/b { path = \"/a/b*\" }",
                    "/a { path = \"/a*\" }",
                    "x { path-regex = \".*x.*\" }",
                ],
            ),
            (
                "location /a { location ^~ /a/b { } } location ~ x { }",
                vec![
                    "x { path-regex = \".*x.*\" }",
                    "/a/b { path = \"/a/b*\" }",
                    "/a { path = \"/a*\" }",
                ],
            ),
        ] {
            assert_eq!(ordered(text), order, "{text}");
        }
    }

    #[test]
    fn locations_within_a_location_are_asked_where_it_is_the_longest() {
        for (text, order) in [
            // Expressions within a prefix come before those of the server, and count where it is the longest one.
            (
                "location ~ y { } location /a { location ~ x { } } location /a/b { }",
                vec![
                    "x { path = \"/a*\", not = { path = \"/a/b*\" }, path-regex = \".*x.*\" }",
                    "y { path-regex = \".*y.*\" }",
                    "/a/b { path = \"/a/b*\" }",
                    "/a { path = \"/a*\" }",
                ],
            ),
            (
                "location /a { location ^~ /a/b { location ~ y { } } location ~ x { } }",
                vec![
                    "y { path = \"/a/b*\", path-regex = \".*y.*\" }",
                    "x { path = \"/a*\", not = { path = \"/a/b*\" }, path-regex = \".*x.*\" }",
                    "/a/b { path = \"/a/b*\" }",
                    "/a { path = \"/a*\" }",
                ],
            ),
            // What stands within a shorter prefix is never reached.
            (
                "location /a { location /a/b/c { } location = /a/b/d { } } location /a/b { }",
                vec!["/a/b { path = \"/a/b*\" }", "/a { path = \"/a*\" }"],
            ),
            (
                "location ~ ^/x { location ~ y { } }",
                vec![
                    "y { path-regex = \"/x.*\", all = [{ path-regex = \".*y.*\" }] }",
                    "^/x { path-regex = \"/x.*\" }",
                ],
            ),
        ] {
            assert_eq!(ordered(text), order, "{text}");
        }
    }
}
