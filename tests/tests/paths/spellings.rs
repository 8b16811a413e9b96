//! Spellings of paths: hostile ones, combined from parts, and ordinary ones. This module does not depend on any server.

/// Spellings that some server decodes to a slash.
const SLASHES: [&str; 20] = [
    "/", "//", "///", "/./", "/%2e/", "/x/../", "%2F", "%2f", "\\", "%5C", "%5c", "/\\", ";/",
    ";a=b/", "/;/", "/.;/", "%252F", "%c0%af", "%u002f", "%25252f",
];

/// Spellings that some server decodes to the parent directory.
const UPS: [&str; 14] = [
    "..",
    "%2e%2e",
    ".%2E",
    "%2e.",
    "..;",
    "..;a=b",
    "..%3B",
    "%252e%252e",
    "%c0%ae%c0%ae",
    "..%00",
    "..%09",
    "..%FF",
    "%u002e%u002e",
    "..;/x/..",
];

/// Spellings that some server decodes to `admin`.
const NAMES: [&str; 8] = [
    "admin",
    "%61dmin",
    "adm%69n",
    "%61%64%6d%69%6e",
    "%2561dmin",
    "adm%00in",
    "%c1%a1dmin",
    "ad%min",
];

/// Paths that try to reach `/admin/`.
pub fn hostile() -> Vec<String> {
    let mut all = Vec::new();
    for slash in SLASHES {
        all.extend(NAMES.map(|name| format!("/{name}{slash}x")));
        all.push(format!("{}admin/x", if slash.starts_with('/') { slash } else { "/" }));
        for up in UPS {
            all.push(format!("/public{slash}{up}{slash}admin/x"));
            all.push(format!("/public/{up}{slash}admin{slash}x"));
        }
    }
    let special = [
        "//h/admin/x",
        "///h/admin/x",
        "/\\h/admin/x",
        "/\\/h/admin/x",
        "/.//h/../admin/x",
        "/%2Fh/admin/x",
        "//h@i:1/admin/x",
        "//public/admin/x",
        "//public/../admin/x",
        "/;/admin/x",
        "/;a=b/admin/x",
        "/.;/admin/x",
        "/..;/admin/x",
        "/%3B/admin/x",
        "/public;/../admin/x",
        "/public/%3F/../../admin/x",
        "/admin/x%3F/../../public/x",
        "/admin/x%23/../../public/x",
        "/admin/%00/../../public/x",
        "/public/x/..%2f..%2fadmin%2fx",
        "/public/x/%2e%2e/%2e%2e/admin/x",
        "/public/a/b/../../../admin/x",
        "/public/../public/../admin/x",
        "/public//../../admin/x",
        "/public/./../admin/x",
        "/admin/x/../../public/..;/admin/x",
        "/admin/../public/x",
        "/admin/x;/../../public/x",
        "/public/..%255cadmin/x",
        "/public/..%c0%afadmin/x",
        "/public/..%e0%80%afadmin/x",
        "/public/..%f8%80%80%80%afadmin/x",
        "/public/..%fc%80%80%80%80%afadmin/x",
        "/public/..%25c0%25afadmin/x",
        "http://h/admin/x",
        "http://h//admin/x",
        "http://h/public/..%2fadmin/x",
        "/public/%2e%2e%2fadmin%2fx",
        "/public%2f..%2fadmin/x",
        "/public%2F%2e%2e%2Fadmin/x",
        "/admin%2f..%2fadmin%2fx",
    ];
    all.extend(special.map(str::to_owned));
    all.sort();
    all.dedup();
    all
}

/// Ordinary paths, below `/public/`.
pub fn ordinary() -> Vec<String> {
    let paths = [
        "",
        "a",
        "a/b/",
        "a/b;v=1",
        "a;v=1/b;w=2",
        "page;jsessionid=0123ABCD",
        "page;jsessionid=1?x=1",
        "caf%C3%A9",
        "caf%c3%a9/%E4%BD%A0%E5%A5%BD",
        "search/a%2Fb",
        "search/a%2fb/c",
        "a//b",
        "a/b//",
        "a%20b",
        "a+b",
        "a%2Bb",
        "100%25",
        "50%25off",
        "a%26b",
        "~user",
        "%7Euser",
        ".well-known/acme",
        ".git",
        "...",
        "a..b",
        "a/..b/c..",
        "x:y",
        "x%3Ay",
        "x@y.z",
        "(a)",
        "a,b",
        "a=b",
        "a&b",
        "'a'",
        "!",
        "*",
        "$metadata",
        "Entity(1)/Name",
        "@scope%2Fpackage",
        "%40scope%2fpackage",
        "sha256:0123/layers",
        "why%3F",
        "c%23",
        "a%5Cb",
        "a%3Bb",
        "file.tar.gz",
        "admin/x",
        "admin",
        "a%22b",
        "%5B1%5D",
        "[1]",
        "a|b",
        "?q=%2F..%2Fadmin",
        "?next=//evil.example/admin/x",
        "?a=1;b=2",
        "x?y=/../..//%00",
        "proxy/https:%2F%2Fexample.com%2Fa",
        "proxy/https://example.com/a",
        "a%252Fb",
        "%F0%9F%98%80",
    ];
    paths.map(|path| format!("/public/{path}")).to_vec()
}
