//! Fetches of keys in virtual time: rows, and a simulation that checks what always holds.

use proptest::prelude::*;

use super::*;

const START: MonotonicTime = MonotonicTime(1_000_000_000_000);
const REFRESH: Duration = Duration::from_secs(300);
const KEEP: Duration = Duration::from_secs(3_600);

fn at(seconds: u64) -> MonotonicTime {
    START + Duration::from_secs(seconds)
}

fn state() -> KeySetState {
    KeySetState::new(REFRESH, None, START)
}

fn set(content: &str) -> Result<KeySetAnswer, KeySetFetchError> {
    Ok(KeySetAnswer {
        content: Some(content.to_owned()),
        etag: Some(content.to_owned()),
        max_age: None,
    })
}

fn fresh_for(content: &str, seconds: u64) -> Result<KeySetAnswer, KeySetFetchError> {
    set(content)
        .map(|answer| KeySetAnswer { max_age: Some(Duration::from_secs(seconds)), ..answer })
}

fn check(content: &str) -> Result<(), KeySetError> {
    if content == "broken" { Err(KeySetError::NoSet) } else { Ok(()) }
}

/// A fetch that takes no time, without jitter.
fn fetch(
    state: &mut KeySetState,
    outcome: Result<KeySetAnswer, KeySetFetchError>,
    now: MonotonicTime,
) -> FetchResult {
    assert!(state.is_due(now));
    state.begin(now);
    state.finish(outcome, check, now, 0)
}

#[test]
fn keys_are_fetched_at_once_and_at_the_interval_one_fetch_at_a_time() {
    let mut state = state();
    assert!(state.is_due(START) && state.active().is_none());
    state.begin(START);
    state.report_missed_key();
    assert!(!state.is_due(at(10_000)), "one is under way");
    assert_eq!(state.finish(set("a"), check, at(1), 0), FetchResult::Renewed);
    state.misses_key = false;
    assert!(!state.is_due(at(300)) && state.is_due(at(301)));
    assert_eq!(fetch(&mut state, set("a"), at(301)), FetchResult::Confirmed);
    let unchanged = Ok(KeySetAnswer::default());
    assert_eq!(fetch(&mut state, unchanged, at(601)), FetchResult::Confirmed);
    let active = state.active().unwrap();
    assert_eq!(
        (active.revision, active.etag.as_deref(), active.age(at(602))),
        (1, Some("a"), Duration::from_secs(1))
    );
    assert_eq!(fetch(&mut state, set("b"), at(901)), FetchResult::Renewed);
    assert_eq!(state.active().unwrap().revision, 2);
}

#[test]
fn freshness_of_the_answer_shortens_the_interval_within_bounds() {
    for (seconds, next) in [(0, 60), (59, 60), (100, 100), (9_999, 300)] {
        let mut state = state();
        fetch(&mut state, fresh_for("a", seconds), START);
        assert!(!state.is_due(at(next - 1)) && state.is_due(at(next)), "{seconds}");
    }
    let mut often = KeySetState::new(Duration::from_secs(2), None, START);
    fetch(&mut often, fresh_for("a", 0), START);
    assert!(!often.is_due(at(1)) && often.is_due(at(2)));
}

#[test]
fn a_draw_shortens_the_interval_by_a_tenth_at_most() {
    let mut state = state();
    state.begin(START);
    state.finish(set("a"), check, START, 999);
    assert!(!state.is_due(at(270)) && state.is_due(at(271)));
}

#[test]
fn failures_are_repeated_with_growing_pauses_while_the_set_stays_for_its_time() {
    let mut state = state();
    fetch(&mut state, set("a"), START);
    let mut now = at(300);
    for (pause, outcome) in [
        (2, set("broken")),
        (4, Err(KeySetFetchError::Body)),
        (8, Err(KeySetFetchError::Redirect(302))),
        (16, Err(KeySetFetchError::Status(500))),
        (32, set("broken")),
        (60, set("broken")),
        (60, set("broken")),
    ] {
        let result = fetch(&mut state, outcome, now);
        let is_first = pause == 2;
        assert_eq!(result == FetchResult::BeganToFail, is_first, "{pause}");
        assert!(state.fault().is_some());
        assert!(!state.is_due(now + Duration::from_secs(pause - 1)), "{pause}");
        now = now + Duration::from_secs(pause);
    }
    assert_eq!(&*state.usable(KEEP, at(3_599)).unwrap().content, "a");
    assert!(state.usable(KEEP, at(3_600)).is_none());
    assert_eq!(fetch(&mut state, Ok(KeySetAnswer::default()), at(4_000)), FetchResult::Confirmed);
    assert!(state.usable(KEEP, at(4_001)).is_some() && state.fault().is_none());
}

