//! What nginx does with requests that it forwards: its own values are written out, and a location's stand in its rule.

use convert::dialect::Dialect;
use convert::notes::NoteKind;
use convert::run::{ConversionResult, convert};

/// An upstream of three servers, one of which is down, and a server with these directives.
fn converted(server: &str) -> ConversionResult {
    let text = format!(
        "http {{ upstream b {{ server 10.0.0.1; server 10.0.0.2; server 10.0.0.3 backup; server 10.0.0.4 down; }}\n\
         server {{ listen 127.0.0.1:80;\n{server}\n}} }}"
    );
    let converted = convert(&text, "x", Dialect::Nginx);
    let written = converted.text.as_deref().unwrap_or_else(|| panic!("{server}: {converted:?}"));
    model::config::load(written, "x").unwrap_or_else(|findings| panic!("{server}: {findings}"));
    assert_eq!(converted.unsettled, 0, "{server}: {:?}", converted.notes);
    converted
}

#[test]
fn the_values_of_nginx_are_written_out() {
    let text = converted("location / { proxy_pass http://b; }").text.unwrap();
    for line in [
        "timeout = { connect = \"1m\", first-byte = \"1m\", between-bytes = \"1m\", stream = \"1m\", attempts = \"6m\" }",
        "retries = 2",
        "retry = { on-timeout = true, backup = true }",
        "header = \"1m\"",
        "idle = \"75s\"",
        "between-bytes = \"1m\"",
        "tunnel = \"1m\"",
        "buffer = { request = \"1MiB\", response = \"1MiB\" }",
        "field-names = \"drop\"",
        "limit = { body-bytes = \"1MiB\" }",
    ] {
        assert!(text.lines().any(|one| one == line), "{line} in\n{text}");
    }
}

#[test]
fn a_location_has_its_times_retries_and_buffers_in_its_rule_and_shares_the_pool() {
    for (directives, rule) in [
        ("proxy_connect_timeout 2s;", "timeout = { connect = \"2s\", attempts = \"186s\" }"),
        ("proxy_next_upstream off;", "retries = 0"),
        ("proxy_next_upstream_tries 2;", "timeout = { attempts = \"4m\" }\nretries = 1"),
        ("proxy_next_upstream_timeout 9s;", "timeout = { attempts = \"9s\" }"),
        (
            "proxy_next_upstream error http_502 http_503;",
            "retry = { on = [502, 503], on-timeout = false }",
        ),
        ("proxy_next_upstream timeout;", "retry = { unsent-only = true }"),
        ("proxy_next_upstream error timeout invalid_header;", "retry = { on-malformed = true }"),
        ("client_body_timeout 5s;", "timeout = { client-between-bytes = \"5s\" }"),
        ("proxy_request_buffering off;", "buffer = { request = \"off\" }"),
        ("proxy_buffering off;", "buffer = { response = \"off\" }"),
        ("client_max_body_size 20m;", "body-bytes = \"20MiB\""),
        ("client_max_body_size 0;", "body-bytes = \"off\""),
        ("client_max_body_size 1500;", "body-bytes = \"1500B\""),
    ] {
        let text = converted(&format!(
            "location /a {{ {directives} proxy_pass http://b; }}\nlocation / {{ proxy_pass http://b; }}"
        ))
        .text
        .unwrap();
        let own = text.split("when = { path = \"/a*\" }").nth(1).unwrap_or_default();
        let own = own.split("[[").next().unwrap_or_default();
        assert!(own.contains(rule), "{directives}: no {rule} in\n{text}");
        assert_eq!(text.matches("[pool.").count(), 1, "{text}");
    }
}

