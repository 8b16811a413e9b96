//! Random pairs of configurations: only what differs between them is touched.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::{ReconcileWorld, checked};
use crate::control::reconcile::applied_state::AppliedState;
use crate::control::reconcile::fake::RecordedCall;

/// A small world of configurations in which much coincides.
#[derive(Clone, Debug, PartialEq)]
struct RandomPlan {
    services: BTreeMap<u8, RandomPlanService>,
    pools: BTreeMap<u8, Vec<RandomPlanServer>>,
}

#[derive(Clone, Debug, PartialEq)]
struct RandomPlanService {
    /// The index of its pool, modulo the number of pools.
    pool: u8,
    port: u8,
    mss: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RandomPlanServer {
    name: u8,
    weight: u8,
    drain: bool,
}

impl RandomPlan {
    fn text(&self) -> String {
        let mut text = String::new();
        for (pool, servers) in &self.pools {
            text += &format!("[pool.p{pool}]\nservers = [\n");
            for RandomPlanServer { name, weight, drain } in servers {
                let state = if *drain { ", state = \"drain\"" } else { "" };
                text += &format!(
                    "{{ name = \"s{name}\", address = \"10.0.{pool}.{name}:80\", weight = {weight}{state} }},\n"
                );
            }
            text += "]\n";
        }
        for (service, RandomPlanService { pool, port, mss }) in &self.services {
            let pool = self.pools.keys().nth(usize::from(*pool) % self.pools.len()).unwrap();
            let mss = if *mss { "socket = { mss = 900 }\n" } else { "" };
            text += &format!(
                "[service.v{service}]\nlisten = \"127.0.{port}.{service}:8000\"\nforward = \"http\"\npool = \"p{pool}\"\n{mss}"
            );
        }
        text
    }
}

fn plans() -> impl Strategy<Value = RandomPlan> {
    let service = (0..4u8, 0..3u8, any::<bool>()).prop_map(|(pool, port, mss)| RandomPlanService {
        pool,
        port,
        mss,
    });
    let services = prop::collection::btree_map(1..5u8, service, 1..5);
    let server = (1..4u8, 1..3u8, any::<bool>())
        .prop_map(|(name, weight, drain)| RandomPlanServer { name, weight, drain });
    let servers = prop::collection::vec(server, 1..4).prop_map(|mut all| {
        all.sort();
        all.dedup_by_key(|server| server.name);
        all
    });
    let pools = prop::collection::btree_map(1..4u8, servers, 1..4);
    (services, pools).prop_map(|(services, pools)| RandomPlan { services, pools })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn only_what_differs_is_touched(first in plans(), second in plans()) {
        let mut world = ReconcileWorld::new(&first.text());
        let before = world.book.clone();
        let (old, new) = (checked(&first.text()), checked(&second.text()));
        world.change(&second.text()).unwrap();
        let after = &world.book;
        for (name, pool) in &new.pools {
            if let Some(same) = old.pools.get(name) {
                prop_assert_eq!(after.pools[name].id, before.pools[name].id);
                prop_assert_eq!(same == pool, Arc::ptr_eq(&after.pools[name], &before.pools[name]));
                for server in &pool.servers {
                    let find = |book: &AppliedState| {
                        let view = book.pools[name].servers.iter().find(|it| it.config.name == server.name)?;
                        Some((view.id, Arc::as_ptr(&view.stats)))
                    };
                    if let Some(old) = find(&before) {
                        prop_assert_eq!(Some(old), find(after));
                    }
                }
            }
        }
        for (name, service) in &new.services {
            let Some(old) = old.services.get(name) else { continue };
            let (was, is) = (&before.services[name], &after.services[name]);
            prop_assert_eq!(was.id, is.id);
            prop_assert!(Arc::ptr_eq(&was.stats, &is.stats));
            if old == service {
                prop_assert_eq!(was.pool == is.pool, Arc::ptr_eq(was, is));
            }
        }
        let same: Vec<_> = before.listeners.iter().filter(|(at, it)| after.listeners.get(at) == Some(it)).collect();
        for asked in world.fake.take_calls() {
            match asked {
                RecordedCall::Stop(id, _) | RecordedCall::Accept(id, ..) =>
                    prop_assert!(same.iter().all(|(_, it)| it.id != id)),
                RecordedCall::Bind(to, ..) | RecordedCall::Listen(to) =>
                    prop_assert!(!before.listeners.contains_key(&to)),
                RecordedCall::SetOptions | RecordedCall::TryOutgoing | RecordedCall::Install(_) | RecordedCall::ForwardEarly(_) => {}
                RecordedCall::Drain(_) | RecordedCall::ResetServer(_) => prop_assert!(false),
            }
        }
        for (address, listener) in &after.listeners {
            let service = &new.services[&listener.service_name];
            prop_assert!(service.listen.contains(address));
        }
        // Going there and back preserves everything that both configurations have.
        world.change(&first.text()).unwrap();
        let back = world.book.config.as_ref().unwrap();
        prop_assert_eq!(&back.pools, &old.pools);
        prop_assert_eq!(&back.services, &old.services);
    }
}
