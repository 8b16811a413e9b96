//! Name patterns of the command line: one name, several with commas, and `*` as wildcard within each.

use crate::outcome::CommandError;

/// Whether a name fits a pattern, in which `*` stands for anything.
pub fn matches_pattern(pattern: &str, name: &str) -> bool {
    let Some((before, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(left) = name.strip_prefix(before) else { return false };
    (0..=left.len()).any(|at| left.get(at..).is_some_and(|left| matches_pattern(rest, left)))
}

/// Whether one of a list of patterns fits a name.
pub fn matches_any(list: &str, name: &str) -> bool {
    list.split(',').any(|pattern| matches_pattern(pattern.trim(), name))
}

/// Rejects a list with a pattern that matches no service or pool.
///
/// # Errors
///
/// Names the pattern, and the existing objects.
pub fn check_patterns(list: &str, names: &[&str]) -> Result<(), CommandError> {
    let nobody = |pattern: &&str| !names.iter().any(|name| matches_pattern(pattern, name));
    let Some(pattern) = list.split(',').map(str::trim).find(nobody) else { return Ok(()) };
    let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let called = if pattern.contains('*') { "fits" } else { "is called" };
    Err(CommandError::Absent(format!(
        "no service or pool {called} '{pattern}'; there are: {there}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, name, expected) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("*", "anything", true),
            ("*", "", true),
            ("a-*", "a-1", true),
            ("a-*", "b-1", false),
            ("*-1", "a-1", true),
            ("a*c*e", "abcde", true),
            ("a*c*e", "abde", false),
            ("**", "x", true),
            ("é*", "éa", true),
        ] {
            assert_eq!(matches_pattern(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn of_a_list_each_must_fit_something() {
        assert!(matches_any("shop, w*", "web") && !matches_any("shop,w*", "api"));
        let names = ["shop", "web"];
        assert!(check_patterns("shop,w*", &names).is_ok() && check_patterns("*", &names).is_ok());
        let error_text = |list| check_patterns(list, &names).unwrap_err().to_string();
        assert_eq!(
            error_text("shop,wep"),
            "no service or pool is called 'wep'; there are: shop, web"
        );
        assert_eq!(error_text("x*"), "no service or pool fits 'x*'; there are: shop, web");
        assert!(check_patterns("a", &[]).unwrap_err().to_string().ends_with("there are: none"));
    }
}
