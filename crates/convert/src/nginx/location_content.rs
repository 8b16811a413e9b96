//! What a location forwards, and how: its own directives, or those of an `if` block within.

use super::location::LocationBlock;
use super::scope::DirectiveScope;
use super::tree::Directive;

/// What a location, or an `if` block within, does with requests.
pub struct LocationContent<'x, 't> {
    pub place: &'x LocationBlock<'t>,
    /// `proxy_pass` or `grpc_pass`.
    pub pass: Option<&'t Directive>,
    /// The directives whose paths are rewritten here.
    pub level: &'t [Directive],
    pub scope: DirectiveScope<'t>,
}

impl<'x, 't> LocationContent<'x, 't> {
    pub fn new(
        place: &'x LocationBlock<'t>,
        level: &'t [Directive],
        scope: DirectiveScope<'t>,
    ) -> LocationContent<'x, 't> {
        LocationContent { place, pass: find_pass(level), level, scope }
    }

    /// The content of an `if` block, which has what it does not say itself from the location.
    pub fn within(&self, block: &'t Directive) -> LocationContent<'x, 't> {
        let level = block.inner();
        let around = self.pass.filter(|_| find_foreign_pass(level).is_none());
        let pass = find_pass(level).or(around);
        LocationContent { place: self.place, pass, level, scope: self.scope.nested(level) }
    }
}

/// The directive of a level that names servers.
pub fn find_pass(level: &[Directive]) -> Option<&Directive> {
    level.iter().find(|one| matches!(one.name.as_str(), "proxy_pass" | "grpc_pass"))
}

/// The directive of a level that has requests answered by something else than HTTP servers.
pub fn find_foreign_pass(level: &[Directive]) -> Option<&Directive> {
    level.iter().find(|one| {
        let name = one.name.as_str();
        let passes = matches!(
            name,
            "fastcgi_pass" | "uwsgi_pass" | "scgi_pass" | "memcached_pass" | "js_content" | "perl"
        );
        passes || name.starts_with("content_by_lua")
    })
}
