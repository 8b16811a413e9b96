//! What single directives come to, one row each.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the whole program is a test, which the lints cannot see"
)]

use convert::dialect::Dialect;
use convert::notes::NoteKind;
use convert::run::convert;

/// What is put around a row's directives so that they stand somewhere.
fn around(dialect: Dialect, directives: &str) -> String {
    match dialect {
        Dialect::Haproxy => format!(
            "frontend f\n mode http\n bind 127.0.0.1:80\n default_backend b\n {directives}\n\
             backend b\n mode http\n server s 10.0.0.1:80\nbackend c\n mode http\n server s 10.0.0.2:80\n"
        ),
        Dialect::Nginx => format!(
            "http {{ upstream b {{ server 10.0.0.1; }} upstream c {{ server 10.0.0.2; }}\n\
             server {{ listen 127.0.0.1:80; location / {{ proxy_pass http://b; }}\n {directives} }} }}"
        ),
        Dialect::Keepalived => format!(
            "virtual_server 192.0.2.1 80 {{\n lb_kind DR\n real_server 10.0.0.1 80 {{\n}}\n {directives}\n}}\n"
        ),
        Dialect::Dispatcher => format!(
            "dscontrol cluster add 192.0.2.1\ndscontrol port add 192.0.2.1:80\n\
             dscontrol server add 192.0.2.1:80:10.0.0.1\n{directives}\n"
        ),
    }
}

/// Directives, what must be written, and whether something is left out.
type ConversionCase = (&'static str, &'static str, bool);

fn rows(dialect: Dialect, rows: &[ConversionCase]) {
    for (directives, written, left) in rows {
        let converted = convert(&around(dialect, directives), "x", dialect);
        let text = converted.text.clone().unwrap_or_else(|| panic!("{directives}: {converted:?}"));
        model::config::load(&text, "x")
            .unwrap_or_else(|findings| panic!("{directives}: {findings}"));
        let squeezed = text.replace("\n", " ");
        assert!(squeezed.contains(written), "{directives}: no {written} in\n{text}");
        let out = converted.notes.iter().any(|note| note.kind == NoteKind::LeftOut);
        assert_eq!(out, *left, "{directives}: {:?}", converted.notes);
    }
}

