//! Differences: exact for rows, and properties over generated configurations.

use std::sync::Arc;

use model::config::{Config, GlobalKey, PoolKey, ServerKey, ServiceKey, diff};
use proptest::prelude::*;

use super::support::good;

/// A file from few numbers: services with a port each, pools with servers (name, port, weight).
#[derive(Clone, Debug)]
struct FilePlan {
    drain: u8,
    services: Vec<(u8, u8, bool)>,
    pools: Vec<Vec<(u8, u8, u8)>>,
}

impl FilePlan {
    fn config(&self) -> Config {
        let mut text = format!("[global]\ndrain = \"{}s\"\n", self.drain);
        for (at, (name, idle, tcp)) in self.services.iter().enumerate() {
            let forward = if *tcp { "tcp" } else { "http" };
            let pool = at % self.pools.len();
            text.push_str(&format!(
                "[service.s{name}]\nlisten = \"127.0.0.1:{}\"\nforward = \"{forward}\"\npool = \"p{pool}\"\n\
                 timeout.tunnel = \"{}s\"\n",
                1000 + u16::from(*name),
                u16::from(*idle) + 1
            ));
        }
        for (at, servers) in self.pools.iter().enumerate() {
            text.push_str(&format!("[pool.p{at}]\n"));
            let tables = servers.iter().map(|(name, port, weight)| {
                format!(
                    "{{ name = \"n{name}\", address = \"10.0.0.1:{}\", weight = {weight} }}",
                    80 + u16::from(*port)
                )
            });
            text.push_str(&format!("servers = [{}]\n", tables.collect::<Vec<_>>().join(", ")));
        }
        good(&text).config
    }
}

fn plan() -> impl Strategy<Value = FilePlan> {
    let server = (0u8..6, 0u8..3, 0u8..3);
    let servers = proptest::collection::vec(server, 1..5).prop_map(|mut list| {
        let mut seen = std::collections::HashSet::new();
        list.retain(|server| seen.insert(server.0));
        list
    });
    let services = proptest::collection::btree_map(0u8..6, (0u8..3, any::<bool>()), 0..4)
        .prop_map(|map| map.into_iter().map(|(name, (idle, tcp))| (name, idle, tcp)).collect());
    (0u8..2, services, proptest::collection::vec(servers, 1..3))
        .prop_map(|(drain, services, pools)| FilePlan { drain, services, pools })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn nothing_differs_exactly_between_equals(a in plan(), b in plan()) {
        let (one, other) = (a.config(), b.config());
        prop_assert!(diff(&one, &a.config()).is_empty());
        prop_assert_eq!(diff(&one, &other).is_empty(), one == other);
    }

    #[test]
    fn names_add_up_and_backwards_is_the_mirror(a in plan(), b in plan()) {
        let (old, new) = (a.config(), b.config());
        let (there, back) = (diff(&old, &new), diff(&new, &old));
        prop_assert_eq!(&there.services.added, &back.services.removed);
        prop_assert_eq!(&there.pools.added, &back.pools.removed);
        prop_assert_eq!(
            there.pools.changed.keys().collect::<Vec<_>>(),
            back.pools.changed.keys().collect::<Vec<_>>()
        );
        let mut names: Vec<&String> = old.services.keys().filter(|n| !there.services.removed.contains(n)).collect();
        names.extend(&there.services.added);
        names.sort();
        prop_assert_eq!(names, new.services.keys().collect::<Vec<_>>());
        for (name, service) in &old.services {
            let unchanged = new.services.get(name).is_some_and(|other| other == service);
            let named = there.services.removed.contains(name) || there.services.changed.contains_key(name);
            prop_assert_eq!(unchanged, !named);
        }
        for (name, change) in &there.pools.changed {
            let (before, after) = (&old.pools[name].servers, &new.pools[name].servers);
            prop_assert_eq!(
                after.len() + change.servers.removed.len(),
                before.len() + change.servers.added.len()
            );
            prop_assert!(!change.keys.is_empty() || !change.servers.is_empty());
        }
    }

    #[test]
    fn what_is_equal_becomes_the_same_object(a in plan(), b in plan()) {
        let (old, new) = (a.config(), b.config());
        let reused = new.clone().reuse_unchanged(&old);
        prop_assert_eq!(&reused, &new);
        for (name, service) in &reused.services {
            let equal = old.services.get(name).filter(|before| *before == service);
            prop_assert!(equal.is_none_or(|before| Arc::ptr_eq(before, service)));
        }
        for (name, pool) in &reused.pools {
            let Some(before) = old.pools.get(name) else { continue };
            prop_assert_eq!(before == pool, Arc::ptr_eq(before, pool));
            for server in &pool.servers {
                let equal = before.servers.iter().find(|other| *other == server);
                prop_assert!(equal.is_none_or(|other| Arc::ptr_eq(other, server)));
            }
        }
    }
}

const OLD: &str = "\
[service.gone]
listen = \":1\"
forward = \"http\"
pool = \"web\"
[service.shop]
listen = \":2\"
forward = \"http\"
pool = \"web\"
[pool.web]
servers = [
  { name = \"a\", address = \"10.0.0.1:80\" },
  { name = \"b\", address = \"10.0.0.2:80\" },
  { name = \"c\", address = \"10.0.0.3:80\" },
]
";
const NEW: &str = "\
[global]
workers = 2
[service.fresh]
listen = \":1\"
forward = \"http\"
pool = \"web\"
[service.shop]
listen = \":3\"
forward = \"http\"
pool = \"web\"
timeout = { idle = \"1s\" }
[pool.web]
retries = 0
servers = [
  { name = \"c\", address = \"10.0.0.3:80\" },
  { name = \"a\", address = \"10.0.0.1:80\", weight = 3, state = \"drain\" },
  { name = \"b\", address = \"10.0.0.9:80\" },
]
";

#[test]
fn each_difference_is_named() {
    let diff = diff(&good(OLD).config, &good(NEW).config);
    assert_eq!(diff.global, [GlobalKey::Workers]);
    assert_eq!(
        (diff.services.added.as_slice(), diff.services.removed.as_slice()),
        (&["fresh".to_owned()][..], &["gone".to_owned()][..])
    );
    assert_eq!(diff.services.changed["shop"], [ServiceKey::Listen, ServiceKey::Timeout]);
    let web = &diff.pools.changed["web"];
    assert_eq!(web.keys, [PoolKey::Retries, PoolKey::Order]);
    assert_eq!(
        (web.servers.added.as_slice(), web.servers.removed.as_slice()),
        (&["b".to_owned()][..], &["b".to_owned()][..])
    );
    assert_eq!(web.servers.changed["a"], [ServerKey::Weight, ServerKey::State]);
    let expected = "\
~ global: workers
- service gone
+ service fresh
~ service shop: listen, timeout
~ pool web: retries, order
- server web/b
+ server web/b
~ server web/a: weight, state
";
    assert_eq!(diff.to_string(), expected);
    let text = serde_json::to_string(&diff).unwrap();
    assert_eq!(serde_json::from_str::<model::config::ConfigDiff>(&text).unwrap(), diff);
    assert!(text.contains("\"all-down\"") || text.contains("\"retries\""));
    assert_eq!(model::config::ConfigDiff::default().to_string(), "nothing changes\n");
}
