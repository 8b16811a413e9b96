//! Who gets a place, who gives one up, and what is counted of it.

use super::*;
use crate::util::admin_listeners::api_counters::ListenerCount;

fn places(limit: usize) -> (ConnectionSlots, Arc<ApiCounters>) {
    let counts = Arc::new(ApiCounters::default());
    (ConnectionSlots::new(limit, ListenerKind::Socket, Arc::clone(&counts)), counts)
}

fn is_given_up(pass: &ConnectionSlot) -> bool {
    pass.poll_evicted(Waker::noop())
}

#[tokio::test(start_paused = true)]
async fn the_oldest_silent_connection_goes_first_and_orders_are_never_cut() {
    let (places, counts) = places(3);
    let order = places.acquire(None).unwrap();
    order.set_phase(AdmissionPhase::Busy);
    let [first, second] = [(); 2].map(|()| places.acquire(None).unwrap());
    tokio::time::advance(GRACE).await;
    let third = places.acquire(None).unwrap();
    assert!(is_given_up(&first) && !is_given_up(&second) && !is_given_up(&order));
    assert!(!third.is_reserved());
    for pass in [&second, &third] {
        pass.set_phase(AdmissionPhase::Busy);
    }
    let more: Vec<ConnectionSlot> = (0..RESERVED)
        .map(|_| {
            let pass = places.acquire(None).unwrap();
            pass.set_phase(AdmissionPhase::Busy);
            pass
        })
        .collect();
    assert!(more.iter().all(ConnectionSlot::is_reserved));
    assert!(places.acquire(None).is_none());
    assert!([&order, &second, &third].iter().all(|pass| !is_given_up(pass)));
    order.release();
    assert!(places.acquire(None).is_some(), "its place is free");
    let read = counts.snapshot();
    assert_eq!((read.evicted[0], read.rejected[0]), (socket_count(1), socket_count(1)));
}

fn socket_count(connections: u64) -> ListenerCount {
    ListenerCount { listener: ListenerKind::Socket, connections }
}

#[tokio::test(start_paused = true)]
async fn one_address_has_its_share_and_what_does_nothing_goes_by_age() {
    let (places, counts) = places(32);
    let address = |last| Some(IpAddr::from([192, 0, 2, last]));
    let held: Vec<ConnectionSlot> = (0..16).map(|_| places.acquire(address(1)).unwrap()).collect();
    held[1..].iter().for_each(|pass| pass.set_phase(AdmissionPhase::Busy));
    tokio::time::advance(GRACE).await;
    let next = places.acquire(address(1)).unwrap();
    assert!(is_given_up(&held[0]), "half of the places: only in the place of its own");
    next.set_phase(AdmissionPhase::Busy);
    assert!(places.acquire(address(1)).is_none());
    let others: Vec<ConnectionSlot> =
        (2..18).map(|last| places.acquire(address(last)).unwrap()).collect();
    tokio::time::advance(Duration::from_secs(2)).await;
    others[1].set_phase(AdmissionPhase::Idle);
    assert!(!places.acquire(address(31)).unwrap().is_reserved());
    assert!(is_given_up(&others[0]) && !is_given_up(&others[1]));
    assert_eq!(counts.snapshot().rejected[0], socket_count(1));
}

#[tokio::test(start_paused = true)]
async fn what_has_just_come_or_been_answered_keeps_its_place_and_newcomers_wait() {
    let (places, counts) = places(2);
    let open: Vec<ConnectionSlot> =
        (0..2 + RESERVED).map(|_| places.acquire(None).unwrap()).collect();
    open[0].set_phase(AdmissionPhase::Busy);
    open[1].set_phase(AdmissionPhase::Idle);
    assert!(places.should_wait(), "requests and answers may be on their way");
    tokio::time::advance(GRACE).await;
    assert!(!places.should_wait());
    assert!(places.acquire(None).is_some());
    assert!(is_given_up(&open[2]) && !is_given_up(&open[0]) && !is_given_up(&open[1]));
    assert_eq!(counts.snapshot().rejected[0], socket_count(0));
}

#[tokio::test(start_paused = true)]
async fn a_request_without_its_body_gives_way_and_a_whole_one_does_not() {
    let (places, _) = places(2);
    let waiting: Vec<ConnectionSlot> =
        (0..2 + RESERVED).map(|_| places.acquire(None).unwrap()).collect();
    // Some have had an answer before.
    waiting[1].set_phase(AdmissionPhase::Idle);
    waiting.iter().for_each(|pass| pass.begin_request(false));
    assert!(places.should_wait(), "their bodies may be on their way");
    tokio::time::advance(GRACE).await;
    waiting[0].begin_request(true);
    for _ in 1..2 + RESERVED {
        places.acquire(None).unwrap().begin_request(true);
    }
    assert!(waiting[1..].iter().all(is_given_up) && !is_given_up(&waiting[0]));
    assert!(places.acquire(None).is_none(), "all of them are carried out");
}
