//! Conversion of single directives, one row each.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the whole program is a test, which the lints cannot see"
)]

use convert::dialect::Dialect;
use convert::notes::NoteKind;
use convert::run::convert;

#[path = "rows/apache.rs"]
mod apache;
#[path = "rows/apache_access.rs"]
mod apache_access;
#[path = "rows/apache_hidden.rs"]
mod apache_hidden;
#[path = "rows/caddy.rs"]
mod caddy;
#[path = "rows/caddy_routes.rs"]
mod caddy_routes;
#[path = "rows/cookies.rs"]
mod cookies;
#[path = "rows/envoy.rs"]
mod envoy;
#[path = "rows/envoy_access.rs"]
mod envoy_access;
#[path = "rows/envoy_chains.rs"]
mod envoy_chains;
#[path = "rows/envoy_routes.rs"]
mod envoy_routes;
#[path = "rows/error_pages.rs"]
mod error_pages;
#[path = "rows/haproxy.rs"]
mod haproxy;
#[path = "rows/haproxy_changes.rs"]
mod haproxy_changes;
#[path = "rows/haproxy_choices.rs"]
mod haproxy_choices;
#[path = "rows/haproxy_edits.rs"]
mod haproxy_edits;
#[path = "rows/haproxy_listeners.rs"]
mod haproxy_listeners;
#[path = "rows/haproxy_sections.rs"]
mod haproxy_sections;
#[path = "rows/haproxy_servers.rs"]
mod haproxy_servers;
#[path = "rows/keepalived.rs"]
mod keepalived_checkers;
#[path = "rows/nginx.rs"]
mod nginx;
#[path = "rows/nginx_forwarding.rs"]
mod nginx_forwarding;
#[path = "rows/nginx_guards.rs"]
mod nginx_guards;
#[path = "rows/nginx_locations.rs"]
mod nginx_locations;
#[path = "rows/nginx_maps.rs"]
mod nginx_maps;
#[path = "rows/nginx_server_terms.rs"]
mod nginx_server_terms;
#[path = "rows/traefik.rs"]
mod traefik;
#[path = "rows/traefik_objects.rs"]
mod traefik_objects;
#[path = "rows/traefik_services.rs"]
mod traefik_services;
#[path = "rows/unix_sockets.rs"]
mod unix_sockets;

/// Wraps a row's directives in a complete configuration.
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
        Dialect::Envoy | Dialect::Traefik | Dialect::Caddy | Dialect::Apache => {
            panic!("the rows of {dialect:?} are whole files, in a module of their own")
        }
    }
}

