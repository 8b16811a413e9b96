//! New paths of rewrites and redirects, as templates of the configuration.
//!
//! The replacement of a prefix keeps whole segments. What that means differs for the prefix alone, the prefix with a slash,
//! and what goes on behind it: each is a rule of its own.

use crate::backends::ConditionFailure;
use crate::objects::routes::PathModifier;
use crate::rule_match::PathPlan;

/// A path that is matched, and what is put in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathSubstitution {
    pub path: PathPlan,
    /// A template; `None`: the path stays.
    pub new_path: Option<String>,
}

/// The variants of a match.
///
/// # Errors
/// The modifier is of an unknown type, lacks its text, or does not fit the match.
pub fn path_variants(
    path: &PathPlan,
    modifier: Option<&PathModifier>,
) -> Result<Vec<PathSubstitution>, ConditionFailure> {
    let one = |path: PathPlan, new_path: Option<String>| PathSubstitution { path, new_path };
    let Some(modifier) = modifier else { return Ok(vec![one(path.clone(), None)]) };
    match modifier.kind.as_str() {
        "ReplaceFullPath" => {
            let text = literal(modifier.replace_full_path.as_deref())?;
            let whole = if text.is_empty() { "/".to_owned() } else { text };
            Ok(vec![one(path.clone(), Some(whole))])
        }
        "ReplacePrefixMatch" => {
            let text = literal(modifier.replace_prefix_match.as_deref())?;
            let base = text.trim_end_matches('/');
            let alone = if text.is_empty() { "/".to_owned() } else { text.clone() };
            match path {
                PathPlan::Any => Ok(vec![one(PathPlan::Any, Some(format!("{base}{{path}}")))]),
                PathPlan::Prefix(prefix) if !prefix.contains(['*', '?']) => Ok(vec![
                    one(PathPlan::Exact(prefix.clone()), Some(alone)),
                    one(PathPlan::Exact(format!("{prefix}/")), Some(format!("{base}/"))),
                    one(PathPlan::Pattern(format!("{prefix}/*")), Some(format!("{base}/{{rest}}"))),
                ]),
                _ => {
                    let message = "ReplacePrefixMatch needs matches of type PathPrefix without `*`";
                    Err(ConditionFailure::new("UnsupportedValue", message))
                }
            }
        }
        other => {
            let message = format!("a path modifier of type {other} is not supported");
            Err(ConditionFailure::new("UnsupportedValue", message))
        }
    }
}

/// A text that a template takes as it stands.
fn literal(text: Option<&str>) -> Result<String, ConditionFailure> {
    let text = text.unwrap_or_default();
    if text.contains(['{', '}']) {
        let message = format!("a brace in the path `{text}` is not supported");
        return Err(ConditionFailure::new("UnsupportedValue", message));
    }
    if !text.is_empty() && !text.starts_with('/') {
        let message = format!("the path `{text}` does not begin with a slash");
        return Err(ConditionFailure::new("UnsupportedValue", message));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variants(prefix: &str, text: &str) -> Vec<String> {
        let modifier = PathModifier {
            kind: "ReplacePrefixMatch".to_owned(),
            replace_full_path: None,
            replace_prefix_match: Some(text.to_owned()),
        };
        let path = PathPlan::Prefix(prefix.to_owned());
        let found = path_variants(&path, Some(&modifier)).unwrap();
        found.into_iter().map(|one| one.new_path.unwrap()).collect()
    }

    #[test]
    fn a_prefix_is_replaced_by_whole_segments() {
        assert_eq!(variants("/foo", "/xyz"), ["/xyz", "/xyz/", "/xyz/{rest}"]);
        assert_eq!(variants("/foo", "/xyz/"), ["/xyz/", "/xyz/", "/xyz/{rest}"]);
        assert_eq!(variants("/foo", ""), ["/", "/", "/{rest}"]);
        assert_eq!(variants("/foo", "/"), ["/", "/", "/{rest}"]);
    }
}
