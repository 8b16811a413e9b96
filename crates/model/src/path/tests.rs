//! Readings of paths, as rows and as properties.

use proptest::prelude::*;

use super::*;

fn all(path: &str) -> Vec<String> {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    match possible_readings(path.as_bytes()) {
        PathReadings::One => vec![text(usual_form(path.as_bytes()))],
        PathReadings::Several(all) => all.into_iter().map(text).collect(),
        PathReadings::TooMany => panic!("{path} has too many readings"),
    }
}

#[test]
fn ordinary_paths_are_read_in_one_way() {
    for (path, want) in [
        ("/", "/"),
        ("*", "*"),
        ("", ""),
        ("/a/b.html", "/a/b.html"),
        ("/.well-known/x", "/.well-known/x"),
        ("/a/.../b", "/a/.../b"),
        ("/a..b/..c/d..", "/a..b/..c/d.."),
        ("/%61dmin/%7Euser", "/admin/~user"),
        ("/caf%c3%a9/%E2%82%AC", "/caf%C3%A9/%E2%82%AC"),
        ("/a%20b/%28c%29", "/a%20b/(c)"),
        ("/v1/x:cancel,1@2", "/v1/x:cancel,1@2"),
        ("/v1/x%3Acancel", "/v1/x:cancel"),
    ] {
        assert_eq!(all(path), [want], "{path}");
        assert_eq!(possible_readings(path.as_bytes()), PathReadings::One, "{path}");
    }
}

#[test]
fn a_plain_path_is_seen_in_one_scan() {
    for (path, plain) in [
        ("", true),
        ("*", true),
        ("/", true),
        ("/a/b.c/d?e", true),
        ("./a", true),
        ("/a/.b", false),
        ("//", false),
        ("/a;", false),
        ("\\", false),
        ("/%", false),
        ("/a./b", true),
    ] {
        assert_eq!(is_plain(path.as_bytes()), plain, "{path}");
    }
}

#[test]
fn each_step_that_a_server_may_take_is_taken_and_left_out() {
    for (path, want) in [
        ("/a%2Fb", &["/a%2Fb", "/a/b"][..]),
        ("/a/b;v=1/c", &["/a/b;v=1/c", "/a/b/c", "/a/b"]),
        ("/a%3Bb", &["/a;b", "/a"]),
        ("/a//b", &["/a/b", "/a//b"]),
        ("//cdn/x", &["/cdn/x", "//cdn/x", "/x"]),
        ("//cdn", &["/cdn", "//cdn", "/"]),
        ("/a/../b", &["/b", "/a/../b"]),
        ("/a/%2e%2E/b/.", &["/b/", "/a/../b/."]),
        ("/a//../b", &["/b", "/a//../b", "/a/b", "/a/../b"]),
        ("/a\\b", &["/a\\b", "/a/b"]),
        ("/a%5Cb", &["/a\\b", "/a/b"]),
        ("/a%3Fb", &["/a%3Fb", "/a"]),
        ("/a%23b", &["/a%23b", "/a"]),
        ("/a%00b", &["/a%00b", "/a", "/ab"]),
        ("/a%09b", &["/a%09b", "/ab"]),
        ("/a%FFb", &["/a%FFb", "/ab"]),
        ("/50%", &["/50%25", "/50"]),
        ("/50%25", &["/50%25", "/50"]),
        ("/a%2561", &["/a%2561", "/aa"]),
        ("/a%252Fb", &["/a%252Fb", "/a%2Fb", "/a/b"]),
        ("/a%c0%afb", &["/a%C0%AFb", "/a%2Fb", "/a/b", "/ab"]),
        ("/%c1%a1b", &["/%C1%A1b", "/ab", "/b"]),
        ("/%u0061b", &["/%25u0061b", "/ab", "/u0061b"]),
    ] {
        let mut readings = all(path);
        let mut want = want.to_vec();
        assert_eq!(readings[0], want[0], "{path}");
        readings.sort();
        want.sort_unstable();
        assert_eq!(readings, want, "{path}");
    }
}