/// Directives, the expected output, and whether something is left out.
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
fn keepalived() {
    rows(
        Dialect::Keepalived,
        &[
            ("", "forward = \"mac\"", false),
            ("lb_algo sh", "balance = \"source\"", false),
            ("lb_algo wrr", "balance = \"round-robin\"", false),
            ("persistence_timeout 60", "sticky = { expire = \"1m\" }", false),
            ("protocol UDP", "protocol = \"udp\"", false),
            ("sorry_server 10.0.0.9 80", "last-resort = true", false),
            (
                "delay_loop 5\n real_server 10.0.0.2 80 {\n weight 3\n TCP_CHECK {\n connect_timeout 2\n }\n }",
                "weight = 3, probe = { tcp = true, interval = \"5s\", timeout = \"2s\"",
                false,
            ),
            (
                "real_server 10.0.0.2 80 {\n HTTP_GET {\n url {\n path /a\n status_code 200\n }\n }\n }",
                "http = \"/a\", status = [200]",
                false,
            ),
            // Times of the virtual server are those of its checkers.
            (
                "retry 3\n delay_before_retry 2\n real_server 10.0.0.2 80 {\n TCP_CHECK {\n }\n }",
                "fall = 4, rise = 1, fast-interval = \"2s\"",
                false,
            ),
            ("delay_loop 5\n retry 3", "forward = \"mac\"", false),
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
            ("dscontrol port set 192.0.2.1:80 stickytime 9", "sticky = { expire = \"9s\" }", false),
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
                "probe = { http = \"/\", method = \"HEAD\", interval = \"7s\"",
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
fn what_cannot_be_carried_over_at_all_is_reported() {
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
    // A location of exactly `/a` prevents the redirect.
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
    let required = "ca = \"/ca.pem\", verify = \"required\"";
    let names = "names = [\"admin.example\", \"*.staff.example\"]";
    for (first, second, wanted, unwanted, left) in [
        (server(www, ""), server(admin, on), names, "optional", false),
        (server(www, on), server(admin, on), required, "names = [", false),
        (server(www, ""), server(admin, &crl), "crl = \"/crl.pem\"", "optional", false),
        // Connections without a known name would reach the first server, which requires a certificate.
        (server(www, on), server(admin, ""), "ca = \"/ca.pem\"", "names = [", true),
        (server(www, ""), server("server_name ~^a;", on), "ca = \"/ca.pem\"", "names = [", true),
        (server(www, on), server(admin, other), "ca = \"/ca.pem\"", "other.pem", true),
        (server(www, ""), server(admin, ""), "certificates", "client = ", false),
    ] {
        let text = format!("http {{ upstream b {{ server 10.0.0.1; }}\n{first}{second} }}");
        let converted = convert(&text, "x", Dialect::Nginx);
        let toml = converted.text.clone().unwrap();
        assert!(toml.contains(wanted) && !toml.contains(unwanted), "{text}\n{toml}");
        let out = converted.notes.iter().any(|note| {
            note.kind == NoteKind::LeftOut
                && note.directive.starts_with("ssl_")
                && !note.reason.contains("ssl_verify_depth")
        });
        assert_eq!(out, left, "{text}: {:?}", converted.notes);
    }
}

#[test]
fn of_a_template_or_a_damaged_file_nothing_is_written() {
    let nginx = "http { server { listen 127.0.0.1:80; location / { proxy_pass http://10.0.0.1; } ";
    let haproxy =
        "frontend f\n bind 127.0.0.1:80\n default_backend b\nbackend b\n server s 10.0.0.1:80\n";
    let keepalived = "virtual_server 192.0.2.1 80 {\n lb_kind DR\n real_server 10.0.0.1 80 {\n}\n";
    for (dialect, text, line) in [
        (Dialect::Nginx, format!("{nginx}\n"), 1),
        (Dialect::Nginx, format!("{nginx}}}}}\nserver_name \"a"), 2),
        (Dialect::Nginx, format!("{nginx}}}}}\nworker_processes 4"), 2),
        (Dialect::Nginx, format!("{nginx}\n{{% if tls %}} listen 443; {{% endif %}} }} }}"), 2),
        (Dialect::Nginx, format!("{nginx} }} }}\n# {{{{ ansible_managed }}}}"), 2),
        (Dialect::Haproxy, format!("{haproxy} server t <%= @address %>:80\n"), 6),
        (Dialect::Haproxy, format!("{haproxy} server t \"${{ADDRESS}}\":80\n"), 6),
        (Dialect::Haproxy, format!("{haproxy} server t '10.0.0.2:80\n"), 6),
        (Dialect::Keepalived, keepalived.to_owned(), 1),
    ] {
        let converted = convert(&text, "x", dialect);
        assert_eq!(converted.text, None, "{text}");
        let first = converted.notes.iter().find(|note| note.kind == NoteKind::LeftOut);
        assert_eq!(first.map(|note| note.line), Some(line), "{text}: {:?}", converted.notes);
    }
    assert!(convert(&format!("{nginx}}}}}"), "x", Dialect::Nginx).text.is_some());
    assert!(convert(haproxy, "x", Dialect::Haproxy).text.is_some());
    assert!(convert(&format!("{keepalived}}}\n"), "x", Dialect::Keepalived).text.is_some());
}

#[test]
fn no_word_of_a_line_that_is_read_is_passed_over() {
    let file = |bind: &str, server: &str, backend: &str| {
        format!(
            "frontend f\n mode http\n bind 127.0.0.1:80 {bind}\n default_backend b\n\
             backend b\n mode http\n {backend}\n server s 10.0.0.1:80 {server}\n"
        )
    };
    for (bind, server, backend, line) in [
        ("no-tls-tickets", "", "", 3),
        ("ssl-max-ver TLSv1.2", "", "", 3),
        ("nice 5", "", "", 3),
        ("", "ciphers x", "", 8),
        ("", "no-verifyhost", "", 8),
        ("", "hash-key id", "", 8),
        ("", "pool-purge-delay 5s", "", 8),
        ("", "", "hash-type consistent sdbm", 7),
        ("", "", "retry-on 0rtt-rejected", 7),
        ("", "check", "option smtpchk EHLO a.example", 7),
        ("", "", "cookie S insert maxlife 8h", 7),
        ("", "", "cookie S insert attr Priority=High", 7),
        ("", "", "cookie S passive domain x", 7),
    ] {
        let converted = convert(&file(bind, server, backend), "x", Dialect::Haproxy);
        let noted = converted.notes.iter().any(|note| note.line == line);
        assert!(noted, "{bind}{server}{backend}: {:?}", converted.notes);
    }
}

#[test]
fn a_time_of_a_backend_for_bytes_stands_in_its_rule_or_is_reported() {
    for (rule, kind) in
        [("", NoteKind::NotNeeded), (" use_backend c if TRUE\n", NoteKind::Converted)]
    {
        let text = format!(
            "frontend f\n bind 127.0.0.1:80\n timeout client 1m\n{rule} default_backend b\n\
             backend b\n timeout server 10s\n server s 10.0.0.1:80\n\
             backend c\n timeout server 30s\n server t 10.0.0.2:80\n"
        );
        let line = text.lines().position(|line| line.contains("30s")).unwrap() as u32 + 1;
        let converted = convert(&text, "x", Dialect::Haproxy);
        assert_eq!(converted.unsettled, 0, "{:?}", converted.notes);
        let found = converted.notes.iter().find(|note| note.line == line && note.kind == kind);
        assert!(found.is_some(), "{rule}: {:?}", converted.notes);
        let written = converted.text.unwrap().contains("timeout = { tunnel = \"30s\" }");
        assert_eq!(written, kind == NoteKind::Converted, "{rule}");
    }
}

#[test]
fn no_word_of_a_real_server_or_a_shared_address_is_passed_over() {
    let server = |words: &str| {
        format!(
            "virtual_server 192.0.2.1 80 {{\n lb_kind DR\n protocol TCP\n real_server 10.0.0.1 80 {{\n{words}\n}}\n}}\n"
        )
    };
    let group = |words: &str| {
        format!(
            "vrrp_instance A {{\n interface eth0\n virtual_router_id 5\n virtual_ipaddress {{\n{words}\n}}\n}}\n"
        )
    };
    for (text, line) in [
        (server("TCP_CHECK {\n connect_ip 10.0.0.9\n}"), 6),
        (server("TCP_CHECK {\n bindto 10.0.0.9\n}"), 6),
        (server("HTTP_GET {\n url {\n path /\n regex x\n}\n}"), 8),
        (server("TCP_CHECK {\n unheard_of 1\n}"), 6),
        (server("unheard_of 1"), 5),
        (server("delay_loop 5"), 5),
        (group("192.0.2.7/24"), 5),
    ] {
        let converted = convert(&text, "x", Dialect::Keepalived);
        let noted = converted.notes.iter().any(|note| note.line == line);
        assert!(noted && converted.text.is_some(), "{text}: {:?}", converted.notes);
    }
}

/// Refusals stay where a part of their rule cannot be written, or its whole condition.
#[test]
fn what_refuses_is_never_taken_out() {
    let nginx = |inner: &str| format!("http {{ server {{ listen 127.0.0.1:80; {inner} }} }}");
    let to = "proxy_pass http://10.0.0.1;";
    for (text, refusals) in [
        (nginx(&format!("auth_basic x; location /a {{ {to} }} location / {{ {to} }}")), 2),
        (nginx(&format!("add_header \"X Y\" z; location /a {{ deny all; {to} }}")), 1),
        (nginx(&format!("add_header Content-Length 1; location /a {{ deny all; {to} }}")), 1),
        (nginx(&format!("location ~ (?=a) {{ deny all; {to} }} location / {{ {to} }}")), 1),
        (nginx(&format!("location /a {{ return 700; }} location / {{ {to} }}")), 1),
    ] {
        let converted = convert(&text, "x", Dialect::Nginx);
        let written = converted.text.unwrap();
        let found =
            written.matches("deny = true").count() + written.matches("answer = 401").count();
        assert!(found >= refusals && converted.left_out > 0, "{text}\n{written}");
    }
}

/// A service with more rules than one conversion carries is not written without the last of them.
#[test]
fn a_service_that_lost_a_rule_is_not_written() {
    let one = |at: usize| format!(" http-request deny if {{ path /{at} }}\n");
    let rules: String = (0..60_000).map(one).collect();
    let text = format!(
        "frontend f\n mode http\n bind 127.0.0.1:80\n{rules} default_backend b\n\
         backend b\n mode http\n server s 10.0.0.1:80\n"
    );
    let written = convert(&text, "x", Dialect::Haproxy).text.unwrap_or_default();
    assert!(!written.contains("[service.f]"), "{} bytes", written.len());
}