#[test]
fn haproxy() {
    rows(
        Dialect::Haproxy,
        &[
            ("use_backend c if { path /a }", "when = { path = \"/a\" } pool = \"c\"", false),
            ("use_backend c if { path_beg /a /b }", "path = [\"/a*\", \"/b*\"]", false),
            ("use_backend c if { path_end .js }", "path = \"/**.js\"", false),
            ("use_backend c if { path_beg -i /a }", "path-regex = \"(?i)/a.*\"", false),
            ("use_backend c if { path_reg ^/x[0-9]+ }", "path-regex = \"/x[0-9]+.*\"", false),
            ("use_backend c if { path_sub a.b }", "path-regex = \".*a\\\\.b.*\"", false),
            ("acl a hdr(host) -i h.example\n use_backend c if a", "host = \"h.example\"", false),
            (
                "acl a hdr_end(host) .h.example\n use_backend c if a",
                "host = \"*.h.example\"",
                false,
            ),
            ("acl a hdr_beg(host) www.\n use_backend c if a", "header = \"host: www.*\"", false),
            (
                "acl a method POST\n acl b src 10.0.0.0/8\n use_backend c if a !b",
                "method = \"POST\", not = { client = \"10.0.0.0/8\" }",
                false,
            ),
            (
                "acl a path /x\n acl a path /y\n use_backend c if a",
                "any = [{ path = \"/x\" }, { path = \"/y\" }]",
                false,
            ),
            ("use_backend c unless { path /a }", "when = { not = { path = \"/a\" } }", false),
            ("use_backend c if { path /a } || { path /b }", "any = [", false),
            ("use_backend c if { nbsrv(b) lt 2 }", "servers = { of = \"b\", up = \"-1\" }", false),
            ("use_backend c if { ssl_fc } { path /a }", "pool = \"b\"", false),
            ("use_backend c if { hdr_cnt(x) gt 1 }", "pool = \"b\"", true),
            ("use_backend c if unheard_of", "pool = \"b\"", true),
            ("use_backend c if { path -f /x }", "pool = \"b\"", true),
            ("http-request deny if { path /a }", "when = { path = \"/a\" } deny = true", false),
            ("http-request deny deny_status 429 if { path /a }", "answer = 429", false),
            (
                "http-request allow if { src 10.0.0.1 }\n http-request deny",
                "when = { not = { client = \"10.0.0.1\" } } deny = true",
                false,
            ),
            // Access that cannot be expressed is closed.
            ("http-request deny if { path -f /x }", "deny = true", true),
            ("http-request deny unless { src -f /x }", "deny = true", true),
            ("http-request deny if unheard_of", "deny = true", true),
            (
                "http-request deny if { path /a } { src -f /x }",
                "when = { path = \"/a\" } deny = true",
                true,
            ),
            (
                "http-request deny unless { path /a } || { src -f /x }",
                "when = { not = { path = \"/a\" } } deny = true",
                true,
            ),
            (
                "acl bad path -f /x\n acl bad path /y\n http-request deny if bad",
                "deny = true",
                true,
            ),
            ("http-request tarpit if { path /a }", "when = { path = \"/a\" } deny = true", false),
            ("http-request silent-drop if { path -f /a }", "deny = true", true),
            ("tcp-request connection reject if { src -f /x }", "deny = true", true),
            ("http-request return status 404 if { path -f /x }", "answer = { status = 404 }", true),
            (
                "http-request allow if { src -f /x }\n http-request allow if { src 10.0.0.1 }\n http-request deny",
                "when = { not = { client = \"10.0.0.1\" } } deny = true",
                true,
            ),
            ("http-request auth unless { src -f /x }", "deny = true", true),
            (
                "redirect scheme https if !{ ssl_fc }",
                "redirect = { to = \"https://{host}{path}{query}\", status = 302 }",
                false,
            ),
            (
                "http-request redirect location /x code 303",
                "redirect = { to = \"/x\", status = 303 }",
                false,
            ),
            ("http-request set-header X-A b", "rewrite = { set = \"X-A: b\" }", false),
            ("http-request set-header X-A %[src]", "rewrite = { remove = \"X-A\" }", true),
            ("http-request set-header Host x.example", "rewrite = { host = \"x.example\" }", false),
            ("maxconn 0", "pool = \"b\"", false),
            ("bind :::81", "\":81\"", false),
            ("bind :::80\n bind *:80", "\":80\", # line 5 ]", false),
            ("bind :::81 v6only", "\"[::]:81\"", false),
            ("bind *:81 ssl crt /c.pem ca-file /ca.pem", "certificates = \"/c.pem\"", false),
            (
                "bind *:81 ssl crt /c.pem ca-file /ca.pem verify required",
                "verify = \"required\"",
                false,
            ),
            ("bind *:81 ssl crt /c.pem verify required", "pool = \"b\"", true),
            ("bind *:81 ssl crt /c.pem strict-sni", "unknown-name = \"refuse\"", false),
            ("http-response del-header Server", "answer-remove = \"Server\"", false),
            ("timeout client 90s\n timeout http-request 5s", "header = \"5s\" # line 6", false),
            ("maxconn 10", "limit = { connections = 10 }", false),
            ("option forwardfor", "x-forwarded = \"append\"", false),
            ("http-request set-header X-Forwarded-Proto http", "x-forwarded = \"append\"", false),
            ("http-request set-header X-Forwarded-For %[src]", "x-forwarded = \"replace\"", false),
            ("monitor-uri /up", "when = { path = \"/up\" } answer = 200", false),
            ("unheard-of x", "pool = \"b\"", true),
        ],
    );
}

