//! The path that a `rewrite` gives, and the location that nginx finds for it.

use crate::condition::RuleCondition;
use crate::expression_search;

use super::compared_value::path_search;
use super::location::{LocationMatch, LocationPath};
use super::tree::Directive;
use super::variables::template;

/// The path that a `rewrite` gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPath {
    /// With the groups of the expression, as rules write them.
    pub template: String,
    /// What stands before the first variable.
    pub fixed: String,
    is_fixed: bool,
}

/// The condition of a `rewrite`. It holds for all paths where the expression cannot be read.
pub fn rewrite_condition(rewrite: &Directive) -> RuleCondition {
    path_condition(rewrite).at_least()
}

/// The paths that a `rewrite` certainly changes.
pub fn certain_condition(rewrite: &Directive) -> RuleCondition {
    path_condition(rewrite).at_most()
}

/// Whether the expression of a `rewrite` can be read.
pub fn is_readable(rewrite: &Directive) -> bool {
    path_condition(rewrite).unknown().is_none()
}

fn path_condition(rewrite: &Directive) -> RuleCondition {
    match rewrite.word(0) {
        "^" | "^.*" | "^.*$" | ".*" => RuleCondition::Is(true),
        text => path_search(text, false),
    }
}

/// Whether an expression may match a path with this beginning.
pub fn may_match(expression: &str, ignore_case: bool, fixed: &str) -> bool {
    let Some(body) = expression.strip_prefix('^').filter(|body| !body.contains('|')) else {
        return true;
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || "/-_".contains(c);
    let mut literal: String = body.chars().take_while(|c| plain(*c)).collect();
    let next = body.chars().nth(literal.len());
    if next.is_some_and(|c| "?*{".contains(c)) {
        literal.pop();
    }
    let lower = |text: &str| if ignore_case { text.to_ascii_lowercase() } else { text.to_owned() };
    let literal = lower(&literal);
    let fixed = lower(fixed);
    literal.starts_with(&fixed) || fixed.starts_with(&literal)
}

impl NewPath {
    /// The path that a `rewrite` gives. `to`: its replacement, with the values of variables that are known.
    pub fn read(to: &str, tls: bool, server_name: Option<&str>) -> Option<NewPath> {
        let template = template(to, tls, server_name).ok()?;
        // A query in the new path would come before the request's own one.
        let is_path = template.starts_with('/') && !template.contains(['?', '#']);
        if !is_path || template.contains("{query}") {
            return None;
        }
        let end = to.find('$').unwrap_or(to.len());
        let fixed = to.get(..end).unwrap_or_default().to_owned();
        Some(NewPath { template, is_fixed: end == to.len(), fixed })
    }

    /// The path that servers get from a location.
    pub fn passed_on(
        &self,
        location: LocationPath<'_>,
        pass: &Directive,
        uri: Option<&str>,
    ) -> Option<String> {
        // Variables of the path still mean the client's one.
        if pass.peek(0).contains('$') {
            return None;
        }
        let Some(uri) = uri else { return Some(self.template.clone()) };
        if uri.contains(['{', '}', '?', '#']) {
            return None;
        }
        match location.kind {
            LocationMatch::Exact => Some(uri.to_owned()),
            LocationMatch::Prefix | LocationMatch::Final
                if self.fixed.starts_with(location.text) =>
            {
                Some(format!("{uri}{}", self.template.get(location.text.len()..)?))
            }
            _ => None,
        }
    }

    /// The location that nginx finds for the path.
    ///
    /// # Errors
    /// The fixed part does not tell.
    pub fn look_up<'t>(&self, level: &'t [Directive]) -> Result<&'t Directive, &'static str> {
        const UNCLEAR: &str = "which location takes the new path depends on the request";
        let locations = || level.iter().filter(|one| one.name == "location");
        let read = |one: &&'t Directive| LocationPath::read(one);
        let mut longest: Option<LocationPath<'t>> = None;
        let mut found = None;
        for directive in locations() {
            let path = read(&directive);
            let is_rival = !self.is_fixed && path.text.starts_with(&self.fixed);
            match path.kind {
                LocationMatch::Exact if self.is_fixed && path.text == self.fixed => {
                    return Ok(directive);
                }
                LocationMatch::Exact if is_rival => return Err(UNCLEAR),
                _ if !path.is_prefix() => {}
                _ if self.fixed.starts_with(path.text) => {
                    let is_longer = longest.is_none_or(|known| known.text.len() < path.text.len());
                    longest = if is_longer { Some(path) } else { longest };
                    found = if is_longer { Some(directive) } else { found };
                }
                // nginx would redirect to the location with a slash.
                _ if is_rival || path.text.strip_suffix('/') == Some(&self.fixed) => {
                    return Err(UNCLEAR);
                }
                _ => {}
            }
        }
        if longest.is_none_or(|path| path.kind == LocationMatch::Prefix) {
            for directive in locations() {
                let path = read(&directive);
                let LocationMatch::Regex { ignore_case } = path.kind else { continue };
                let matches = match self.is_fixed {
                    true => expression_search::search(path.text, ignore_case, &self.fixed),
                    false => {
                        Some(false).filter(|_| !may_match(path.text, ignore_case, &self.fixed))
                    }
                };
                match matches {
                    Some(true) => return Ok(directive),
                    Some(false) => {}
                    None => return Err(UNCLEAR),
                }
            }
        }
        found.ok_or("no location takes the new path")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notes::ConversionNotes;

    #[test]
    fn a_new_path_is_looked_up_by_its_fixed_part() {
        let server = "location / { } location = /b { } location /c/ { } location ^~ /d/ { }\n\
                      location ~ ^/e { } location ~* \\.php$ { } location /f { } location /f/g { }";
        let mut notes = ConversionNotes::new("x");
        let level = super::super::tree::parse(server.to_owned(), 1, &mut notes);
        for (to, found) in [
            ("/b", Some("= /b")),
            ("/bc", Some("/")),
            ("/c/x", Some("/c/")),
            ("/c", None),
            ("/d/$1", Some("^~ /d/")),
            ("/d/x.php", Some("^~ /d/")),
            ("/c/x.PHP", Some("~* \\.php$")),
            ("/ex", Some("~ ^/e")),
            ("/c/$1", None),
            ("/f/h", Some("/f")),
        ] {
            let path = NewPath::read(to, false, None).unwrap();
            let text = path.look_up(&level).ok().map(|one| one.text());
            let text = text.as_deref().and_then(|text| text.strip_prefix("location "));
            assert_eq!(text, found, "{to}");
        }
        for to in ["/a?b=c", "/a?", "a", "/$cookie_a", "/a$is_args$args"] {
            assert_eq!(NewPath::read(to, false, None), None, "{to}");
        }
    }

    #[test]
    fn expressions_with_another_beginning_do_not_match() {
        for (expression, fixed, may) in [
            ("^/a", "/b/", false),
            ("^/b", "/b/", true),
            ("^/b/c", "/b/", true),
            ("^/a*", "/b/", true),
            ("^/a|x", "/b/", true),
            ("a", "/b/", true),
            ("^/B", "/b/", false),
        ] {
            assert_eq!(may_match(expression, false, fixed), may, "{expression} {fixed}");
        }
        assert!(may_match("^/B", true, "/b/"));
    }
}
