//! Names of hosts and of TLS handshakes in the order in which Envoy looks for them, the most specific first.

/// Names that belong to one virtual host or to one filter chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameGroup {
    /// The index of the virtual host or the chain.
    pub owner: usize,
    pub names: Vec<String>,
}

/// The rank of a name: whole names, then `*.x` and `*-x`, then `x.*`, then `*`. Longer ones first within a rank.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct NameSpecificity {
    class: u8,
    shorter: usize,
}

fn rank(name: &str) -> NameSpecificity {
    let class = match (name.starts_with('*'), name.ends_with('*')) {
        _ if name == "*" || name.is_empty() => 3,
        (true, _) => 1,
        (_, true) => 2,
        _ => 0,
    };
    // Whole names exclude each other.
    let shorter = if class == 0 { 0 } else { usize::MAX - name.len() };
    NameSpecificity { class, shorter }
}

/// Groups the names of owners so that a group stands before every group with a less specific name. `*` and the empty
/// name stand for everything.
pub fn order_names(owners: &[Vec<String>]) -> Vec<NameGroup> {
    let mut all: Vec<(NameSpecificity, usize, &str)> = Vec::new();
    for (owner, names) in owners.iter().enumerate() {
        all.extend(names.iter().map(|name| (rank(name), owner, name.as_str())));
    }
    all.sort();
    // Whole names of the owner of the first pattern may come last among whole names, and so join it. Names that several
    // owners have keep the order of their owners.
    let mut names: Vec<&str> = all.iter().map(|one| one.2).collect();
    names.sort_unstable();
    let is_shared = names.windows(2).any(|pair| pair[0] == pair[1]);
    let joined = all.iter().find(|one| one.0.class > 0 && !is_shared).map(|one| one.1);
    all.sort_by_key(|one| (one.0.class > 0, one.0, Some(one.1) == joined && one.0.class == 0));
    let mut groups: Vec<NameGroup> = Vec::new();
    for (_, owner, name) in all {
        match groups.last_mut() {
            Some(last) if last.owner == owner => last.names.push(name.to_owned()),
            _ => groups.push(NameGroup { owner, names: vec![name.to_owned()] }),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specific_names_come_first_and_names_of_one_owner_stay_together() {
        let owners = [vec!["*"], vec!["a.b", "*.b"], vec!["*.a.b", "c"], vec!["d.*"]];
        let owners = owners.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
        let found: Vec<String> = order_names(&owners)
            .iter()
            .map(|group| format!("{}:{}", group.owner, group.names.join(",")))
            .collect();
        assert_eq!(found, ["1:a.b", "2:c,*.a.b", "1:*.b", "3:d.*", "0:*"]);
    }
}
