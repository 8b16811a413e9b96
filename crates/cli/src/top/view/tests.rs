//! Keys and snapshots as rows, and the resulting selection, messages and commands.

use std::path::PathBuf;

use api::types::{MemberStatus, PacketsStatus, Problem, ServerChange};
use model::config::AdminState;
use model::snapshot::ServerState;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Rect};
use ratatui::widgets::{Row, StatefulWidget, Table};

use super::*;
use crate::top::fixture::snapshot;

const SECOND: Duration = Duration::from_secs(1);

fn servers(of: &[(&str, f64)]) -> TopView {
    TopView::new(snapshot(of), SECOND, Some(Tab::Servers), Duration::ZERO)
}

/// Letters, and signs for keys without: `^` up, `v` down, `>` tab, `<` back, `!` enter, `-` escape, `_` backspace.
fn press(view: &mut TopView, keys: &str) -> Vec<KeyAction> {
    let key = |sign| match sign {
        '^' => TopKey::Up,
        'v' => TopKey::Down,
        '>' => TopKey::Next,
        '<' => TopKey::Back,
        '!' => TopKey::Enter,
        '-' => TopKey::Escape,
        '_' => TopKey::Erase,
        letter => TopKey::Letter(letter),
    };
    keys.chars().map(|sign| view.handle_key(key(sign))).collect()
}

fn chosen(view: &TopView) -> String {
    let SheetSelection { sheet, chosen } = view.listed();
    sheet.rows.get(chosen).map_or_else(String::new, |row| row.id.clone())
}

fn order(server: &str, action: ServerAction) -> KeyAction {
    KeyAction::Send(ServerOperation { pool: "web".into(), server: server.into(), action })
}

fn said(view: &TopView, now: Duration) -> String {
    view.notice(now).map_or_else(String::new, |notice| notice.text)
}

fn absent() -> ApiError {
    ApiError::Absent { socket: PathBuf::from("/run/sock") }
}

#[test]
fn arrows_choose_and_stop_at_the_ends() {
    let rows = [
        ("", "web/a"),
        ("v", "web/b"),
        ("vv", "web/c"),
        ("vvvvv", "web/c"),
        ("jjk", "web/b"),
        ("^", "web/a"),
        ("vv^^^", "web/a"),
    ];
    for (keys, expected) in rows {
        let mut view = servers(&[("a", 1.0), ("b", 2.0), ("c", 3.0)]);
        press(&mut view, keys);
        assert_eq!(chosen(&view), expected, "{keys}");
    }
    let mut view = servers(&[("a", 1.0), ("b", 2.0), ("c", 3.0)]);
    view.handle_key(TopKey::End);
    assert_eq!(chosen(&view), "web/c");
    view.handle_key(TopKey::Home);
    assert_eq!(chosen(&view), "web/a");
}

#[test]
fn the_choice_stays_with_its_server_when_lines_move() {
    let mut view = servers(&[("a", 1.0), ("b", 2.0), ("c", 3.0)]);
    // By the third column, requests a second: the largest first.
    press(&mut view, "vsss");
    let SheetSelection { sheet, chosen: at } = view.listed();
    let ids: Vec<&str> = sheet.rows.iter().map(|row| row.id.as_str()).collect();
    assert_eq!((ids, at), (vec!["web/c", "web/b", "web/a"], 1));
    view.update_snapshot(snapshot(&[("a", 1.0), ("b", 9.0), ("c", 3.0)]), SECOND);
    assert_eq!((chosen(&view).as_str(), view.listed().chosen), ("web/b", 0));
    view.update_snapshot(snapshot(&[("a", 8.0), ("b", 1.0), ("c", 3.0)]), SECOND);
    assert_eq!((chosen(&view).as_str(), view.listed().chosen), ("web/b", 2));
    // The chosen line has gone: the one in its place is chosen.
    view.update_snapshot(snapshot(&[("a", 8.0), ("c", 3.0)]), SECOND);
    assert_eq!(chosen(&view), "web/c");
    view.update_snapshot(snapshot(&[]), SECOND);
    assert_eq!(chosen(&view), "");
}

#[test]
fn an_order_goes_to_the_confirmed_server() {
    for (key, action) in
        [("d", ServerAction::Drain), ("e", ServerAction::Enable), ("x", ServerAction::Disable)]
    {
        let mut view = servers(&[("a", 1.0), ("b", 2.0)]);
        press(&mut view, "v");
        assert_eq!(press(&mut view, key), [KeyAction::Stay]);
        assert!(said(&view, SECOND).ends_with(" web/b? y/n"), "{}", said(&view, SECOND));
        // Lines move, and the server even goes, between question and answer.
        view.update_snapshot(snapshot(&[("z", 9.0), ("a", 3.0)]), SECOND);
        assert_eq!(press(&mut view, "y"), [order("b", action)]);
        assert!(said(&view, SECOND).contains("waiting for the answer"));
    }
}

