//! Applies one change to both members of a pair: compares the settings that both configurations share, and produces the
//! other member's text after the change. It processes only texts.
//!
//! Both members share services, pools, zones and names, and of VRRP groups the ids, versions, intervals and addresses.
//! All other settings belong to one member and stay unchanged: `[global]`, priorities, interfaces, heartbeats, packets,
//! companion addresses (`unadvertised`), and a pool's own source addresses (`source`).

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::patch::json_to_toml::PatchError;
use super::patch::{ConfigObject, apply_patch};
use super::toml_tree::{diff_trees, merge_patch_between, parse_tree};

/// A change applied to the other member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairedChange {
    /// The other member's text after the change.
    pub text: String,
    /// Key paths of the change that belong to this member only, so they are not applied to the other.
    pub local_paths: Vec<String>,
}

/// Why a change cannot be applied to both members.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PairError {
    /// A configuration is not TOML.
    #[error("{whose} is not TOML: {why}")]
    Syntax {
        /// The configuration with the mistake.
        whose: &'static str,
        /// The parser's message.
        why: String,
    },
    /// The members already differ before the change.
    #[error("both members differ already, in {}: the change would write over what the other one has", list(.keys))]
    Diverged {
        /// The key paths that differ.
        keys: Vec<String>,
    },
    /// A group is added or removed on one side only.
    #[error(
        "group '{group}' is {where_}: its priority and interface are each member's own, so `apply` it on each of them"
    )]
    Group {
        group: String,
        /// Where the group exists.
        where_: &'static str,
    },
    /// The change could not be written.
    #[error("the other member's configuration cannot be changed: {0}")]
    Patch(#[from] PatchError),
}

/// Returns the other member's text after this member's change from `before` to `after`; `theirs` is its current text.
/// `level` also equalises earlier differences.
///
/// # Errors
/// See `PairError`.
pub fn apply_to_peer(
    before: &str,
    after: &str,
    theirs: &str,
    level: bool,
) -> Result<PairedChange, PairError> {
    let read = |text: &str, whose| parse_tree(text).map_err(|why| PairError::Syntax { whose, why });
    let old = read(before, "what is active here")?;
    let new = read(after, "the new configuration")?;
    let there = read(theirs, "the other member's configuration")?;
    check_groups_on_peer(&old, &new, &there)?;
    let both: BTreeSet<&str> = vrrp_group_names(&new)
        .intersection(&vrrp_group_names(&there))
        .copied()
        .collect::<BTreeSet<_>>();
    let was = shared_settings(&old, &both);
    let is = shared_settings(&new, &both);
    let has = shared_settings(&there, &both);
    // If the other member already has the change, an earlier attempt was interrupted.
    if !level && has != was && has != is {
        let keys = diff_trees(&was, &has).into_iter().map(|one| one.path);
        return Err(PairError::Diverged { keys: keys.collect() });
    }
    let text = if has == is {
        theirs.to_owned()
    } else {
        apply_patch(theirs, &ConfigObject::Root, &merge_patch_between(&has, &is))?
    };
    let shared: BTreeSet<String> = diff_trees(&was, &is).into_iter().map(|one| one.path).collect();
    let all = diff_trees(&old, &new).into_iter().map(|one| one.path);
    Ok(PairedChange { text, local_paths: all.filter(|path| !shared.contains(path)).collect() })
}

/// Tables that both members share.
const SHARED_TABLES: [&str; 4] = ["service", "pool", "zone", "name"];
/// Keys of a VRRP group that both members share.
const SHARED_GROUP_KEYS: [&str; 4] = ["id", "version", "advertise", "addresses"];

fn shared_settings(root: &Value, both: &BTreeSet<&str>) -> Value {
    let mut out = Map::new();
    for kind in SHARED_TABLES {
        let Some(table) = root.get(kind) else { continue };
        let mut table = table.clone();
        if let (true, Some(pools)) = (kind == "pool", table.as_object_mut()) {
            for pool in pools.values_mut().filter_map(Value::as_object_mut) {
                pool.remove("source");
            }
        }
        out.insert(kind.to_owned(), table);
    }
    let shared = |name: &str| {
        let group = root.get("vrrp")?.get(name)?.as_object()?;
        let keys = SHARED_GROUP_KEYS
            .iter()
            .filter_map(|key| Some(((*key).to_owned(), group.get(*key)?.clone())));
        Some((name.to_owned(), Value::Object(keys.collect())))
    };
    let groups: Map<String, Value> = both.iter().filter_map(|name| shared(name)).collect();
    if !groups.is_empty() {
        out.insert("vrrp".to_owned(), Value::Object(groups));
    }
    Value::Object(out)
}

fn vrrp_group_names(root: &Value) -> BTreeSet<&str> {
    let table = root.get("vrrp").and_then(Value::as_object);
    table.into_iter().flat_map(|groups| groups.keys().map(String::as_str)).collect()
}

