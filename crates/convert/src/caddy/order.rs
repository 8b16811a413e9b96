//! The order in which Caddy runs directives: by kind, then the most specific path first.

use std::cmp::Ordering;
use std::rc::Rc;

use crate::notes::ConversionNotes;
use crate::statement::ConfigStatement;

use super::matcher::NamedMatchers;
use super::stable_sort::sort_stable;

/// Caddy's standard order of HTTP directives.
const STANDARD: [&str; 33] = [
    "tracing",
    "map",
    "vars",
    "fs",
    "root",
    "log_append",
    "log_skip",
    "log_name",
    "header",
    "copy_response_headers",
    "request_body",
    "redir",
    "method",
    "rewrite",
    "uri",
    "try_files",
    "basic_auth",
    "forward_auth",
    "request_header",
    "encode",
    "push",
    "intercept",
    "templates",
    "invoke",
    "handle",
    "route",
    "abort",
    "error",
    "copy_response",
    "respond",
    "metrics",
    "reverse_proxy",
    "php_fastcgi",
];
/// Directives that belong to the whole site, and matchers.
const OF_THE_SITE: [&str; 5] = ["tls", "bind", "log", "handle_errors", "import"];

/// The order of directives in this file.
#[derive(Clone, Debug)]
pub struct DirectiveOrder {
    names: Vec<String>,
}

/// A directive with the matcher at its beginning.
#[derive(Clone, Debug)]
pub struct RouteStep<'t> {
    pub statement: &'t ConfigStatement,
    /// The matcher, or an empty text.
    pub token: &'t str,
    /// The position of the first argument behind the matcher.
    pub from: usize,
    pub matchers: Rc<NamedMatchers<'t>>,
}

impl RouteStep<'_> {
    /// An argument behind the matcher, or an empty text.
    pub fn word(&self, at: usize) -> &str {
        self.statement.word(self.from + at)
    }

    /// The number of arguments behind the matcher.
    pub fn count(&self) -> usize {
        self.statement.count().saturating_sub(self.from)
    }

    /// The name, with one name for spellings of the same directive.
    pub fn kind(&self) -> &str {
        normal_name(&self.statement.name)
    }
}

fn normal_name(name: &str) -> &str {
    match name {
        "handle_path" => "handle",
        "basicauth" => "basic_auth",
        "skip_log" => "log_skip",
        "file_server" | "acme_server" => name,
        name => name,
    }
}

impl DirectiveOrder {
    pub fn standard() -> DirectiveOrder {
        let tail = ["file_server", "acme_server"];
        DirectiveOrder {
            names: STANDARD.iter().chain(&tail).map(|name| (*name).to_owned()).collect(),
        }
    }

    /// Applies a global `order NAME first|last|before NAME|after NAME`.
    pub fn apply(&mut self, order: &ConfigStatement, notes: &mut ConversionNotes) {
        let name = normal_name(order.word(0)).to_owned();
        let known = self.names.iter().position(|one| *one == name);
        let place =
            |names: &[String], other: &str| names.iter().position(|one| one == normal_name(other));
        self.names.retain(|one| *one != name);
        let at = match order.word(1) {
            "first" => Some(0),
            "last" => Some(self.names.len()),
            "before" => place(&self.names, order.word(2)),
            "after" => place(&self.names, order.word(2)).map(|at| at + 1),
            _ => None,
        };
        match at.or(known) {
            Some(at) => self.names.insert(at.min(self.names.len()), name),
            None => return order.leave_out("there is no such place", "", notes),
        }
        if known.is_none() {
            return order.leave_out("the directive of a plugin is not known here", "", notes);
        }
        order.settle_converted(notes);
    }

    fn rank(&self, name: &str) -> usize {
        self.names.iter().position(|one| one == name).unwrap_or(0)
    }

    /// Whether a step runs before one that is written before it.
    fn runs_before(&self, step: &RouteStep<'_>, other: &RouteStep<'_>) -> bool {
        if step.kind() != other.kind() {
            return self.rank(step.kind()) < self.rank(other.kind());
        }
        let path = |step: &RouteStep<'_>| step.matchers.only_path(step.token);
        if let (Some(path), Some(other)) = (path(step), path(other)) {
            let own = path.strip_suffix('*').unwrap_or(&path);
            let others = other.strip_suffix('*').unwrap_or(&other);
            // The longer path first, without its star; of the same path the one without a star.
            return match own.len().cmp(&others.len()) {
                Ordering::Greater => true,
                Ordering::Less => false,
                Ordering::Equal if own == others => path.len() < other.len(),
                Ordering::Equal => own < others,
            };
        }
        let is_general = |step: &RouteStep<'_>| step.token.is_empty() || step.token == "*";
        !is_general(step) && is_general(other)
    }

    /// The steps of a block, in the order in which they run. `written`: as they are written.
    pub fn steps<'t>(
        &self,
        directives: &'t [ConfigStatement],
        outer: &NamedMatchers<'t>,
        written: bool,
    ) -> Vec<RouteStep<'t>> {
        let matchers = Rc::new(outer.within(directives));
        let is_step = |one: &&ConfigStatement| {
            !one.name.starts_with('@') && !OF_THE_SITE.contains(&one.name.as_str())
                || one.name == "import"
        };
        let mut steps: Vec<RouteStep<'t>> =
            directives.iter().filter(is_step).map(|one| step(one, &matchers)).collect();
        if !written {
            sort_stable(&mut steps, &|step, other| self.runs_before(step, other));
        }
        steps
    }
}

fn step<'t>(statement: &'t ConfigStatement, matchers: &Rc<NamedMatchers<'t>>) -> RouteStep<'t> {
    let first = statement.peek(0);
    let alone = matches!(statement.name.as_str(), "rewrite" | "root" | "try_files");
    let is_token = first.starts_with('@')
        || (first.starts_with('/') || first == "*") && !(alone && statement.count() == 1);
    let is_token = is_token && !matches!(statement.name.as_str(), "import" | "map" | "vars");
    let token = if is_token { statement.word(0) } else { "" };
    RouteStep { statement, token, from: usize::from(is_token), matchers: Rc::clone(matchers) }
}
