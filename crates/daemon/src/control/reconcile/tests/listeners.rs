//! Which listeners are opened, moved and closed by a change, and in which order.

use super::super::applied_state::AppliedState;
use super::super::apply;
use super::super::fake::{FakeEngine, RecordedCall};
use super::{NOW, ReconcileWorld, TWO, at, checked, run};
use crate::state::saved_state::SavedState;

/// A client that connects while a service moves reaches either the listener or the packet plane.
#[test]
fn packets_are_forwarded_before_the_listener_closes_that_they_take_the_place_of() {
    // Direct server return does not change the port, so the service listens on its servers' port.
    let two = TWO.replace("127.0.0.1:8001", "127.0.0.1:80");
    let mut world = ReconcileWorld::new(&two);
    world.change(&two.replace("\"http\"", "\"mac\"")).unwrap();
    let calls = world.fake.take_calls();
    let place = |wanted: &dyn Fn(&RecordedCall) -> bool| calls.iter().position(wanted);
    let ahead = place(&|calls| matches!(calls, RecordedCall::ForwardEarly(_)));
    let stop = place(&|calls| matches!(calls, RecordedCall::Stop(..)));
    assert!(ahead.is_some() && ahead < stop, "{calls:?}");
    // No listener is replaced, so nothing has to be forwarded early.
    let mut world = ReconcileWorld::new(TWO);
    world.change(&TWO.replace("127.0.0.1:8001", "127.0.0.1:8003")).unwrap();
    assert!(
        !world.fake.take_calls().iter().any(|calls| matches!(calls, RecordedCall::ForwardEarly(_)))
    );
}

/// Workers take a moment to close: a rollback at once must not fail for that.
#[test]
fn an_address_that_was_given_up_a_moment_ago_can_be_had_again() {
    let mut world = ReconcileWorld::new(TWO);
    let elsewhere = TWO.replace("127.0.0.1:8001", "127.0.0.1:8003");
    world.change(&elsewhere).unwrap();
    world.fake.occupy_address_for(at("127.0.0.1:8001"), 2);
    world.fake.take_calls();
    world.change(TWO).unwrap();
    let bound = world
        .fake
        .take_calls()
        .into_iter()
        .filter(|call| matches!(call, RecordedCall::Bind(..)))
        .count();
    assert_eq!(bound, 1);
    // The other addresses do not wait for this one.
    world.fake.occupy_address_for(at("127.0.0.1:8004"), 1);
    world.change(&TWO.replace("127.0.0.1:8001", "127.0.0.1:8004")).unwrap_err();
}

#[test]
fn the_first_configuration_opens_everything_before_anybody_accepts() {
    let fake = FakeEngine::default();
    let mut listeners = fake.listeners(2);
    let empty = AppliedState::empty(2);
    let next = empty.with_config(checked(TWO), &SavedState::default(), NOW);
    run(apply::apply_change(&fake, &mut listeners, &empty, next, 1)).unwrap();
    let asked = fake.take_calls();
    let place = |wanted: &dyn Fn(&RecordedCall) -> bool| {
        let first = asked.iter().position(wanted).unwrap();
        (first, asked.iter().rposition(wanted).unwrap())
    };
    let binds = place(&|it| matches!(it, RecordedCall::Bind(..)));
    let listens = place(&|it| matches!(it, RecordedCall::Listen(_)));
    let install = place(&|it| matches!(it, RecordedCall::Install(_)));
    let accepts = place(&|it| matches!(it, RecordedCall::Accept(_, _, 2)));
    assert!(binds.1 < listens.0 && listens.1 < install.0 && install.1 < accepts.0, "{asked:?}");
    assert_eq!(asked.iter().filter(|it| matches!(it, RecordedCall::Accept(..))).count(), 3);
}

#[test]
fn a_listener_that_cannot_be_opened_leaves_all_as_before() {
    let mut world = ReconcileWorld::new(TWO);
    let before = world.book.clone();
    world.fake.occupy_address(at("127.0.0.1:8111"));
    let text = TWO.replace("127.0.0.1:8002", "127.0.0.1:8111").replace(":8001", ":8110");
    let error = world.change(&text).unwrap_err();
    assert!(error.to_string().contains("127.0.0.1:8111"), "{error}");
    let asked = world.fake.take_calls();
    assert!(
        asked.iter().all(|it| matches!(it, RecordedCall::Bind(..) | RecordedCall::TryOutgoing)),
        "nothing listens, nothing is installed: {asked:?}"
    );
    assert!(world.book.is_same_for_workers(&before));
    assert_eq!(world.book.listeners, before.listeners);
}

#[test]
fn a_setting_that_is_refused_on_the_second_address_is_taken_back_on_the_first() {
    let mut world = ReconcileWorld::new(TWO);
    world.fake.refuse_nth_alter(3);
    let text = TWO.replace("forward = \"tcp\"", "forward = \"tcp\"\nsocket = { mss = 900 }");
    assert!(world.change(&text).is_err());
    let asked = world.fake.take_calls();
    // Two sockets of the first address, one of the second, which is refused; then its two and the first's two back.
    assert_eq!(asked, vec![RecordedCall::SetOptions; 7]);
    world.change(TWO).unwrap();
    assert!(
        !world.fake.take_calls().contains(&RecordedCall::SetOptions),
        "the old settings are active"
    );
}

#[test]
fn settings_change_in_place_where_they_can_and_beside_where_they_cannot() {
    let mut world = ReconcileWorld::new(TWO);
    let address = at("127.0.0.1:8001");
    let id = world.book.listeners[&address].id;
    let text = TWO.replace("forward = \"http\"", "forward = \"http\"\nsocket = { mss = 900 }");
    world.change(&text).unwrap();
    assert_eq!(world.book.listeners[&address].id, id);
    assert_eq!(
        world.fake.take_calls().iter().filter(|it| **it == RecordedCall::SetOptions).count(),
        2
    );

    let text = TWO.replace("forward = \"http\"", "forward = \"http\"\nsocket = { mptcp = true }");
    world.change(&text).unwrap();
    let anew = world.book.listeners[&address].id;
    assert_ne!(anew, id);
    let asked = world.fake.take_calls();
    let place = |wanted: &RecordedCall| asked.iter().position(|it| it == wanted).unwrap();
    let service = world.book.services["shop"].id;
    let claim = l7::socket::AddressClaim::Shared;
    assert!(
        place(&RecordedCall::Bind(address, 2, claim))
            < place(&RecordedCall::Accept(anew, service, 2))
    );
    assert!(
        place(&RecordedCall::Accept(anew, service, 2)) < place(&RecordedCall::Stop(id, true)),
        "no gap"
    );
}

#[test]
fn an_address_goes_from_one_service_to_another_with_its_sockets() {
    let mut world = ReconcileWorld::new(TWO);
    let address = at("127.0.0.1:8001");
    let old = world.book.listeners[&address].id;
    let text =
        TWO.replace("127.0.0.1:8001", "127.0.0.1:8003").replace("127.0.0.1:8002", "127.0.0.1:8001");
    world.change(&text).unwrap();
    let asked = world.fake.take_calls();
    assert!(
        asked.contains(&RecordedCall::Stop(old, false)),
        "what waits is left to the next: {asked:?}"
    );
    assert!(
        !asked.iter().any(|it| matches!(it, RecordedCall::Bind(to, ..) if *to == address)),
        "{asked:?}"
    );
    let new = world.book.listeners[&address].id;
    assert_ne!(new, old);
    assert!(asked.contains(&RecordedCall::Accept(new, world.book.services["mail"].id, 2)));
}