#[test]
fn nothing_is_ordered_without_a_yes() {
    for no in ["dn", "d-", "d!", "dq", "dd", "dv"] {
        let mut view = servers(&[("a", 1.0), ("b", 2.0)]);
        assert_eq!(press(&mut view, no), [KeyAction::Stay, KeyAction::Stay], "{no}");
        assert_eq!(said(&view, SECOND), "web/a is left as it is", "{no}");
        assert_eq!(*view.mode(), InputMode::Table, "{no}");
    }
    let mut view = servers(&[("a", 1.0)]);
    assert_eq!(press(&mut view, "<dy"), vec![KeyAction::Stay; 3], "a service is no server");
}

#[test]
fn answers_and_refusals_are_shown_until_the_next_key() {
    let change = ServerChange {
        pool: "web".into(),
        server: "a".into(),
        changed: true,
        admin: AdminState::Drain,
        state: ServerState::Drain,
        weight: 1,
        in_flight: 1200,
        removed: false,
    };
    let done = ServerChanged { servers: vec![change], ..ServerChanged::default() };
    let refused = Problem { detail: "it is the last".into(), ..Problem::default() };
    let rows = [
        (Ok(done), "drain web/a: web/a is drain, 1,200 in flight"),
        (Err(ApiError::Refused(Box::new(refused))), "it is the last"),
        (Err(absent()), "drain web/a: no daemon at /run/sock"),
    ];
    for (answer, expected) in rows {
        let mut view = servers(&[("a", 1.0), ("b", 2.0)]);
        press(&mut view, "dy");
        // One at a time.
        assert_eq!(press(&mut view, "xy"), [KeyAction::Stay, KeyAction::Stay]);
        view.record_answer(&answer);
        let text = said(&view, SECOND);
        assert!(text.contains(expected), "{text}");
        assert_eq!(answer.as_ref().is_err_and(ApiError::is_refusal), text.contains("refused"));
        press(&mut view, "v");
        assert_eq!(said(&view, SECOND), "");
        assert_eq!(press(&mut view, "xy")[1], order("b", ServerAction::Disable));
    }
}

#[test]
fn the_filter_takes_letters_that_are_keys_elsewhere() {
    let mut view = servers(&[("a", 1.0), ("dq", 2.0), ("c", 3.0)]);
    let shown = |view: &TopView| view.listed().sheet.rows.len();
    assert_eq!(press(&mut view, "/DQ"), [KeyAction::Stay, KeyAction::Stay, KeyAction::Stay]);
    assert_eq!((shown(&view), chosen(&view).as_str()), (1, "web/dq"));
    press(&mut view, "x");
    assert_eq!((shown(&view), chosen(&view).as_str()), (0, ""));
    press(&mut view, "_!");
    assert_eq!((shown(&view), view.mode()), (1, &InputMode::Table));
    assert_eq!(press(&mut view, "dy")[1], order("dq", ServerAction::Drain));
    press(&mut view, "-");
    assert_eq!(shown(&view), 3);
    press(&mut view, &format!("/{}", "x".repeat(1000)));
    assert_eq!(said(&view, SECOND), format!("filter: {}_", "x".repeat(FILTER_MAX)));
    assert_eq!(view.handle_key(TopKey::Interrupt), KeyAction::Quit);
}

#[test]
fn tab_goes_around_the_views_that_there_are() {
    let around = |snapshot: TopSnapshot| {
        let mut view = TopView::new(snapshot, SECOND, None, Duration::ZERO);
        let mut seen = vec![view.tab()];
        while press(&mut view, ">") == [KeyAction::Stay] && view.tab() != seen[0] {
            seen.push(view.tab());
        }
        press(&mut view, "<");
        assert_eq!(Some(&view.tab()), seen.last());
        seen
    };
    let mut all = snapshot(&[("a", 1.0)]);
    assert_eq!(around(all.clone()), [Tab::Services, Tab::Servers, Tab::Causes]);
    all.status.packets = Some(PacketsStatus::default());
    all.status.vrrp = vec![MemberStatus {
        name: "front".into(),
        interface: "eth0".into(),
        id: 1,
        addresses: Vec::new(),
        state: "active".into(),
        reason: "nobody else".into(),
        since_unix_ms: 0,
        priority: 100,
        active_peer: None,
        active_peer_priority: None,
        changes: Vec::new(),
        counts: BTreeMap::new(),
        dropped: BTreeMap::new(),
    }];
    let tabs = [Tab::Services, Tab::Servers, Tab::Causes, Tab::Packets, Tab::Shared];
    assert_eq!(around(all.clone()), tabs);
    // A view that goes away is left.
    let mut view = TopView::new(all, SECOND, Some(Tab::Shared), Duration::ZERO);
    assert_eq!(chosen(&view), "front");
    view.update_snapshot(snapshot(&[]), SECOND);
    assert_eq!(view.tab(), Tab::Services);
}

