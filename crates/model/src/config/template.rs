//! Texts with places that are filled from a request: where a redirect leads, what a path becomes.
//!
//! What is put in comes from a head that was found to be good, so that nothing in it can end a line.

/// The longest template.
const LONGEST: usize = 2_048;

/// The longest text that one may become.
pub const FILLED: usize = 16 * 1_024;

/// A parsed template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Host,
    Path,
    Query,
    Rest,
    Group(usize),
}

/// What is put in.
#[derive(Clone, Copy, Debug, Default)]
pub struct Filling<'a> {
    /// The host asked for, with its port.
    pub host: &'a [u8],
    /// The path.
    pub path: &'a [u8],
    /// The query with its `?`, or nothing.
    pub query: &'a [u8],
    /// What the last `*` of the rule's path stood for.
    pub rest: &'a [u8],
    /// Groups of the rule's expression, from the first on.
    pub groups: [&'a [u8]; 9],
}

impl Template {
    /// `None`: a place of another name, or a brace without its fellow.
    pub fn parse(text: &str) -> Option<Template> {
        if text.is_empty() || text.len() > LONGEST {
            return None;
        }
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}')?;
            if before.contains('}') {
                return None;
            }
            if !before.is_empty() {
                pieces.push(Piece::Text(before.to_owned()));
            }
            pieces.push(match name {
                "host" => Piece::Host,
                "path" => Piece::Path,
                "query" => Piece::Query,
                "rest" => Piece::Rest,
                _ => match name.parse::<usize>() {
                    Ok(group @ 1..=9) if name.len() == 1 => Piece::Group(group - 1),
                    _ => return None,
                },
            });
            rest = after;
        }
        if rest.contains('}') {
            return None;
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest.to_owned()));
        }
        Some(Template(pieces))
    }

    /// Appends it with its places filled, at most `FILLED` bytes.
    pub fn fill(&self, with: &Filling<'_>, into: &mut Vec<u8>) {
        let end = into.len() + FILLED;
        for piece in &self.0 {
            into.extend_from_slice(match piece {
                Piece::Text(text) => text.as_bytes(),
                Piece::Host => with.host,
                Piece::Path => with.path,
                Piece::Query => with.query,
                Piece::Rest => with.rest,
                Piece::Group(group) => with.groups.get(*group).copied().unwrap_or_default(),
            });
        }
        into.truncate(end);
    }

    /// Whether it needs the query.
    pub fn has_query(&self) -> bool {
        self.0.contains(&Piece::Query)
    }

    /// Whether a group is put in.
    pub fn has_groups(&self) -> bool {
        self.0.iter().any(|piece| matches!(piece, Piece::Group(_)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_filled() {
        let with = Filling {
            host: b"shop.example:8080",
            path: b"/a/b",
            query: b"?q=1",
            rest: b"b",
            groups: [b"one", b"two", b"", b"", b"", b"", b"", b"", b""],
        };
        let filled = |text: &str| {
            let mut out = Vec::new();
            Template::parse(text).unwrap().fill(&with, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(filled("https://{host}{path}{query}"), "https://shop.example:8080/a/b?q=1");
        assert_eq!(filled("/new/{rest}/{2}{1}{3}"), "/new/b/twoone");
        for text in ["", "{", "}", "{none}", "{0}", "{10}", "a}b{host}", &"a".repeat(3_000)] {
            assert_eq!(Template::parse(text), None, "{text}");
        }
    }
}
