//! Sets of bytes that a part of an expression matches, and the classes of PCRE that name them.

/// Bytes that one part of an expression matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByteSet(Box<[bool; 256]>);

impl ByteSet {
    pub fn of(holds: impl Fn(u8) -> bool) -> ByteSet {
        let mut set = ByteSet(Box::new([false; 256]));
        for byte in 0..=u8::MAX {
            set.0[usize::from(byte)] = holds(byte);
        }
        set
    }

    pub fn single(byte: u8) -> ByteSet {
        ByteSet::of(|one| one == byte)
    }

    pub fn has(&self, byte: u8) -> bool {
        self.0[usize::from(byte)]
    }

    pub fn bytes(&self) -> impl Iterator<Item = u8> {
        (0..=u8::MAX).filter(|byte| self.has(*byte))
    }

    pub fn negate(&self) -> ByteSet {
        ByteSet::of(|byte| !self.has(byte))
    }

    fn or(&self, other: &ByteSet) -> ByteSet {
        ByteSet::of(|byte| self.has(byte) || other.has(byte))
    }

    /// With the other case of each letter.
    pub fn any_case(&self) -> ByteSet {
        ByteSet::of(|b| self.has(b.to_ascii_lowercase()) || self.has(b.to_ascii_uppercase()))
    }
}

/// The set of `\d` and the like, outside of brackets and within. `None`: it is none of them.
pub fn escaped_class(letter: char) -> Option<ByteSet> {
    let set = match letter.to_ascii_lowercase() {
        'd' => ByteSet::of(|b| b.is_ascii_digit()),
        'w' => ByteSet::of(|b| b.is_ascii_alphanumeric() || b == b'_'),
        's' => ByteSet::of(|b| b == b' ' || (9..=13).contains(&b)),
        'h' => ByteSet::of(|b| matches!(b, 9 | b' ' | 0xA0)),
        'v' => ByteSet::of(|b| (10..=13).contains(&b) || b == 0x85),
        'n' if letter == 'N' => ByteSet::single(b'\n'),
        _ => return None,
    };
    Some(if letter.is_ascii_uppercase() { set.negate() } else { set })
}

/// The byte of an escape that stands for one: `\n`, `\x20`, `\.`. `None`: it is none, or one that is not known.
pub fn escaped_byte(
    letter: char,
    rest: &mut std::iter::Peekable<std::str::Chars<'_>>,
) -> Option<u8> {
    match letter {
        'n' => Some(b'\n'),
        'r' => Some(b'\r'),
        't' => Some(b'\t'),
        'f' => Some(12),
        'a' => Some(7),
        'e' => Some(27),
        'x' if rest.peek() == Some(&'{') => {
            rest.next();
            let digits: String = rest.by_ref().take_while(|c| *c != '}').collect();
            u8::from_str_radix(&digits, 16).ok()
        }
        'x' => {
            let mut digits = String::new();
            while digits.len() < 2
                && let Some(digit) = rest.next_if(char::is_ascii_hexdigit)
            {
                digits.push(digit);
            }
            if digits.is_empty() { Some(0) } else { u8::from_str_radix(&digits, 16).ok() }
        }
        '0' => {
            let mut value = 0;
            for _ in 0..2 {
                let Some(digit) = rest.next_if(|c| ('0'..='7').contains(c)) else { break };
                value = value * 8 + u8::try_from(digit.to_digit(8)?).ok()?;
            }
            Some(value)
        }
        c if c.is_ascii() && !c.is_ascii_alphanumeric() => u8::try_from(c).ok(),
        _ => None,
    }
}

fn named_class(name: &str) -> Option<ByteSet> {
    let class = |holds: fn(u8) -> bool| Some(ByteSet::of(holds));
    match name {
        "alnum" => class(|b| b.is_ascii_alphanumeric()),
        "alpha" => class(|b| b.is_ascii_alphabetic()),
        "ascii" => class(|b| b.is_ascii()),
        "blank" => class(|b| matches!(b, b' ' | b'\t')),
        "cntrl" => class(|b| b.is_ascii_control()),
        "digit" => class(|b| b.is_ascii_digit()),
        "graph" => class(|b| b.is_ascii_graphic()),
        "lower" => class(|b| b.is_ascii_lowercase()),
        "print" => class(|b| b.is_ascii_graphic() || b == b' '),
        "punct" => class(|b| b.is_ascii_punctuation()),
        "space" => class(|b| b == b' ' || (9..=13).contains(&b)),
        "upper" => class(|b| b.is_ascii_uppercase()),
        "word" => class(|b| b.is_ascii_alphanumeric() || b == b'_'),
        "xdigit" => class(|b| b.is_ascii_hexdigit()),
        _ => None,
    }
}

