//! What `rewrite` and `if` do at their level: whether they end it, and what they change.

use super::foreign_guards::is_guard;
use super::location_content::{find_foreign_pass, find_pass};
use super::tree::Directive;

/// The level whose directives are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RewritePhase {
    Server,
    Location,
    /// An `if` block. Behind it nginx goes on with the level around.
    Block,
}

/// Whether a `rewrite` sends the client elsewhere.
pub fn is_redirect(directive: &Directive) -> bool {
    let to = directive.peek(1);
    matches!(directive.peek(2), "permanent" | "redirect")
        || ["http://", "https://", "$scheme"].iter().any(|begin| to.starts_with(begin))
}

/// Whether a `rewrite` ends the directives that nginx runs, and leaves the location.
pub fn is_break(directive: &Directive) -> bool {
    directive.name == "rewrite" && directive.peek(2) == "break" && !is_redirect(directive)
}

/// Whether an `if` block ends the request's way through its level: by an answer, or by a path that is looked up again.
pub fn answers(block: &Directive) -> bool {
    block.inner().iter().any(|one| match one.name.as_str() {
        "return" => true,
        "rewrite" => !is_break(one),
        _ => false,
    })
}

/// Whether a block changes more than variables.
pub fn changes_content(block: &Directive) -> bool {
    block.inner().iter().any(|one| !matches!(one.name.as_str(), "set" | "break"))
}

/// Whether requests go to other servers, or with another path.
pub fn changes_target(block: &Directive) -> bool {
    let inner = block.inner();
    find_pass(inner).is_some()
        || find_foreign_pass(inner).is_some()
        || inner.iter().any(|one| is_guard(one, false))
        || inner.iter().any(|one| one.name == "rewrite")
}
