//! Names in kebab-case for what is written. Names of Kubernetes are longer than those of the configuration may be.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use siphasher::sip::SipHasher13;

/// The most characters of a name in the configuration.
const NAME_MAX: usize = 63;

/// The names in use, and what each stands for.
#[derive(Debug, Default)]
pub struct NameRegistry {
    taken: BTreeMap<String, Vec<String>>,
}

impl NameRegistry {
    /// The name of what these parts identify: the same one each time. Two identities that come to one name are told
    /// apart by a number, in the order in which they are asked for.
    pub fn name(&mut self, parts: &[&str]) -> String {
        self.register(kebab_name(parts), parts)
    }

    /// A name for these parts that nothing else has, not even the same parts before.
    pub fn fresh_name(&mut self, parts: &[&str]) -> String {
        let number = self.taken.len().to_string();
        let mut identity: Vec<&str> = parts.to_vec();
        identity.push(&number);
        self.register(kebab_name(parts), &identity)
    }

    fn register(&mut self, base: String, identity: &[&str]) -> String {
        let identity: Vec<String> = identity.iter().map(|part| (*part).to_owned()).collect();
        for number in 1.. {
            let name = if number == 1 { base.clone() } else { numbered_name(&base, number) };
            match self.taken.get(&name) {
                None => {
                    self.taken.insert(name.clone(), identity);
                    return name;
                }
                Some(known) if *known == identity => return name,
                Some(_) => {}
            }
        }
        base
    }
}

/// The parts as one name. One that would be too long is cut, and ends with a hash of all of it.
fn kebab_name(parts: &[&str]) -> String {
    let letters = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { ' ' };
    let whole: String = parts.join("-").chars().map(letters).collect();
    let name = whole.split_whitespace().collect::<Vec<_>>().join("-");
    if name.is_empty() {
        return "unnamed".to_owned();
    }
    if name.len() <= NAME_MAX {
        return name;
    }
    let mut hasher = SipHasher13::new();
    parts.hash(&mut hasher);
    let hash = format!("{:016x}", hasher.finish());
    let kept = name[..NAME_MAX - hash.len() - 1].trim_end_matches('-');
    format!("{kept}-{hash}")
}

fn numbered_name(base: &str, number: u64) -> String {
    let number = number.to_string();
    let kept = base[..base.len().min(NAME_MAX - number.len() - 1)].trim_end_matches('-');
    format!("{kept}-{number}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kebab_and_told_apart() {
        let mut names = NameRegistry::default();
        for (parts, name) in [
            (["shop", "web", "80"], "shop-web-80"),
            (["shop", "web.v2", "80"], "shop-web-v2-80"),
            (["shop-web", "v2", "80"], "shop-web-v2-80-2"),
            (["shop", "web", "80"], "shop-web-80"),
            (["shop-web", "v2", "80"], "shop-web-v2-80-2"),
        ] {
            assert_eq!(names.name(&parts), name);
        }
    }

    #[test]
    fn long_names_are_cut_and_stay_apart() {
        let mut names = NameRegistry::default();
        let long = "a".repeat(250);
        let first = names.name(&["shop", &long, "80"]);
        let second = names.name(&["shop", &long, "81"]);
        assert_eq!(first.len(), NAME_MAX);
        assert_ne!(first, second);
        assert!(first.starts_with("shop-aaaa"));
    }
}
