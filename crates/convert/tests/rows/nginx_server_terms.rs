//! What nginx tells servers and clients beside the path: certificates, times, copies, dates and further fields.

use convert::dialect::Dialect;
use convert::notes::NoteKind;
use convert::run::convert;

use super::{ConversionCase, rows};

const SERVERS: &[ConversionCase] = &[
    (
        "location /a { proxy_ssl_certificate /x/a.pem; proxy_ssl_certificate_key /x/a.key; proxy_pass https://c; }",
        "tls = { verify = \"off\", certificate = \"/x/a.pem\" }",
        false,
    ),
    (
        "location /a { proxy_ssl_certificate /x/a.pem; proxy_ssl_certificate_key /y/b.key; proxy_pass https://c; }",
        "certificate = \"/x/a.pem\"",
        true,
    ),
    (
        "location /a { proxy_ssl_verify on; proxy_ssl_name $proxy_host; proxy_pass https://d.example:8443; }",
        "tls = { verify = \"on\", name = \"d.example\" }",
        false,
    ),
    (
        "location /a { proxy_ssl_verify on; proxy_ssl_name $host; proxy_pass https://c; }",
        "name = \"c\" }",
        true,
    ),
    // nginx's upstreams have port 80 where none is written.
    ("location /a { proxy_pass https://c; }", "address = \"10.0.0.2:80\"", false),
    ("location /a { proxy_pass https://10.0.0.3; }", "\"10.0.0.3:443\"", false),
    ("location /a { proxy_bind 10.0.0.9; proxy_pass http://c; }", "source = \"10.0.0.9\"", false),
    (
        "location /a { proxy_bind $remote_addr transparent; proxy_pass http://c; }",
        "pool = \"c\"",
        true,
    ),
    // The longer one of two times counts for both directions.
    (
        "location /a { proxy_send_timeout 2m; proxy_pass http://c; }",
        "timeout = { between-bytes = \"2m\", stream = \"2m\" }",
        false,
    ),
    ("location /a { proxy_send_timeout 30s; proxy_pass http://c; }", "pool = \"c\"", false),
    ("send_timeout 2m;", "between-bytes = \"2m\" tunnel", false),
    (
        "location /a { send_timeout 2m; proxy_pass http://c; }",
        "timeout = { client-between-bytes = \"2m\" }",
        false,
    ),
    (
        "location /a { mirror /m; proxy_pass http://c; } location = /m { internal; proxy_pass http://b$request_uri; }",
        "mirror = \"b\"",
        false,
    ),
    (
        "location /a { mirror /m; proxy_pass http://c; } location = /m { internal; proxy_pass http://b; }",
        "pool = \"c\"",
        true,
    ),
    (
        "mirror /m; location /a { mirror off; proxy_pass http://c; } location = /m { internal; proxy_pass http://b$request_uri; }",
        "when = { path = \"/a*\" } pool = \"c\" rewrite = { host = \"c\", location = [{ from = \"http://c/\", to = \"http://{host-name}/\" }] }  #",
        false,
    ),
];

#[test]
fn servers() {
    rows(Dialect::Nginx, SERVERS);
}