#[test]
fn what_a_server_may_reach_is_among_the_readings() {
    for path in [
        "/admin%2Fx",
        "/admin%2fx",
        "/admin%5Cx",
        "/admin\\x",
        "/admin%252fx",
        "/admin%25252fx",
        "/admin%c0%afx",
        "/admin%25c0%25afx",
        "/admin%e0%80%afx",
        "/admin%f0%80%80%afx",
        "/admin%f8%80%80%80%afx",
        "/admin%fc%80%80%80%80%afx",
        "/admin%u002fx",
        "/%u0061dmin/x",
        "/adm%00in/x",
        "/adm%ffin/x",
        "/ad%min/x",
        "/admin/x%00.html",
        "/admin/x%3F.html",
        "/admin/x%23.html",
        "/admin;/x",
        "/admin;a=b/x;c",
        "/admin%3Ba/x",
        "/admin/x;/y/z",
        "//h/admin/x",
        "///h/admin/x",
        "/\\h/admin/x",
        "//admin/x",
        "/a/..//admin/x",
        "/public/../admin/x",
        "/public/%2e%2e/admin/x",
        "/public/.%2e/admin/x",
        "/public/..%2fadmin%2fx",
        "/public%2f..%2fadmin/x",
        "/public/..%5cadmin/x",
        "/public\\..\\admin\\x",
        "/public/..;/admin/x",
        "/public/..;a=b/admin/x",
        "/public/..%3B/admin/x",
        "/public/%252e%252e/admin/x",
        "/public/%252e%252e%252fadmin%252fx",
        "/public/%c0%ae%c0%ae/admin/x",
        "/public/./.././admin/./x",
        "/;/admin/x",
        "/;a/admin/x",
        "/.;/admin/x",
        "/public//../../admin/x",
        "/admin//x",
        "/admin/./x",
        "/public/a%252Fb/..%2f..%2fadmin%252Fx",
        "/public/a%2Fb/../../admin%252Fx",
        "/public/a%3Fb%2f..%2f..%2fadmin%2Fx%3Fz",
        "/public/a%00%2f..%2f..%2fadmin%2Fx",
    ] {
        let readings = all(path);
        assert!(readings.iter().any(|reading| reading == "/admin/x"), "{path}: {readings:?}");
    }
}

#[test]
fn a_path_with_too_many_readings_is_refused_by_name() {
    for path in [
        "/%2525252561".to_owned(),
        "/a%2Fb\\c;d//e/../f%00g%3Fh%FF%25%2e".to_owned(),
        format!("/{}", "a%2F;b/".repeat(20_000)),
    ] {
        assert_eq!(possible_readings(path.as_bytes()), PathReadings::TooMany, "{path:.40}");
        assert!(escapes_prefix(path.as_bytes()) || !path.contains(".."));
    }
}

#[test]
fn the_normal_form_is_what_may_be_sent() {
    for (path, want) in [
        ("*", "*"),
        ("/a/b;v=1", "/a/b;v=1"),
        ("/%61%2f%5c%3b%3B", "/a%2F%5C%3B%3B"),
        ("/a//b/./../c", "/a/c"),
        ("/a\\b\"<c>", "/a%5Cb%22%3Cc%3E"),
        ("/%7e/%c3%a9%20", "/~/%C3%A9%20"),
        ("/50%", "/50%25"),
        ("/..", "/"),
    ] {
        assert_eq!(normal_form(path.as_bytes()), want.as_bytes(), "{path}");
    }
    assert_eq!(comparison_form(b"/%7Ea%2f%c3%a9//b/.."), b"/~a%2F%C3%A9//b/..");
}

#[test]
fn a_path_that_may_leave_its_prefix_is_recognized() {
    for path in
        ["/a/../b", "/a/..%2fb", "/a/..;/b", "//h/a", "/\\h/a", "/a/%252e%252e/b", "/a\\..\\b"]
    {
        assert!(escapes_prefix(path.as_bytes()), "{path}");
    }
    for path in ["/a/b", "/a%2Fb", "/a;b", "/a//b", "/a/..b", "/a%20b"] {
        assert!(!escapes_prefix(path.as_bytes()), "{path}");
    }
}

/// Components of hostile paths.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "/", "a", "..", ".", "%2F", "%2f", "%5C", "\\", ";", "%3B", "//", "%2e", "%25", "2F", "%",
        "%00", "%C0%AF", "%FF", "%3F", "u002f", "é",
    ]);
    prop::collection::vec(piece, 0..12).prop_map(|pieces| format!("/{}", pieces.concat()))
}

proptest! {
    #[test]
    fn readings_are_bounded_written_alike_and_the_usual_one_is_first(path in hostile()) {
        let usual = usual_form(path.as_bytes());
        match possible_readings(path.as_bytes()) {
            PathReadings::One | PathReadings::TooMany => {}
            PathReadings::Several(all) => {
                prop_assert!(all.len() > 1 && all.len() <= MAX_READINGS);
                prop_assert_eq!(&all[0], &usual);
                for reading in &all {
                    prop_assert!(reading.iter().all(u8::is_ascii_graphic), "{:?}", reading);
                }
            }
        }
        let normal = normal_form(path.as_bytes());
        prop_assert_eq!(&normal_form(&normal), &normal);
        prop_assert!(!escapes_prefix(&normal) || path.contains(['\\', '%', ';']), "{}", path);
    }

    #[test]
    fn a_plain_path_is_its_own_only_reading(path in "/[a-z0-9./~é!:@-]{0,20}") {
        if is_plain(path.as_bytes()) && path.is_ascii() {
            prop_assert_eq!(usual_form(path.as_bytes()), path.as_bytes());
            prop_assert_eq!(interpretations(path.as_bytes()).unwrap().len(), 1);
        }
    }
}
