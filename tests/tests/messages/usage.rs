//! Mistakes on the command line.

use crate::raw_text::DailyMistake;

#[test]
fn wrong_words_and_values_are_explained() {
    for (line, says) in [
        ("stauts", &["'stauts'", "status"][..]),
        ("status --jsn", &["'--jsn'", "--json"]),
        ("server weight p/a 900", &["'900'", "a whole number from 0 to 256"]),
        ("server weight p/a x", &["'x'", "a whole number"]),
        ("server weight p/a -- -5", &["'-5'", "a whole number"]),
        ("server drain p", &["expected POOL/NAME", "web/*"]),
        ("undo x", &["'x'", "a whole number"]),
        ("rollback x", &["'x'", "a whole number"]),
        ("try --rate 1", &["'1'", "a whole number from 5 to 100000"]),
        ("top --interval x", &["'x'", "a time is written with its unit"]),
        ("top --interval 5parsecs", &["5parsecs", "a time is written with its unit"]),
        ("audit --since x", &["'x'", "30m, 22:00"]),
        ("bench http htp://x", &["`htp://x`", "expected http://HOST"]),
        ("token nope x", &["'nope'", "view, operate or configure"]),
        ("completions foo", &["'foo'", "bash"]),
        ("explain request", &["--url <URL>"]),
        ("watch --on server-dwn", &["'server-dwn'", "did you mean server-down?"]),
        ("capacity --per-connection x", &["'x'"]),
        ("explain slow --share x", &["'x'"]),
    ] {
        DailyMistake::new(line.split(' '), says).holds();
    }
}