#[test]
fn nginx() {
    rows(
        Dialect::Nginx,
        &[
            (
                "location = /a { proxy_pass http://c; }",
                "when = { path = \"/a\" } pool = \"c\"",
                false,
            ),
            (
                "location /a { proxy_pass http://c; }",
                "when = { path = \"/a*\" } pool = \"c\"",
                false,
            ),
            (
                "location /a/ { proxy_pass http://c/b/; }",
                "rewrite = { path = \"/b/{rest}\" }",
                false,
            ),
            ("location ~ ^/[0-9]+$ { proxy_pass http://c; }", "path-regex = \"/[0-9]+\"", false),
            (
                "location ~* \\.js$ { proxy_pass http://c; }",
                "path-regex = \"(?i).*\\\\.js\"",
                false,
            ),
            ("location /a { return 302 /b; }", "redirect = { to = \"/b\", status = 302 }", false),
            ("location /a { return 200 hi; }", "answer = { status = 200, body = \"hi\" }", false),
            (
                "location /a { deny 10.0.0.1; allow 10.0.0.0/8; deny all; proxy_pass http://c; }",
                "not = { client = \"10.0.0.0/8\" } } deny = true",
                false,
            ),
            (
                "location /a { proxy_pass http://10.9.0.1:81; }",
                "servers = [   \"10.9.0.1:81\"",
                false,
            ),
            ("location /a { proxy_pass https://c; }", "tls = { verify = \"off\" }", false),
            ("location /a { root /srv; }", "answer = 404", true),
            ("location /a { proxy_pass http://$arg_x; }", "answer = 502", true),
            ("location /a { auth_basic x; proxy_pass http://c; }", "deny = true", true),
            ("location ~ (?=a) { proxy_pass http://c; }", "pool = \"b\"", true),
            (
                "rewrite ^/a$ /b permanent;",
                "redirect = { to = \"/b{query}\", status = 301 }",
                false,
            ),
            (
                "if ($host = a.example) { return 301 https://b.example$request_uri; }",
                "when = { host = \"a.example\" } redirect",
                false,
            ),
            ("if ($x) { set $y 1; }", "pool = \"b\"", true),
            ("add_header X-A b;", "rewrite = { answer-set = \"X-A: b\" }", false),
            ("proxy_connect_timeout 2s;", "timeout = { connect = \"2s\" }", false),
            ("unheard_of x;", "pool = \"b\"", true),
        ],
    );
}

#[test]
fn haproxy_connections_and_answers() {
    rows(
        Dialect::Haproxy,
        &[
            (
                "use_backend sorry if { path /a }\nbackend sorry\n mode http",
                "when = { path = \"/a\" } answer = 503",
                false,
            ),
            (
                "use_backend c if { hdr(x-a) -i On }",
                "header = [\"x-a: On\", \"x-a: on\", \"x-a: ON\"]",
                false,
            ),
            (
                "compression algo gzip\n compression type text/html text/css",
                "compress = { codings = \"gzip\", types = [\"text/html\", \"text/css\"] }",
                false,
            ),
            (
                "bind 127.0.0.1:81 accept-proxy",
                "accept-proxy = { from = [\"0.0.0.0/0\", \"::/0\"] }",
                false,
            ),
            (
                "use_backend d if { path /a }\nbackend d\n mode http\n server s 10.0.0.3:80 send-proxy-v2",
                "send-proxy = \"v2\"",
                false,
            ),
            // Nobody is let in for whom a password was asked.
            (
                "http-request auth realm x if { path_beg /p } !{ http_auth(staff) }",
                "when = { path = \"/p*\" } deny = true",
                true,
            ),
            ("http-request deny if !{ http_auth(staff) } { path /p }", "deny = true", false),
        ],
    );
}

