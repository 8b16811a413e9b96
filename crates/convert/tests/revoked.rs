//! Lists of revoked certificates, of clients and of servers.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the whole program is a test, which the lints cannot see"
)]

use convert::dialect::Dialect;
use convert::run::convert;

/// The converted text, which must be valid and complete.
fn written(text: &str, dialect: Dialect) -> String {
    let converted = convert(text, "x", dialect);
    assert_eq!(converted.left_out, 0, "{:?}", converted.notes);
    let written = converted.text.unwrap();
    model::config::load(&written, "x").unwrap();
    written
}

#[test]
fn haproxys_are_carried_over_on_both_sides() {
    let text = "frontend a\n mode http\n\
                bind :443 ssl crt /c.pem ca-file /ca.pem verify required crl-file /crl.pem\n\
                default_backend b\n\
                backend b\n mode http\n\
                server s 10.0.0.1:443 ssl verify required ca-file /in.pem crl-file /in-crl.pem\n";
    let written = written(text, Dialect::Haproxy);
    for wanted in [
        "client = { ca = \"/ca.pem\", verify = \"required\", crl = \"/crl.pem\" }",
        "tls = { verify = \"on\", ca = \"/in.pem\", crl = \"/in-crl.pem\" }",
    ] {
        assert!(written.contains(wanted), "no {wanted} in\n{written}");
    }
}

#[test]
fn nginxs_of_servers_are_carried_over_where_servers_are_verified() {
    for (directives, wanted) in [
        (
            "proxy_ssl_verify on; proxy_ssl_trusted_certificate /ca.pem; proxy_ssl_crl /crl.pem;\n\
             location /a { proxy_pass https://c; }",
            "tls = { verify = \"on\", ca = \"/ca.pem\", crl = \"/crl.pem\", name = \"c\" }",
        ),
        (
            "location /a { grpc_ssl_verify on; grpc_ssl_trusted_certificate /ca.pem;\n\
             grpc_ssl_crl /crl.pem; grpc_ssl_name c.example; grpc_pass grpcs://c; }",
            "verify = \"on\", ca = \"/ca.pem\", crl = \"/crl.pem\", name = \"c.example\" }",
        ),
        (
            "proxy_ssl_crl /crl.pem; location /a { proxy_pass https://c; }",
            "tls = { verify = \"off\" }",
        ),
    ] {
        let text = format!(
            "http {{ upstream b {{ server 10.0.0.1; }} upstream c {{ server 10.0.0.2; }}\n\
             server {{ listen 127.0.0.1:80; location / {{ proxy_pass http://b; }}\n {directives} }} }}"
        );
        let written = written(&text, Dialect::Nginx);
        assert!(written.contains(wanted), "no {wanted} in\n{written}");
    }
}
