//! `split_clients`: shares of clients.

use std::borrow::Cow;

use super::tree::Directive;

/// A value and its share, in hundredths of a percent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitBranch<'t> {
    pub value: Cow<'t, str>,
    pub weight: u32,
}

/// All, in hundredths of a percent.
const WHOLE: u32 = 10_000;

/// The shares of a `split_clients` block. `None` if one is no share, or if they are more than all.
pub fn shares(split: &Directive) -> Option<Vec<SplitBranch<'_>>> {
    let mut out = Vec::new();
    let mut left = WHOLE;
    let mut rest = "";
    for entry in split.inner() {
        let value = entry.peek(0);
        if entry.name == "*" {
            rest = value;
            continue;
        }
        let weight = hundredths(&entry.name)?;
        left = left.checked_sub(weight)?;
        out.push(SplitBranch { value: Cow::Borrowed(value), weight });
    }
    // What no share takes has the value of `*`, or an empty one.
    if left > 0 {
        out.push(SplitBranch { value: Cow::Borrowed(rest), weight: left });
    }
    let divisor = out.iter().fold(0, |known, one| common_divisor(known, one.weight)).max(1);
    out.iter_mut().for_each(|one| one.weight /= divisor);
    Some(out)
}

/// `12.5%` as 1,250.
fn hundredths(text: &str) -> Option<u32> {
    let number = text.strip_suffix('%')?;
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    let part = match part.len() {
        1 => part.parse::<u32>().ok()? * 10,
        2 => part.parse::<u32>().ok()?,
        _ => return None,
    };
    let whole = whole.parse::<u32>().ok().filter(|whole| *whole <= 100)?;
    Some(whole * 100 + part)
}

fn common_divisor(one: u32, other: u32) -> u32 {
    if other == 0 { one } else { common_divisor(other, one % other) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percents_are_hundredths() {
        for (text, found) in [
            ("10%", Some(1_000)),
            ("0.5%", Some(50)),
            ("33.33%", Some(3_333)),
            ("10", None),
            ("1.234%", None),
            ("101%", None),
            ("x%", None),
        ] {
            assert_eq!(hundredths(text), found, "{text}");
        }
        assert_eq!(common_divisor(1_000, 9_000), 1_000);
    }
}
