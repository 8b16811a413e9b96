//! A prefix that `handle_path` or `uri strip_prefix` takes off paths.

use crate::condition::RuleCondition;
use crate::value;

use super::order::RouteStep;
use super::path_state::{self, PathState};
use super::route_state::RouteState;

/// Where paths with the prefix may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PrefixEnd {
    /// The path is the prefix.
    Whole,
    /// A slash follows.
    Slash,
    /// Anything follows.
    Open,
}

/// A prefix without wildcards and without a slash at its end. Empty: nothing is taken off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrefixStrip {
    prefix: String,
    end: PrefixEnd,
}

/// The prefix of a text. `None`: it is none that can be taken off.
fn read(text: &str, end: PrefixEnd) -> Option<PrefixStrip> {
    let is_whole = end == PrefixEnd::Whole;
    let good = text.is_empty() && end == PrefixEnd::Slash
        || text.starts_with('/') && (is_whole || !text.ends_with('/'));
    let good = good && !text.contains(['*', '?', '[', '\\', '%', '{', '}', '#']);
    (good && !text.contains("//")).then(|| PrefixStrip { prefix: text.to_owned(), end })
}

impl PrefixStrip {
    /// That of `handle_path`. `None`: the directive is another one, or has none that can be taken off.
    pub fn handled(step: &RouteStep<'_>) -> Option<PrefixStrip> {
        if step.statement.name != "handle_path" {
            return None;
        }
        let token = step.token;
        match (token.strip_suffix("/*"), token.strip_suffix('*')) {
            (Some(prefix), _) => read(prefix, PrefixEnd::Slash),
            (None, Some(prefix)) => read(prefix, PrefixEnd::Open),
            (None, None) => read(token, PrefixEnd::Whole),
        }
    }

    /// That of `uri strip_prefix`. `None`: it cannot be taken off.
    pub fn of_uri(step: &RouteStep<'_>) -> Option<PrefixStrip> {
        let text = step.word(1);
        let prefix = if text.starts_with('/') { text.to_owned() } else { format!("/{text}") };
        read(&prefix, PrefixEnd::Open)
    }

    /// Whether paths may go on behind it without a slash.
    pub fn is_open(&self) -> bool {
        self.end == PrefixEnd::Open
    }

    /// The condition of paths that it is taken off, as they are at this point.
    pub fn below(&self, path: &PathState) -> RuleCondition {
        path_state::below(&self.prefix, path)
    }

    /// The condition of all paths that begin with it.
    pub fn begins(&self, path: &PathState) -> RuleCondition {
        path_state::path_condition(&[format!("{}*", self.prefix)], path)
    }

    /// Whether every path that this matcher fits has the prefix with a slash behind it.
    pub fn is_implied_by(&self, token: &str) -> bool {
        token.strip_suffix("/*").is_some_and(|text| text.eq_ignore_ascii_case(&self.prefix))
    }

    /// Takes it off a path that begins with it.
    pub fn apply(&self, state: &mut RouteState) {
        if self.prefix.is_empty() {
            return;
        }
        let outer = match &state.path {
            PathState::Original => "",
            PathState::Stripped(outer) => outer.as_str(),
            PathState::Fixed(path) => {
                let rest = path.get(self.prefix.len()..).unwrap_or_default().to_owned();
                let sent = if rest.is_empty() { "/" } else { rest.as_str() };
                state.edits.set_key("path", value::quote(sent));
                state.path = PathState::Fixed(rest);
                return;
            }
            PathState::Changed => {
                state.closed = Some(502);
                return;
            }
        };
        let whole = format!("{outer}{}", self.prefix);
        state.edits.set_key("strip", value::quote(&whole));
        state.path = match self.end {
            PrefixEnd::Whole => PathState::Fixed(String::new()),
            PrefixEnd::Slash | PrefixEnd::Open => PathState::Stripped(whole),
        };
    }
}
