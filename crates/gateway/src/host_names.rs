//! Host names of listeners and routes: what both take, and which is more specific.

use std::cmp::Reverse;

/// How specific a host name is. Smaller is more specific: it is asked first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostSpecificity {
    exact_length: Reverse<usize>,
    length: Reverse<usize>,
}

/// The rank of a host name; `None` stands for every host.
pub fn rank_host(host: Option<&str>) -> HostSpecificity {
    let length = host.map_or(0, str::len);
    let exact_length = host.filter(|host| !host.starts_with("*.")).map_or(0, str::len);
    HostSpecificity { exact_length: Reverse(exact_length), length: Reverse(length) }
}

/// Whether a text is a host name (RFC 1123 §2.1), with `*.` before it or without. An IP address is none.
pub fn is_host_name(text: &str) -> bool {
    let plain = text.strip_prefix("*.").unwrap_or(text);
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let is_address = plain.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    text.len() <= 253 && !is_address && plain.split('.').all(is_label)
}

/// The hosts that both names take: the narrower of the two, if they have any in common.
pub fn intersect_hosts(one: &str, other: &str) -> Option<String> {
    let one = one.to_ascii_lowercase();
    let other = other.to_ascii_lowercase();
    if one == other || covers(&one, &other) {
        return Some(other);
    }
    covers(&other, &one).then_some(one)
}

/// The hosts of a route at a listener. `None`: they have none in common. A host that is `None` stands for every host.
pub fn effective_hosts(listener: Option<&str>, route: &[String]) -> Option<Vec<Option<String>>> {
    let listener = listener.filter(|host| !host.is_empty()).map(str::to_ascii_lowercase);
    let mut hosts: Vec<Option<String>> = match (&listener, route) {
        (_, []) => vec![listener],
        (None, route) => route.iter().map(|host| Some(host.to_ascii_lowercase())).collect(),
        (Some(listener), route) => {
            route.iter().filter_map(|host| intersect_hosts(listener, host)).map(Some).collect()
        }
    };
    hosts.sort();
    hosts.dedup();
    (!hosts.is_empty()).then_some(hosts)
}

/// Whether two sets of hosts have one in common.
pub fn have_common_host(some: &[Option<String>], others: &[Option<String>]) -> bool {
    let common = |one: &Option<String>, other: &Option<String>| match (one, other) {
        (Some(one), Some(other)) => intersect_hosts(one, other).is_some(),
        _ => true,
    };
    some.iter().any(|one| others.iter().any(|other| common(one, other)))
}

/// Whether the wildcard `wide` takes every host of `narrow`. Both are in small letters.
fn covers(wide: &str, narrow: &str) -> bool {
    let Some(suffix) = wide.strip_prefix('*').filter(|suffix| suffix.starts_with('.')) else {
        return false;
    };
    narrow.strip_prefix('*').unwrap_or(narrow).ends_with(suffix) && narrow.len() >= wide.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_that_both_take() {
        for (listener, route, common) in [
            ("shop.example", "shop.example", Some("shop.example")),
            ("*.shop.example", "a.shop.example", Some("a.shop.example")),
            ("a.b.shop.example", "*.shop.example", Some("a.b.shop.example")),
            ("*.shop.example", "*.b.shop.example", Some("*.b.shop.example")),
            ("*.b.shop.example", "*.shop.example", Some("*.b.shop.example")),
            ("*.shop.example", "shop.example", None),
            ("*.shop.example", "a.myshop.example", None),
            ("A.shop.example", "*.Shop.example", Some("a.shop.example")),
            ("a.example", "b.example", None),
        ] {
            assert_eq!(intersect_hosts(listener, route).as_deref(), common, "{listener} {route}");
        }
    }

    #[test]
    fn more_specific_names_come_first() {
        let mut hosts =
            [None, Some("*.example"), Some("a.example"), Some("*.b.example"), Some("long.example")];
        hosts.sort_by_key(|host| rank_host(*host));
        let wanted =
            [Some("long.example"), Some("a.example"), Some("*.b.example"), Some("*.example"), None];
        assert_eq!(hosts, wanted);
    }
}