#[test]
fn nginx_connections_and_answers() {
    rows(
        Dialect::Nginx,
        &[
            (
                "gzip on; gzip_types text/css;",
                "compress = { codings = \"gzip\", types = [\"text/html\", \"text/css\"], min = \"20B\" }",
                false,
            ),
            ("location /a { gzip on; proxy_pass http://c; }", "pool = \"c\"", true),
            (
                "listen 127.0.0.1:81 proxy_protocol; real_ip_header proxy_protocol; set_real_ip_from 10.0.0.0/8;",
                "accept-proxy = { from = \"10.0.0.0/8\" }",
                false,
            ),
            (
                "listen 127.0.0.1:443 ssl; listen 127.0.0.1:443 quic; ssl_certificate /x/a.pem;",
                "http3 = \"on\"",
                false,
            ),
            (
                "location /a { proxy_read_timeout 1h; proxy_pass http://b; }",
                "timeout = { first-byte = \"1h\", between-bytes = \"1h\" } # line 3  # x:1 upstream b [pool.b-2]",
                false,
            ),
            ("uwsgi_temp_path /x; scgi_temp_path /x; fastcgi_temp_path /x;", "pool = \"b\"", false),
        ],
    );
}

#[test]
fn keepalived() {
    rows(
        Dialect::Keepalived,
        &[
            ("", "forward = \"mac\"", false),
            ("lb_algo sh", "balance = \"source\"", false),
            ("lb_algo wrr", "balance = \"round-robin\"", false),
            ("persistence_timeout 60", "sticky = { time = \"1m\" }", false),
            ("protocol UDP", "protocol = \"udp\"", false),
            ("sorry_server 10.0.0.9 80", "last-resort = true", false),
            (
                "delay_loop 5\n real_server 10.0.0.2 80 {\n weight 3\n TCP_CHECK {\n connect_timeout 2\n }\n }",
                "weight = 3, probe = { tcp = true, every = \"5s\", timeout = \"2s\"",
                false,
            ),
            (
                "real_server 10.0.0.2 80 {\n HTTP_GET {\n url {\n path /a\n status_code 200\n }\n }\n }",
                "http = \"/a\", status = [200]",
                false,
            ),
            ("quorum 2", "forward = \"mac\"", true),
            ("unheard_of", "forward = \"mac\"", true),
        ],
    );
}

#[test]
fn dispatcher() {
    rows(
        Dialect::Dispatcher,
        &[
            ("", "forward = \"mac\"", false),
            ("dscontrol port set 192.0.2.1:80 method nat", "forward = \"nat\"", false),
            ("dscontrol port set 192.0.2.1:80 stickytime 60", "sticky = { time = \"1m\" }", false),
            ("dscontrol server set 192.0.2.1:80:10.0.0.1 weight 7", "weight = 7", false),
            ("dscontrol server down 192.0.2.1:80:10.0.0.1", "state = \"disabled\"", false),
            ("dscontrol executor set fintimeout 60", "fin-timeout = \"1m\"", false),
            (
                "dscontrol manager start\ndscontrol manager proportions 50 40 10 0",
                "active = 50, new = 40, latency = 10",
                false,
            ),
            (
                "dscontrol advisor start http 80",
                "probe = { http = \"/\", method = \"HEAD\", every = \"7s\"",
                false,
            ),
            (
                "dscontrol rule add 192.0.2.1:80:r type ip beginrange 10.0.0.0 endrange 10.0.0.3\ndscontrol rule useserver 192.0.2.1:80:r 10.0.0.1",
                "when = { client = \"10.0.0.0/30\" }",
                false,
            ),
            ("dscontrol rule add 192.0.2.1:80:r type unheard", "forward = \"mac\"", true),
            ("dscontrol highavailability heartbeat add a b", "forward = \"mac\"", true),
            ("dscontrol unheard", "forward = \"mac\"", true),
        ],
    );
}

#[test]
fn what_cannot_be_carried_over_at_all_is_told() {
    for (text, dialect) in [
        ("frontend a\n bind unix@/x\n default_backend b\n", Dialect::Haproxy),
        ("global\n daemon\n", Dialect::Haproxy),
        ("events { }\n", Dialect::Nginx),
        ("virtual_server fwmark 1 {\n}\n", Dialect::Keepalived),
        ("dscontrol executor start\n", Dialect::Dispatcher),
    ] {
        let converted = convert(text, "x", dialect);
        assert!(converted.text.is_none() && !converted.notes.is_empty(), "{text}: {converted:?}");
    }
}