#[test]
fn what_the_level_of_the_server_says_stands_in_the_pool_and_the_service() {
    let text = converted(
        "proxy_read_timeout 5m; proxy_next_upstream_tries 2; proxy_buffering off; client_body_timeout 7s;\n\
         location / { proxy_pass http://b; }",
    )
    .text
    .unwrap();
    let mut rules = text.split("[[service.web.rule]]").skip(1);
    let rule = rules.next().unwrap().split("[pool.b]").next().unwrap();
    assert!(!rule.contains("timeout") && !rule.contains("retries"), "{text}");
    for part in [
        "first-byte = \"5m\"",
        "retries = 1",
        "buffer = { request = \"1MiB\" }",
        "between-bytes = \"7s\"",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
}

#[test]
fn requests_of_grpc_are_not_read_ahead() {
    let text = converted("location / { grpc_read_timeout 5m; grpc_pass grpc://b; }").text.unwrap();
    assert!(text.contains("buffer = { request = \"off\", response = \"off\" }"), "{text}");
    assert!(
        text.contains("first-byte = \"5m\", between-bytes = \"5m\", stream = \"5m\""),
        "{text}"
    );
}

#[test]
fn a_next_server_without_error_is_reported() {
    let converted = converted("location / { proxy_next_upstream http_503; proxy_pass http://b; }");
    let changed = |one: &convert::notes::ConversionNote| {
        one.kind == NoteKind::Changed && one.directive.starts_with("proxy_next_upstream")
    };
    assert!(converted.notes.iter().any(changed), "{:?}", converted.notes);
}

/// The lines with a limit of bodies, and whether something is left out.
fn limits(server: &str) -> (Vec<String>, bool) {
    let converted = converted(server);
    let text = converted.text.unwrap();
    let lines = text.lines().filter(|line| line.contains("body-bytes"));
    let lines = lines.map(|line| line.split(" #").next().unwrap().to_owned()).collect();
    (lines, converted.notes.iter().any(|note| note.kind == NoteKind::LeftOut))
}

#[test]
fn bodies_have_the_limit_of_nginx_where_it_looks_at_it() {
    const USUAL: &str = "limit = { body-bytes = \"1MiB\" }";
    const TEN: &str = "limit = { body-bytes = \"10MiB\" }";
    let pass = "location / { proxy_pass http://b; }";
    for (server, want, left) in [
        (pass.to_owned(), &[USUAL][..], false),
        (format!("client_max_body_size 10M; {pass}"), &[TEN], false),
        (format!("client_max_body_size 1m; {pass}"), &[USUAL], false),
        (format!("client_max_body_size 0; {pass}"), &[], false),
        // What is no size is reported, and closes nothing and opens nothing.
        (format!("client_max_body_size 10mb; {pass}"), &[USUAL], true),
        // Where no server is named no body is passed on.
        ("client_max_body_size 10m; return 301 https://$host$request_uri;".to_owned(), &[], false),
        (
            format!("location /up {{ client_max_body_size 5g; return 204; }} {pass}"),
            &[USUAL],
            false,
        ),
        // A location takes the limit of the levels around it.
        (
            format!(
                "client_max_body_size 10m; location /a {{ client_max_body_size 1m; proxy_pass http://b; \
                 location /a/b {{ proxy_pass http://b; }} }} {pass}"
            ),
            &[TEN, "body-bytes = \"1MiB\"", "body-bytes = \"1MiB\""],
            false,
        ),
        (
            "location / { grpc_pass grpc://b; client_max_body_size 0; }".to_owned(),
            &[USUAL, "body-bytes = \"off\""],
            false,
        ),
        // The limit where the request comes in counts.
        (
            "client_max_body_size 4m; location / { try_files $uri @app; }\n\
             location @app { client_max_body_size 9m; proxy_pass http://b; }"
                .to_owned(),
            &["limit = { body-bytes = \"4MiB\" }"],
            true,
        ),
        ("location / { deny all; client_max_body_size 9; }".to_owned(), &[], false),
    ] {
        let (lines, out) = limits(&server);
        assert_eq!(lines, want, "{server}");
        assert_eq!(out, left, "{server}");
    }
}

#[test]
fn servers_of_one_address_have_their_own_limits() {
    let text = "http { client_max_body_size 2m;\n\
                server { listen 80; server_name a; location / { proxy_pass http://10.0.0.1; } }\n\
                server { listen 80; server_name b; client_max_body_size 3m;\n\
                location /x/ { proxy_pass http://10.0.0.2; } } }";
    let converted = convert(text, "x", Dialect::Nginx);
    assert_eq!(converted.unsettled, 0, "{:?}", converted.notes);
    let text = converted.text.unwrap();
    model::config::load(&text, "x").unwrap();
    assert_eq!(text.matches("limit = { body-bytes = \"2MiB\" }").count(), 1, "{text}");
    assert_eq!(text.matches("\nbody-bytes = \"3MiB\"").count(), 1, "{text}");
}

#[test]
fn servers_for_backup_are_asked_within_the_request() {
    for (servers, directives, is_written) in [
        ("server 10.0.0.1; server 10.0.0.2 backup;", "", true),
        ("server 10.0.0.1; server 10.0.0.2 backup;", "proxy_next_upstream off;", false),
        ("server 10.0.0.1; server 10.0.0.2;", "", false),
    ] {
        let http = format!(
            "http {{ upstream b {{ {servers} }} server {{ listen 127.0.0.1:80; {directives} \
             location / {{ proxy_pass http://b; }} }} }}"
        );
        let stream = format!(
            "stream {{ upstream b {{ {servers} }} server {{ listen 127.0.0.1:80; {directives} proxy_pass b; }} }}"
        )
        .replace("10.0.0.1;", "10.0.0.1:1;")
        .replace("10.0.0.2", "10.0.0.2:1");
        for file in [http, stream] {
            let text = convert(&file, "x", Dialect::Nginx).text.unwrap();
            model::config::load(&text, "x").unwrap();
            assert_eq!(text.contains("backup = true }\n"), is_written, "{file}\n{text}");
        }
    }
}