#[test]
fn sorting_goes_through_all_columns_and_back() {
    let mut view = servers(&[("b", 1.0), ("a", 2.0)]);
    assert_eq!(view.terms(), "as configured");
    press(&mut view, "s");
    assert_eq!(
        (view.terms().as_str(), view.listed().sheet.rows[0].id.as_str()),
        ("by SERVER", "web/a")
    );
    let columns = view.sheet(Tab::Servers).columns.len();
    press(&mut view, &"s".repeat(columns));
    assert_eq!(view.terms(), "as configured");
    press(&mut view, "S");
    assert_eq!(view.terms(), "by WHY");
}

#[test]
fn a_lost_daemon_is_reported_with_its_age_and_comes_back() {
    let mut view = servers(&[("a", 1.0)]);
    assert_eq!(view.stale(SECOND), None);
    assert_eq!(view.stale(3 * SECOND), None, "as long as it may take");
    let text = view.stale(4 * SECOND).unwrap_or_default();
    assert_eq!(text, "the daemon has not answered for 4 s: it was asked and says nothing");
    view.record_failure("no daemon");
    let text = view.stale(5 * SECOND).unwrap_or_default();
    assert_eq!(text, "the daemon has not answered for 5 s: no daemon");
    assert_eq!(chosen(&view), "web/a", "what was seen last is still there");
    let mut other = snapshot(&[("a", 1.0)]);
    other.status.pid = 4343;
    view.update_snapshot(other, 6 * SECOND);
    assert_eq!(view.stale(6 * SECOND), None);
    assert_eq!(said(&view, 6 * SECOND), "another process answers now: 4343, before it was 4242");
}

#[test]
fn a_pause_keeps_what_is_seen() {
    let mut view = servers(&[("a", 1.0)]);
    assert_eq!((view.ages(SECOND), view.ages(9 * SECOND)), (false, true), "silence grows older");
    press(&mut view, "p");
    view.update_snapshot(snapshot(&[("b", 1.0)]), 5 * SECOND);
    assert!(view.ages(5 * SECOND));
    assert_eq!(chosen(&view), "web/a");
    assert_eq!(said(&view, 7 * SECOND), "paused: this is 7 s old; p goes on");
    assert_eq!(view.stale(7 * SECOND), None, "the daemon answers all the while");
    press(&mut view, "p");
    view.update_snapshot(snapshot(&[("b", 1.0)]), 8 * SECOND);
    assert_eq!((chosen(&view).as_str(), said(&view, 8 * SECOND).as_str()), ("web/b", ""));
}

#[test]
fn a_thousand_lines_scroll_with_the_choice_on_the_screen() {
    let names: Vec<String> = (0..1000).map(|number| format!("s{number:03}")).collect();
    let all: Vec<(&str, f64)> = names.iter().map(|name| (name.as_str(), 1.0)).collect();
    let mut view = servers(&all);
    let steps = [
        (TopKey::PageDown, 5, "web/s100", 81),
        (TopKey::Up, 21, "web/s079", 79),
        (TopKey::End, 1, "web/s999", 980),
        (TopKey::Down, 1, "web/s999", 980),
        (TopKey::PageUp, 1, "web/s979", 979),
        (TopKey::Home, 1, "web/s000", 0),
        (TopKey::Down, 20, "web/s020", 1),
    ];
    assert_eq!(scroll(&mut view, 20), 0);
    for (key, times, expected, top) in steps {
        let mut first = 0;
        for _ in 0..times {
            view.handle_key(key);
            let at = view.listed().chosen;
            first = scroll(&mut view, 20);
            assert!(first <= at && at < first + 20, "{key:?}: {at} is not within 20 of {first}");
        }
        assert_eq!((chosen(&view).as_str(), first), (expected, top), "{key:?}");
    }
    // The screen grows and shrinks.
    for holds in [1, 1000, 5000, 3] {
        let at = view.listed().chosen;
        let first = scroll(&mut view, holds);
        assert!(first <= at && at < first + usize::from(holds), "{holds}: {first}");
    }
}

/// The first line that the library's table shows of a thousand, where so many have room.
fn scroll(view: &mut TopView, holds: u16) -> usize {
    let area = Rect::new(0, 0, 1, holds);
    let place = view.place(1000, usize::from(holds));
    let table = Table::new((0..1000).map(|_| Row::new(["x"])), [Constraint::Length(1)]);
    table.render(area, &mut Buffer::empty(area), place);
    place.offset()
}

#[test]
fn help_is_left_by_any_key_and_q_quits() {
    let mut view = servers(&[("a", 1.0)]);
    press(&mut view, "?");
    assert_eq!(*view.mode(), InputMode::Help);
    assert_eq!(press(&mut view, "q"), [KeyAction::Stay]);
    assert_eq!(*view.mode(), InputMode::Table);
    assert_eq!(press(&mut view, "q"), [KeyAction::Quit]);
}
