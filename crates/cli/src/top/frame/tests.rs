//! Screens of many sizes, and the one frame that is printed.

use super::*;
use crate::top::keys::Key;
use crate::top::sample::snapshot;

const SECOND: Duration = Duration::from_secs(1);

fn view(tab: Tab, of: &[(&str, f64)]) -> View {
    View::new(snapshot(of), SECOND, Some(tab), Duration::ZERO)
}

fn plainly(view: &mut View, size: (usize, usize)) -> String {
    screen(view, size, SECOND, Paint::off())
}

#[test]
fn a_screen_shows_the_servers_and_marks_the_choice() {
    let mut view = view(Tab::Servers, &[("a", 1200.0), ("b", 0.25)]);
    view.press(Key::Down);
    let text = plainly(&mut view, (150, 14));
    let lines: Vec<&str> = text.lines().collect();
    let title = "steelyard 0.1.0 generation 7, up 5h2m: 1,200 requests/s, 0.50 failed/s, p50 850 us, \
                 p99 1.2 ms, 0 in flight, over 1s";
    assert_eq!(lines[0], title);
    assert_eq!(lines[1], "headroom: descriptors 0 of 0; resident 0 B");
    assert_eq!(lines[2], " services [servers] causes   as configured, 1-2 of 2");
    assert_eq!(lines[4].split_whitespace().next(), Some("SERVER"));
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let a = ["web/a", "up", "1,200", "0", "-", "-", "1", "4", "1", "10.0.0.11:8080"];
    assert_eq!(words(lines[5])[..10], a);
    assert!(lines[5].ends_with("for 1m1s: http GET /healthz 200 in 1 ms"), "{}", lines[5]);
    assert_eq!(words(lines[6])[..4], [">", "web/b", "up", "0.25"]);
    assert_eq!((lines.len(), lines[13]), (14, HINT));
}

#[test]
fn no_screen_is_left_in_any_size() {
    let names: Vec<String> = (0..1000).map(|number| format!("s{number:03}")).collect();
    let all: Vec<(&str, f64)> = names.iter().map(|name| (name.as_str(), 1.0)).collect();
    for of in [&all[..], &[]] {
        for tab in [Tab::Services, Tab::Servers, Tab::Causes] {
            let mut view = view(tab, of);
            view.press(Key::End);
            for size in [(1, 1), (10, 5), (39, 12), (80, 24), (500, 300)] {
                for paint in [Paint::off(), Paint::fixed(true)] {
                    let text = screen(&mut view, size, SECOND, paint);
                    assert_eq!(text.lines().count(), size.1, "{size:?}");
                    let widest = text.lines().map(width).max();
                    assert!(widest <= Some(size.0), "{size:?}: {widest:?}");
                    let opened = text.matches("\x1b[").count();
                    assert_eq!(opened, text.matches("\x1b[0m").count() * 2, "{size:?}: {text:?}");
                }
            }
        }
    }
}

/// Columns that a line takes.
fn width(line: &str) -> usize {
    let after = line.split('\x1b').enumerate().map(|(at, part)| match at {
        0 => part,
        _ => part.split_once('m').map_or("", |(_, text)| text),
    });
    after.map(|text| text.chars().count()).sum()
}

#[test]
fn the_last_of_a_thousand_is_on_the_screen() {
    let names: Vec<String> = (0..1000).map(|number| format!("s{number:03}")).collect();
    let all: Vec<(&str, f64)> = names.iter().map(|name| (name.as_str(), 1.0)).collect();
    let mut view = view(Tab::Servers, &all);
    view.press(Key::End);
    let text = plainly(&mut view, (80, 24));
    assert!(text.contains("\n> web/s999 "), "{text}");
    assert!(text.contains("-1000 of 1000"), "{text}");
    assert!(!text.contains("web/s001"), "{text}");
}

#[test]
fn nothing_up_and_nothing_configured_are_said() {
    let text = plainly(&mut view(Tab::Services, &[]), (120, 24));
    assert!(text.contains("> shop     down"), "{text}");
    assert!(text.contains("no server takes work"), "{text}");
    let text = plainly(&mut view(Tab::Servers, &[]), (120, 24));
    assert!(text.contains("no pool has a server"), "{text}");
    let mut filtered = view(Tab::Servers, &[("a", 1.0)]);
    for letter in "/zzz".chars() {
        filtered.press(Key::Letter(letter));
    }
    let text = plainly(&mut filtered, (120, 24));
    assert!(text.contains("the filter leaves nothing") && text.contains("filter: zzz_"), "{text}");
}

#[test]
fn silence_is_said_above_what_was_seen_last() {
    let mut view = view(Tab::Servers, &[("a", 1.0)]);
    view.failed("no daemon at /run/sock\x1b[2J: is it running?");
    let text = screen(&mut view, (60, 24), 3 * SECOND, Paint::off());
    let said =
        "the daemon has not answered for 3 s: no daemon at\n/run/sock\u{fffd}[2J: is it running?\n";
    assert!(text.contains(said), "{text}");
    assert!(text.contains("> web/a"), "{text}");
}

#[test]
fn the_help_names_every_key() {
    let mut view = view(Tab::Services, &[("a", 1.0)]);
    view.press(Key::Letter('?'));
    let text = plainly(&mut view, (120, 40));
    for line in HELP.lines() {
        assert!(text.contains(line), "{line}");
    }
}

#[test]
fn one_frame_has_every_view_or_the_one_that_is_asked_for() {
    let of = snapshot(&[("a", 1200.0)]);
    let text = whole(&of, None, usize::MAX, Paint::off());
    for part in ["SERVICE ", "shop ", "SERVER ", "web/a ", "server-refused ", "a server\n"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let text = whole(&of, Some(Tab::Causes), usize::MAX, Paint::off());
    assert!(text.contains("server-refused") && !text.contains("web/a"), "{text}");
    let text = whole(&of, Some(Tab::Packets), usize::MAX, Paint::off());
    assert!(text.ends_with("\nno service forwards packets\n"), "{text}");
}
