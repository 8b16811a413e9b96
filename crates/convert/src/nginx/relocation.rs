//! `rewrite` to a path that nginx looks up again among the locations.
//!
//! Rules are not asked again for a new path. So the location is looked up here, as far as the fixed part of the path tells
//! which one it is.

use super::content::ContentWriter;
use super::location::{LocationBlock, LocationPath};
use super::new_path::{NewPath, is_readable, may_match, rewrite_condition};
use super::rule::NginxRule;
use super::tree::Directive;

const INSTEAD: &str = "`rewrite.path` in a rule with `path-regex`";

impl<'t> ContentWriter<'_, 't> {
    /// The rules of a `rewrite` whose new path is looked up again. `later`: the directives that nginx still
    /// runs; `None`: they are not known.
    pub(super) fn relocated_rules(
        &mut self,
        rewrite: &Directive,
        later: Option<&[Directive]>,
    ) -> Vec<NginxRule> {
        let when = rewrite_condition(rewrite);
        let found = self.relocation(rewrite, later);
        let rules = found.map(|found| {
            rewrite.mark_converted();
            let path = LocationPath::read(found.directive);
            let place = LocationBlock {
                directive: found.directive,
                outer: Vec::new(),
                when: when.clone(),
                path,
            };
            let before = self.new_path.replace(found.path);
            let media_type = self.media_type.clone();
            let rules = self.location(&place);
            self.media_type = media_type;
            self.new_path = before;
            rules
        });
        rules.unwrap_or_else(|reason| {
            let reason = format!("{reason}; so that no server gets another one, clients get 502");
            self.notes.left_out(rewrite.source, &rewrite.text(), &reason, INSTEAD);
            let text = rewrite.text();
            vec![NginxRule::single_key(when, "answer", "502", rewrite.source, &text)]
        })
    }

    /// The new path of a `rewrite`, and its location.
    ///
    /// # Errors
    /// Why that is not known.
    fn relocation(
        &mut self,
        rewrite: &Directive,
        later: Option<&[Directive]>,
    ) -> Result<RelocatedPath<'t>, &'static str> {
        if !is_readable(rewrite) {
            return Err("the expression is one that only PCRE reads");
        }
        let to = self.fill(rewrite.word(1));
        let path = NewPath::read(&to, self.tls, self.name);
        let path = path.ok_or("the new path has a query, or variables that are not known")?;
        if self.new_path.is_some() {
            return Err("the path was changed before");
        }
        let later = later.ok_or("nginx goes on behind the block with the new path")?;
        let changes_again = later.iter().any(|one| match one.name.as_str() {
            "return" | "if" => true,
            "rewrite" => may_match(one.peek(0), false, &path.fixed),
            _ => false,
        });
        if changes_again {
            return Err("further directives look at the new path");
        }
        let directive = path.look_up(self.server_level)?;
        let looks_at_path = |one: &Directive| match one.name.as_str() {
            "rewrite" | "location" | "try_files" => true,
            "if" => one.text().contains("uri") || !one.inner().iter().all(|one| one.name == "set"),
            _ => one.text().contains("uri") && one.name != "proxy_pass",
        };
        if directive.inner().iter().any(looks_at_path) {
            return Err("the location of the new path looks at it, too");
        }
        Ok(RelocatedPath { path, directive })
    }
}

/// A new path with its location.
struct RelocatedPath<'t> {
    path: NewPath,
    directive: &'t Directive,
}