const ANSWERS: &[ConversionCase] = &[
    (
        "location /a { expires 30d; proxy_pass http://c; }",
        "response-remove = [\"Expires\", \"Cache-Control\"], response-add = [{ field = \"Cache-Control: max-age=2592000\", statuses = [200, 201, 204, 206, 301, 302, 303, 304, 307, 308], own = true }]",
        false,
    ),
    (
        "location /a { expires -1; return 204; }",
        "answer = 204 rewrite = { response-add = [{ field = \"Expires: Thu, 01 Jan 1970 00:00:01 GMT\", statuses = ",
        false,
    ),
    ("location /a { expires off; proxy_pass http://c; }", "pool = \"c\"", false),
    ("location /a { expires $x; proxy_pass http://c; }", "pool = \"c\"", true),
    (
        "location /a { add_header ETag x always; proxy_pass http://c; }",
        "response-remove = \"ETag\", response-add = [{ field = \"ETag: x\", own = true }]",
        false,
    ),
    // Two fields of one name are two fields.
    (
        "location /a { add_header X a always; add_header X b always; proxy_pass http://c; }",
        "response-add = [{ field = \"X: a\", own = true }, { field = \"X: b\", own = true }]",
        false,
    ),
    (
        "more_set_headers \"X-A: a\" \"Server: s\"; location /a { more_set_headers \"X-A: b\"; more_clear_headers X-B; proxy_pass http://c; }",
        "response-remove = [\"Server\", \"X-A\", \"X-B\"], response-add = [{ field = \"Server: s\", own = true }, { field = \"X-A: b\", own = true }]",
        false,
    ),
    ("more_set_headers -t text/html \"X-A: a\";", "pool = \"b\"", true),
    (
        "location /a { more_set_input_headers \"X-A: $remote_addr\" \"X-B: $cookie_b\"; more_clear_input_headers X-C; proxy_pass http://c; }",
        "set = \"X-A: {client}\", remove = [\"X-B\", \"X-C\"]",
        true,
    ),
    (
        "proxy_redirect http://x/ $scheme://$host/y/;",
        "location = [{ from = \"http://x/\", to = \"http://{host-name}/y/\" }]",
        false,
    ),
    // nginx changes no Location by itself where variables name the servers.
    (
        "set $p c; location /a { proxy_pass http://$p; }",
        "pool = \"c\" rewrite = { host = \"c\" }",
        false,
    ),
];

#[test]
fn answers() {
    rows(Dialect::Nginx, ANSWERS);
}

const CERTIFICATES: &[ConversionCase] = &[
    // A listener without TLS has no certificate of a client.
    (
        "if ($ssl_client_verify != SUCCESS) { return 403; }",
        "[[service.web.rule]] answer = 403",
        false,
    ),
    (
        "listen 127.0.0.1:443 ssl; ssl_certificate /x/a.pem; ssl_client_certificate /x/ca.pem; ssl_verify_client optional; \
         if ($ssl_client_verify != SUCCESS) { return 403; }",
        "when = { not = { header = \"x-client-cert-verified: yes\" } } answer = 403",
        false,
    ),
    (
        "listen 127.0.0.1:443 ssl; ssl_certificate /x/a.pem; ssl_client_certificate /x/ca.pem; ssl_verify_client optional; \
         proxy_set_header X-Verify $ssl_client_verify;",
        "when = { header = \"x-client-cert-verified: yes\" } pool = \"b\" rewrite = { host = \"b\", set = \"X-Verify: SUCCESS\"",
        false,
    ),
    (
        "listen 127.0.0.1:443 ssl; ssl_certificate /x/a.pem; ssl_verify_client optional_no_ca; \
         if ($ssl_client_verify = NONE) { return 403; }",
        "answer = 403",
        true,
    ),
];

#[test]
fn certificates() {
    rows(Dialect::Nginx, CERTIFICATES);
}

#[test]
fn a_server_that_trusts_other_authorities_than_its_listener_is_closed() {
    let server = |name: &str, ca: &str| {
        format!(
            "server {{ listen 127.0.0.1:443 ssl; server_name {name}; ssl_certificate /x/a.pem; ssl_verify_client on;\n\
             ssl_client_certificate {ca}; location / {{ proxy_pass http://10.0.0.1; }} }}\n"
        )
    };
    let text = format!("http {{\n{}{} }}", server("a", "/x/ca.pem"), server("b", "/x/other.pem"));
    let converted = convert::run::convert(&text, "x", Dialect::Nginx);
    let written = converted.text.unwrap();
    model::config::load(&written, "x").unwrap();
    assert!(written.contains("when = { host = \"b\" }\ndeny = true"), "{written}");
}