/// What stands at one place within brackets.
enum ClassItem {
    Byte(u8),
    Set(ByteSet),
}

/// Reads a class behind its opening bracket. `None`: it is one that is not known.
pub fn read_class(
    rest: &mut std::iter::Peekable<std::str::Chars<'_>>,
    ignore_case: bool,
) -> Option<ByteSet> {
    let is_negated = rest.next_if_eq(&'^').is_some();
    let mut set = ByteSet::of(|_| false);
    let mut is_first = true;
    loop {
        if !is_first && rest.next_if_eq(&']').is_some() {
            break;
        }
        is_first = false;
        let next = rest.next()?;
        if !next.is_ascii() {
            let mut bytes = [0; 4];
            for byte in next.encode_utf8(&mut bytes).bytes() {
                set = set.or(&ByteSet::single(byte));
            }
            continue;
        }
        let begin = match class_item(next, rest)? {
            ClassItem::Byte(byte) => byte,
            ClassItem::Set(more) => {
                set = set.or(&more);
                continue;
            }
        };
        let mut ahead = rest.clone();
        let is_range = ahead.next() == Some('-') && ahead.next().is_some_and(|c| c != ']');
        if !is_range {
            set = set.or(&ByteSet::single(begin));
            continue;
        }
        rest.next();
        let last = rest.next()?;
        let ClassItem::Byte(end) = class_item(last, rest)? else { return None };
        set = set.or(&ByteSet::of(|byte| (begin..=end).contains(&byte)));
    }
    let set = if ignore_case { set.any_case() } else { set };
    Some(if is_negated { set.negate() } else { set })
}

fn class_item(
    first: char,
    rest: &mut std::iter::Peekable<std::str::Chars<'_>>,
) -> Option<ClassItem> {
    match first {
        '[' if rest.peek() == Some(&':') => {
            rest.next();
            let is_negated = rest.next_if_eq(&'^').is_some();
            let name: String = rest.by_ref().take_while(|c| *c != ':').collect();
            rest.next_if_eq(&']')?;
            let set = named_class(&name)?;
            Some(ClassItem::Set(if is_negated { set.negate() } else { set }))
        }
        '\\' => {
            let letter = rest.next()?;
            if letter == 'b' {
                return Some(ClassItem::Byte(8));
            }
            match escaped_class(letter).filter(|_| letter != 'N') {
                Some(set) => Some(ClassItem::Set(set)),
                None => escaped_byte(letter, rest).map(ClassItem::Byte),
            }
        }
        c => u8::try_from(c).ok().filter(u8::is_ascii).map(ClassItem::Byte),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_name_the_bytes_of_pcre() {
        for (class, inside, outside) in [
            ("^/]", "a% \n", "/"),
            ("]a]", "]a", "b"),
            ("^]]", "a", "]"),
            ("[:cntrl:]x]", "\n\x7fx", "a "),
            ("[:^print:]]", "\n", " a"),
            ("\\s\\x41-\\x43-]", " \tABC-", "Da"),
            ("a-]", "a-", "b"),
            ("\\r\\n]", "\r\n", "rn"),
            ("\\0-\\037]", "\0\u{1f}", " "),
        ] {
            let mut chars = class.chars().peekable();
            let set = read_class(&mut chars, false).unwrap_or_else(|| panic!("{class}"));
            assert_eq!(chars.next(), None, "{class}");
            assert!(inside.bytes().all(|byte| set.has(byte)), "{class}");
            assert!(!outside.bytes().any(|byte| set.has(byte)), "{class}");
        }
        assert!(read_class(&mut "é]".chars().peekable(), false).is_some_and(|set| set.has(0xC3)));
        let set = read_class(&mut "^a]".chars().peekable(), true);
        assert!(set.is_some_and(|set| !set.has(b'A') && !set.has(b'a')));
        assert_eq!(read_class(&mut "\\p]".chars().peekable(), false), None);
    }
}