#[test]
fn an_unknown_key_has_the_set_fetched_but_not_again_and_again() {
    let mut state = state();
    fetch(&mut state, set("a"), START);
    assert!(!state.is_due(at(5)));
    state.report_missed_key();
    assert!(!state.is_due(at(4)) && state.is_due(at(5)), "it is remembered until then");
    fetch(&mut state, set("a"), at(5));
    assert!(!state.is_due(at(100)), "one report, one fetch");
}

#[test]
fn nothing_can_be_confirmed_where_there_is_nothing() {
    let mut state = state();
    assert_eq!(fetch(&mut state, Ok(KeySetAnswer::default()), START), FetchResult::BeganToFail);
    assert!(state.active().is_none());
}

#[test]
fn a_set_of_an_earlier_process_has_its_age_and_another_interval_counts_at_once() {
    let active = ActiveKeySet {
        content: "a".into(),
        etag: None,
        confirmed: START,
        earlier_age: Duration::from_secs(3_000),
        revision: 1,
    };
    let mut state = KeySetState::new(REFRESH, Some(active), START);
    assert!(state.is_due(START));
    assert!(state.usable(KEEP, at(599)).is_some() && state.usable(KEEP, at(600)).is_none());
    fetch(&mut state, set("b"), START);
    assert_eq!(state.active().unwrap().revision, 2);
    state.set_refresh(Duration::from_secs(10), at(20));
    assert!(!state.is_due(at(29)) && state.is_due(at(30)));
}

/// One step of a simulated second.
#[derive(Clone, Debug)]
struct SimulatedSecond {
    /// Tokens with unknown keys.
    misses_key: bool,
    /// How the fetch ends that is under way; `None`: not yet.
    outcome: Option<SimulatedKeyAnswer>,
    draw: u64,
}

#[derive(Clone, Copy, Debug)]
enum SimulatedKeyAnswer {
    Set(u8),
    Broken,
    Unchanged,
    Failure,
}

fn seconds() -> impl Strategy<Value = Vec<SimulatedSecond>> {
    let answer = prop_oneof![
        (0u8..3).prop_map(SimulatedKeyAnswer::Set),
        Just(SimulatedKeyAnswer::Broken),
        Just(SimulatedKeyAnswer::Unchanged),
        Just(SimulatedKeyAnswer::Failure),
    ];
    let second = (any::<bool>(), proptest::option::of(answer), any::<u64>());
    let second = second.prop_map(|(misses_key, outcome, draw)| SimulatedSecond {
        misses_key,
        outcome,
        draw,
    });
    proptest::collection::vec(second, 1..400)
}

proptest! {
    #[test]
    fn whatever_clients_and_servers_do_fetches_are_bounded_and_only_good_sets_count(
        seconds in seconds(),
        refresh in 1u64..100,
    ) {
        let mut state = KeySetState::new(Duration::from_secs(refresh), None, START);
        let least_pause = Duration::from_secs(refresh.min(2)) * 9 / 10;
        let mut ended = None;
        let mut running = false;
        let mut good: Option<String> = None;
        for (second, SimulatedSecond { misses_key, outcome, draw }) in seconds.into_iter().enumerate() {
            let now = at(second as u64);
            if misses_key {
                state.report_missed_key();
            }
            if let Some(outcome) = outcome.filter(|_| running) {
                let outcome = match outcome {
                    SimulatedKeyAnswer::Set(number) => {
                        good = Some(number.to_string());
                        set(&number.to_string())
                    }
                    SimulatedKeyAnswer::Broken => set("broken"),
                    SimulatedKeyAnswer::Unchanged => Ok(KeySetAnswer::default()),
                    SimulatedKeyAnswer::Failure => Err(KeySetFetchError::Body),
                };
                let before = state.active().cloned();
                let result = state.finish(outcome, check, now, draw);
                running = false;
                ended = Some(now);
                let is_renewed = before.map(|it| it.content) != state.active().map(|it| it.content.clone());
                prop_assert_eq!(is_renewed, result == FetchResult::Renewed);
                let failed = matches!(result, FetchResult::BeganToFail | FetchResult::StillFails);
                prop_assert_eq!(failed, state.fault().is_some());
            }
            if state.is_due(now) {
                prop_assert!(!running, "one at a time");
                if let Some((ended, begun)) = ended.zip(state.begun) {
                    let for_key = now.since(begun) >= UNKNOWN_KEY_PAUSE;
                    prop_assert!(for_key || now.since(ended) >= least_pause);
                }
                state.begin(now);
                running = true;
            } else if !running {
                let idle = ended.map_or(Duration::ZERO, |ended| now.since(ended));
                prop_assert!(idle <= Duration::from_secs(refresh.max(2)), "it never stops");
            }
            prop_assert_eq!(state.active().map(|it| it.content.to_string()), good.clone());
        }
    }
}