#[test]
fn a_slash_is_asked_for_before_other_locations_are_looked_at() {
    let slash = "location /a/ { proxy_pass http://c; } location ~ ^/a { proxy_pass http://b; }";
    let written = |directives: &str| {
        convert(&around(Dialect::Nginx, directives), "x", Dialect::Nginx).text.unwrap()
    };
    let text = written(slash);
    let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("no {what} in\n{text}"));
    assert!(at("redirect = { to = \"/a/{query}\"") < at("path-regex"), "{text}");
    // Unless there is a location for just that.
    let both = written(&format!("{slash} location /a {{ proxy_pass http://b; }}"));
    assert!(!both.contains("redirect"), "{both}");
}

#[test]
fn the_longest_name_of_a_map_comes_first() {
    let text = "stream { map $ssl_preread_server_name $to { hostnames; *.example b; *.shop.example c; default b; }\n\
                upstream b { server 10.0.0.1:1; } upstream c { server 10.0.0.2:1; }\n\
                server { listen 127.0.0.1:443; ssl_preread on; proxy_pass $to; } }";
    let text = convert(text, "x", Dialect::Nginx).text.unwrap();
    let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("no {what} in\n{text}"));
    assert!(at("\"*.shop.example\"") < at("\"*.example\""), "{text}");
}

#[test]
fn a_service_that_loses_its_tls_is_not_served_in_the_clear() {
    let text = "frontend a\n mode http\n bind :443 ssl crt relative.pem\n default_backend b\n\
                backend b\n mode http\n server s 10.0.0.1:80\n";
    let converted = convert(text, "x", Dialect::Haproxy);
    let written = converted.text.unwrap_or_default();
    assert!(!written.contains("443"), "{written}");
    assert!(converted.left_out > 0);
}

#[test]
fn what_one_of_several_nginx_servers_wants_of_its_clients_stays() {
    let server = |name: &str, more: &str| {
        format!(
            "server {{ listen 127.0.0.1:443 ssl; {name} ssl_certificate /c.pem; ssl_certificate_key /c.pem; {more}\n\
             location / {{ proxy_pass http://b; }} }}\n"
        )
    };
    let www = "server_name www.example;";
    let admin = "server_name admin.example *.staff.example;";
    let on = "ssl_client_certificate /ca.pem; ssl_verify_client on;";
    let other = "ssl_client_certificate /other.pem; ssl_verify_client on;";
    let crl = format!("{on} ssl_crl /crl.pem;");
    let names = "names = [\"admin.example\", \"*.staff.example\"]";
    for (first, second, wanted, unwanted, left) in [
        (server(www, ""), server(admin, on), names, "optional", false),
        (
            server(www, on),
            server(admin, on),
            "ca = \"/ca.pem\", verify = \"required\"",
            "names",
            false,
        ),
        (server(www, ""), server(admin, &crl), "crl = \"/crl.pem\"", "optional", false),
        // Who asks for no name of any would be the first one's.
        (server(www, on), server(admin, ""), "ca = \"/ca.pem\"", "names", true),
        (server(www, ""), server("server_name ~^a;", on), "ca = \"/ca.pem\"", "names", true),
        (server(www, on), server(admin, other), "ca = \"/ca.pem\"", "other.pem", true),
        (server(www, ""), server(admin, ""), "certificates", "client", false),
    ] {
        let text = format!("http {{ upstream b {{ server 10.0.0.1; }}\n{first}{second} }}");
        let converted = convert(&text, "x", Dialect::Nginx);
        let toml = converted.text.clone().unwrap();
        assert!(toml.contains(wanted) && !toml.contains(unwanted), "{text}\n{toml}");
        let out = converted
            .notes
            .iter()
            .any(|note| note.kind == NoteKind::LeftOut && note.directive.starts_with("ssl_"));
        assert_eq!(out, left, "{text}: {:?}", converted.notes);
    }
}