/// A group that this change adds or removes must already be present or absent at the other member.
fn check_groups_on_peer(old: &Value, new: &Value, there: &Value) -> Result<(), PairError> {
    let old = vrrp_group_names(old);
    let new = vrrp_group_names(new);
    let there = vrrp_group_names(there);
    let refused = |group: &&str, where_| PairError::Group { group: (*group).to_owned(), where_ };
    if let Some(group) = new.difference(&old).find(|group| !there.contains(*group)) {
        return Err(refused(group, "new, and the other member does not have it"));
    }
    match old.difference(&new).find(|group| there.contains(*group)) {
        Some(group) => Err(refused(group, "gone, and the other member still has it")),
        None => Ok(()),
    }
}

fn list(keys: &[String]) -> String {
    let shown: Vec<&str> = keys.iter().take(MAX_SHOWN_KEYS).map(String::as_str).collect();
    let more = keys.len().saturating_sub(MAX_SHOWN_KEYS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

/// Limit for the keys in one message.
const MAX_SHOWN_KEYS: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    fn text(priority: u8, own: &str, server: &str, address: &str) -> String {
        format!(
            "# {own}\n[global]\nworkers = {priority}\n[vrrp.front]\ninterface = \"{own}\"\nid = 7\n\
             addresses = \"{address}\"\npriority = {priority}\n\
             [service.shop]\nlisten = \"{address}:80\" # the shop\nforward = \"http\"\npool = \"web\"\n\
             [pool.web]\nsource = \"{own}\"\nservers = [\"{server}\"]\n"
        )
    }

    const HERE: &str = "192.0.2.10";

    #[test]
    fn the_other_member_gets_what_is_common_and_keeps_what_is_its_own() {
        let before = text(3, "a", "s1:80", HERE);
        let theirs = text(1, "b", "s1:80", HERE);
        let after = text(4, "a", "s2:80", "192.0.2.11") + "[pool.more]\nservers = [\"s3:80\"]\n";
        let made = apply_to_peer(&before, &after, &theirs, false).unwrap();
        let found = parse_tree(&made.text).unwrap();
        assert_eq!(found["pool"]["web"]["servers"][0], "s2:80");
        assert_eq!(found["pool"]["web"]["source"], "b");
        assert_eq!(found["pool"]["more"]["servers"][0], "s3:80");
        assert_eq!(found["service"]["shop"]["listen"], "192.0.2.11:80");
        assert_eq!(found["vrrp"]["front"]["addresses"], "192.0.2.11");
        assert_eq!(found["vrrp"]["front"]["priority"], 1);
        assert_eq!(found["vrrp"]["front"]["interface"], "b");
        assert_eq!(found["global"]["workers"], 1);
        assert!(
            made.text.starts_with("# b\n") && made.text.contains("# the shop"),
            "{}",
            made.text
        );
        assert_eq!(made.local_paths, ["global.workers", "vrrp.front.priority"]);
        // A service that is removed here is removed there.
        let back = apply_to_peer(&after, &before, &made.text, false).unwrap();
        assert_eq!(parse_tree(&back.text), parse_tree(&theirs));
    }

    #[test]
    fn what_the_other_member_has_of_its_own_is_not_written_over_unasked() {
        let before = text(3, "a", "s1:80", HERE);
        let after = text(3, "a", "s2:80", HERE);
        let theirs = text(1, "b", "s9:80", HERE);
        let error = apply_to_peer(&before, &after, &theirs, false).unwrap_err();
        assert_eq!(error, PairError::Diverged { keys: vec!["pool.web.servers".into()] });
        let level = apply_to_peer(&before, &after, &theirs, true).unwrap();
        assert_eq!(parse_tree(&level.text), parse_tree(&text(1, "b", "s2:80", HERE)));
        // An earlier attempt was interrupted after it changed the other member.
        let theirs = text(1, "b", "s2:80", HERE);
        assert_eq!(apply_to_peer(&before, &after, &theirs, false).unwrap().text, theirs);
    }

    #[test]
    fn a_group_comes_and_goes_on_each_member_by_itself() {
        let before = text(3, "a", "s1:80", HERE);
        let theirs = text(1, "b", "s1:80", HERE);
        let more = "[vrrp.back]\ninterface = \"eth1\"\nid = 8\naddresses = \"192.0.2.20\"\n";
        let after = format!("{before}{more}");
        let error = apply_to_peer(&before, &after, &theirs, false).unwrap_err();
        assert!(matches!(&error, PairError::Group { group, .. } if group == "back"), "{error}");
        let has = format!("{theirs}{more}");
        assert_eq!(apply_to_peer(&before, &after, &has, false).unwrap().text, has);
        assert!(apply_to_peer(&after, &before, &has, false).is_err());
        assert_eq!(apply_to_peer(&after, &before, &theirs, false).unwrap().text, theirs);
    }

    #[test]
    fn a_text_that_is_not_toml_is_named() {
        let good = text(3, "a", "s1:80", HERE);
        for (at, whose) in ["here", "new", "other"].into_iter().enumerate() {
            let mut texts = [good.as_str(); 3];
            texts[at] = "[";
            let error = apply_to_peer(texts[0], texts[1], texts[2], false).unwrap_err().to_string();
            assert!(error.contains(whose), "{error}");
        }
    }
}
