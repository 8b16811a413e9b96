//! Converts names with non-ASCII letters to their wire form (RFC 3492, RFC 5890), for suggestions in messages. Pure.
//!
//! It lowers upper case. Other mappings of IDNA are left to the author of the name.

/// The parameters of Punycode (RFC 3492 §5).
const BASE: u32 = 36;
const LEAST: u32 = 1;
const MOST: u32 = 26;
const SKEW: u32 = 38;
const DAMP: u32 = 700;
const BIAS: u32 = 72;
const FIRST: u32 = 128;

/// The wire form of a name; `None`: the name is ASCII, or not a name.
pub fn to_ascii(name: &str) -> Option<String> {
    let odd = |c: char| !c.is_alphanumeric() && !"-._*".contains(c);
    if name.is_ascii() || name.chars().any(odd) {
        return None;
    }
    let label = |label: &str| match label.is_ascii() {
        true => Some(label.to_ascii_lowercase()),
        false => Some(format!("xn--{}", encode(&label.to_lowercase())?)),
    };
    let labels: Option<Vec<String>> = name.split('.').map(label).collect();
    labels.map(|labels| labels.join(".")).filter(|name| name.len() <= 253)
}

fn encode(label: &str) -> Option<String> {
    let all: Vec<u32> = label.chars().map(u32::from).collect();
    let mut out: String = label.chars().filter(char::is_ascii).collect();
    let basic = u32::try_from(out.len()).ok()?;
    if basic > 0 {
        out.push('-');
    }
    let mut done = basic;
    let mut next = FIRST;
    let mut delta = 0_u32;
    let mut bias = BIAS;
    while (done as usize) < all.len() {
        let least = all.iter().copied().filter(|c| *c >= next).min()?;
        delta = delta.checked_add((least - next).checked_mul(done + 1)?)?;
        next = least;
        for c in &all {
            if *c < next {
                delta = delta.checked_add(1)?;
            }
            if *c == next {
                encode_integer(delta, bias, &mut out);
                bias = adapt(delta, done + 1, done == basic);
                delta = 0;
                done += 1;
            }
        }
        delta = delta.checked_add(1)?;
        next = next.checked_add(1)?;
    }
    Some(out)
}

/// Encodes an integer of variable length.
fn encode_integer(mut left: u32, bias: u32, out: &mut String) {
    for at in (BASE..).step_by(BASE as usize) {
        let threshold = at.saturating_sub(bias).clamp(LEAST, MOST);
        if left < threshold {
            break;
        }
        out.push(encode_digit(threshold + (left - threshold) % (BASE - threshold)));
        left = (left - threshold) / (BASE - threshold);
    }
    out.push(encode_digit(left));
}

/// `a` to `z` for 0 to 25, `0` to `9` for 26 to 35.
fn encode_digit(value: u32) -> char {
    let found = match value.checked_sub(MOST) {
        None => char::from_digit(value + 10, BASE),
        Some(number) => char::from_digit(number, 10),
    };
    found.unwrap_or('0')
}

fn adapt(delta: u32, count: u32, first: bool) -> u32 {
    let mut delta = if first { delta / DAMP } else { delta / 2 };
    delta += delta / count;
    let mut at = 0;
    while delta > (BASE - LEAST) * MOST / 2 {
        delta /= BASE - LEAST;
        at += BASE;
    }
    at + (BASE - LEAST + 1) * delta / (delta + SKEW)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_as_browsers_send_them() {
        for (name, sent) in [
            ("b\u{fc}cher.example", "xn--bcher-kva.example"),
            ("*.B\u{dc}CHER.Example", "*.xn--bcher-kva.example"),
            ("m\u{fc}nchen.de", "xn--mnchen-3ya.de"),
            ("\u{4f8b}\u{3048}.jp", "xn--r8jz45g.jp"),
            ("fa\u{e7}ade.example", "xn--faade-zra.example"),
            ("\u{43f}\u{43e}\u{447}\u{435}\u{43c}\u{443}", "xn--e1aoedxv"),
        ] {
            assert_eq!(to_ascii(name).unwrap_or_default(), sent, "{name}");
        }
        assert_eq!(to_ascii("shop.example"), None);
        assert_eq!(to_ascii("b\u{fc}cher example"), None);
    }
}