#[test]
fn no_server_is_put_out_where_none_ever_fails() {
    for (first, second, off) in
        [("max_fails=0", "max_fails=0", true), ("max_fails=0", "", false), ("", "", false)]
    {
        let text = format!(
            "http {{ upstream u {{ server 10.0.0.1 {first}; server 10.0.0.2 {second}; }}\n\
             server {{ listen 127.0.0.1:80; location / {{ proxy_pass http://u; }} }} }}"
        );
        let written = convert::run::convert(&text, "x", Dialect::Nginx).text.unwrap();
        assert_eq!(written.contains("eject = \"off\""), off, "{written}");
    }
}

/// Connections for a name never reach the servers of another name, and are refused where that cannot be said.
#[test]
fn servers_of_a_stream_share_a_listener_by_their_names() {
    let server = |names: &str, to: &str, more: &str| {
        format!(
            "server {{ listen 443 ssl; {names} ssl_certificate /{to}.pem; ssl_certificate_key /{to}.key; {more} proxy_pass {to}; }}\n"
        )
    };
    let a = server("server_name a.example;", "10.0.0.1:1", "");
    for (servers, written, left) in [
        (
            a.clone() + &server("server_name b.example *.c.example;", "10.0.0.2:1", ""),
            vec![
                "pool = \"10-0-0-1-1\"",
                "when = { sni = \"b.example\" } pool = \"10-0-0-2-1\"",
                "when = { sni = \"*.c.example\" } pool = \"10-0-0-2-1\"",
                "certificates = [\"/10.0.0.1:1.pem\", \"/10.0.0.2:1.pem\"]",
            ],
            false,
        ),
        (
            a.clone() + &server("server_name b.example;", "10.0.0.2:1", "deny 10.1.0.0/16;"),
            vec!["when = { sni = \"b.example\", client = \"10.1.0.0/16\" } deny = true"],
            false,
        ),
        (
            a.clone() + &server("server_name ~^b;", "10.0.0.2:1", ""),
            vec!["[[service.10-0-0-1-1-443.rule]] deny = true"],
            true,
        ),
        (
            a.clone()
                + &server("server_name b.example;", "10.0.0.2:1", "ssl_verify_client optional;"),
            vec!["when = { sni = \"b.example\" } deny = true"],
            true,
        ),
        (
            a.clone() + "server { listen 443; server_name b.example; proxy_pass 10.0.0.2:1; }",
            vec!["when = { sni = \"b.example\" } deny = true"],
            true,
        ),
        (
            a.clone()
                + &server("server_name b.example;", "10.0.0.2:1", "")
                    .replace("443 ssl", "443 ssl default_server"),
            vec!["when = { sni = \"a.example\" } pool = \"10-0-0-1-1\"", "pool = \"10-0-0-2-1\""],
            false,
        ),
        (
            a + "server { listen 443 ssl; server_name b.example; return no; }",
            vec!["when = { sni = \"b.example\" } deny = true"],
            true,
        ),
    ] {
        let text = format!("stream {{ {servers} }}");
        let result = convert(&text, "x", Dialect::Nginx);
        let written_text = result.text.clone().unwrap_or_default().replace('\n', " ");
        for part in written {
            assert!(
                written_text.contains(part),
                "{text}: no {part} in\n{}",
                result.text.clone().unwrap_or_default()
            );
        }
        assert_eq!(result.left_out > 0, left, "{text}: {:?}", result.notes);
        assert_eq!(result.unsettled, 0, "{text}: {:?}", result.notes);
    }
}

#[test]
fn a_stream_demands_certificates_in_the_handshake() {
    let text = "stream { server { listen 10.0.0.1:5432 ssl; ssl_certificate /a.pem; ssl_certificate_key /a.pem; \
                ssl_verify_client on; ssl_client_certificate /ca.pem; proxy_pass 10.0.0.3:5432; } }";
    let result = convert(text, "x", Dialect::Nginx);
    let toml = result.text.unwrap();
    model::config::load(&toml, "x").unwrap();
    assert!(toml.contains("client = { ca = \"/ca.pem\", verify = \"required\" }"), "{toml}");
    let mut left = result.notes.iter().filter(|note| note.kind == NoteKind::LeftOut);
    assert!(left.all(|note| note.reason.contains("ssl_verify_depth")), "{:?}", result.notes);
}
