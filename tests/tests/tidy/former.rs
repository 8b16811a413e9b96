//! The rule about former public names, with its bad examples.

use tests::former_names;

use super::{finds, holds};

#[test]
fn pages_examples_and_the_dashboard_use_public_names_of_now() {
    holds(former_names::offences);
}

#[test]
fn former_public_names_are_found() {
    let good = [
        (
            "docs/a.md",
            "`eject.max-time` and the `share` of `circuit-breaker`: `response-truncated`",
        ),
        ("packaging/a.yml", "expr: steelyard_link_up == 0"),
        ("docs/reference/renamed.md", "| `eject` | `most` | `max-time` |"),
    ];
    for (path, text) in [
        ("docs/a.md", "the longest is `eject.most`"),
        ("docs/a.md", "limits of the `breaker`"),
        ("docs/a.md", "the event `member-doubled`"),
        ("docs/a.md", "the cause `whole-timeout`"),
        ("packaging/a.yml", "expr: steelyard_link_alive == 0"),
        ("packaging/a.yml", "expr: steelyard_events_total{kind=~\"a|audit-not-kept\"}"),
        ("docs/a.md", "see `steelyard_server_answers_total`"),
    ] {
        finds(former_names::offences, &[(path, text)], "is a former name", &good);
    }
}
