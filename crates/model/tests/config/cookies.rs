//! Cookies that keep clients: the meaning of good files, and mistakes.

use model::config::{AffinityCookie, AffinityKey, CookieMode};

use super::mistakes::{MistakeRow, check_rows, row, service};
use super::support::good;

const ROWS: &[MistakeRow] = &[
    row(
        service!(
            "sticky = { by = \"cookie\", name = \"x\", cookie = \"prefix\", expire = \"1h\" }\n"
        ),
        "service.s.sticky.expire",
        "the application's",
    ),
    row(
        service!(
            "sticky = { by = \"cookie\", name = \"x\", cookie = \"passive\", entries = 99 }\n"
        ),
        "service.s.sticky.entries",
        "the cookie carries the server",
    ),
    row(
        service!("sticky = { by = \"cookie\", name = \"x\", cookie = \"prefix\", hide = true }\n"),
        "service.s.sticky.hide",
        "insert",
    ),
    row(
        service!(
            "sticky = { by = \"cookie\", name = \"x\", cookie = \"rewrite\", domain = \"a.b\" }\n"
        ),
        "service.s.sticky.domain",
        "insert",
    ),
    row(
        service!("sticky = { by = \"cookie\", name = \"x\", domain = \"a.b; Secure\" }\n"),
        "service.s.sticky.domain",
        "not a text",
    ),
    row(
        service!(
            "sticky = { by = \"cookie\", name = \"x\", cookie = \"passive\", no-cache = true }\n"
        ),
        "service.s.sticky.no-cache",
        "that we set or change",
    ),
    row(
        service!("sticky = { by = \"header\", name = \"x\", expire = \"1h\", no-cache = true }\n"),
        "service.s.sticky.no-cache",
        "that we set or change",
    ),
    row(
        "[pool.p]\nservers = [{ address = \"10.0.0.9:80\", cookie-value = \"a~b\" }]\n",
        "pool.p.servers[0].cookie-value",
        "not a text",
    ),
    row(
        "[pool.p]\nservers = [{ address = \"10.0.0.9:80\", cookie-value = \"a;b\" }]\n",
        "pool.p.servers[0].cookie-value",
        "not a text",
    ),
    row(
        "[pool.p]\nservers = [{ address = \"10.0.0.9:80\", cookie-value = \"s\" }, { address = \"10.0.0.8:80\", name = \"s\" }]\n",
        "pool.p.servers[0].cookie-value",
        "both `s`",
    ),
    row(
        "[pool.p]\nservers = [{ address = \"10.0.0.9:80\", cookie-value = \"s\" }, { address = \"10.0.0.8:80\", cookie-value = \"s\" }]\n",
        "pool.p.servers[1].cookie-value",
        "both `s`",
    ),
];

#[test]
fn mistakes_in_cookies_are_named() {
    check_rows(ROWS);
}

fn cookie(more: &str) -> AffinityCookie {
    let text = format!(
        "[service.shop]\nlisten = \":80\"\nforward = \"http\"\npool = \"web\"\n\
         sticky = {{ by = \"cookie\", name = \"SRV\"{more} }}\n\
         [pool.web]\nservers = [{{ address = \"10.0.0.1:80\", cookie-value = \"S.1\" }}]\n"
    );
    let config = good(&text).config;
    let server = &config.pools["web"].servers[0];
    assert_eq!((server.cookie_value(), server.name.as_str()), ("S.1", "10-0-0-1-80"));
    let sticky = config.services["shop"].sticky.clone().unwrap();
    assert!(!sticky.needs_table());
    let AffinityKey::Cookie(cookie) = sticky.by else { panic!("{more}") };
    cookie
}

#[test]
fn what_is_written_of_cookies_arrives() {
    let plain = cookie("");
    assert_eq!((plain.mode, plain.same_site), (CookieMode::Insert, Some("Lax")));
    assert_eq!((plain.domain.as_deref(), plain.hide, plain.no_cache), (None, false, false));
    let full = cookie(
        ", domain = \"shop.example\", hide = true, no-cache = true, same-site = \"omit\", expire = \"1h\"",
    );
    assert_eq!((full.domain.as_deref(), full.same_site), (Some("shop.example"), None));
    assert!(full.hide && full.no_cache);
    for (word, mode) in [("prefix", CookieMode::Prefix), ("passive", CookieMode::Passive)] {
        let of_the_application = cookie(&format!(", cookie = \"{word}\""));
        assert_eq!(of_the_application.mode, mode);
        assert!(mode.names_server() && !mode.uses_secret());
    }
}
