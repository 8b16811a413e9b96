//! Refusals of long bodies, which a rule of ours makes by its `body-bytes`.

use super::acl::AclTable;

/// The most bytes that a refusal under this condition lets through; `None`: the condition says something else, too.
/// `words`: the condition with its `if`.
pub fn most_bytes(words: &[String], acls: &AclTable) -> Option<u64> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["if", "{", .., "}"] => criterion(&words[2..words.len() - 1]),
        ["if", name] => {
            let line = acls.only_line(name)?;
            let inner: Vec<&str> = line.rest(2).iter().map(String::as_str).collect();
            let bytes = criterion(&inner)?;
            line.mark_converted();
            Some(bytes)
        }
        _ => None,
    }
}

fn criterion(words: &[&str]) -> Option<u64> {
    let (first, rest) = words.split_first()?;
    let rest = rest.strip_prefix(&["-m", "int"]).unwrap_or(rest);
    let [operator, number] = rest else { return None };
    let number: u64 = number.parse().ok()?;
    let bytes = match *operator {
        "gt" => number,
        "ge" => number.checked_sub(1)?,
        _ => return None,
    };
    let is_size = matches!(*first, "req.body_size" | "req.hdr_val(content-length)");
    (is_size && bytes > 0).then_some(bytes)
}
