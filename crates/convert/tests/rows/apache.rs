//! Conversion of configurations of Apache httpd, one row each.

use convert::dialect::Dialect;
use convert::notes::NoteKind;
use convert::run::convert;

/// Lines of a virtual host, what the output has to contain, and whether something is left out.
pub type ApacheCase = (&'static str, &'static str, bool);

const HOSTS: &[ApacheCase] = &[
    ("", "timeout = { connect = \"1m\", first-byte = \"1m\", between-bytes = \"1m\"", false),
    ("", "forwarded = { x-forwarded = \"pass\", via = false }", false),
    ("", "host = \"10.0.0.1:8080\"", false),
    ("", "\"X-Forwarded-For: {client-chain}\"", false),
    ("ProxyAddHeaders Off", "rewrite = { host = \"10.0.0.1:8080\" }", false),
    ("ProxyPreserveHost On\nProxyAddHeaders Off", "pool = \"10-0-0-1-8080\" path", false),
    ("ProxyVia On", "via = true", false),
    ("LimitRequestBody 1048576", "body-bytes = \"1MiB\"", false),
    ("LimitRequestBody 0", "pool = \"10-0-0-1-8080\"", false),
    ("", "when = { path-regex = \".*%(2F|00).*\" } answer = 404", false),
    ("AllowEncodedSlashes Off", "path-regex = \".*%(2F|00).*\" } answer = 404", false),
    ("AllowEncodedSlashes NoDecode", "path-regex = \".*%00.*\" } answer = 404", false),
    ("LimitRequestBody x", "pool = \"10-0-0-1-8080\"", true),
    ("<Limit POST>\nRequire all denied\n</Limit>", "rule]] deny = true", true),
    ("<LimitExcept GET>\nRequire all denied\n</LimitExcept>", "rule]] deny = true", true),
    ("Require ip 10.0.0.1", "rule]] deny = true", true),
    ("Order allow,deny", "rule]] deny = true", true),
    ("Timeout 20", "first-byte = \"20s\"", false),
    ("KeepAliveTimeout 7", "idle = \"7s\"", false),
    (
        "ProxyPassReverse / http://inner/",
        "location = [{ from = \"http://inner/\", to = \"{scheme}://{host}/\" }]",
        false,
    ),
    ("ProxyPassReverseCookiePath /a /b", "cookie-path = [{ from = \"/a\", to = \"/b\" }]", false),
    ("Header set X-A b", "response-set = [\"X-A: b\"]", false),
    (
        "Header set X-A %{HTTP_HOST}s",
        "response-remove = [\"X-A\"], response-add = [\"X-A: {host}\"]",
        false,
    ),
    ("Header unset X-A", "response-remove = [\"X-A\"]", false),
    // The fields of servers are in another table, which `always` does not touch.
    ("Header always set X-A b", "response-add = [{ field = \"X-A: b\", own = true }] }", false),
    ("Header always set X-A b\nHeader always unset X-A", "host = \"10.0.0.1:8080\" }", false),
    ("Header edit X-A b c", "pool = \"10-0-0-1-8080\"", true),
    ("RequestHeader set X-A %{REMOTE_ADDR}s", "\"X-A: {client}\"", false),
    ("RequestHeader set X-A %{SSL_CLIENT_S_DN}s", "remove = [\"X-A\"]", true),
    ("RequestHeader set X-A b env=C", "remove = [\"X-A\"]", true),
    (
        "RewriteEngine On\nRewriteRule ^/a$ - [F]",
        "when = { path-regex = \"/a\" } deny = true",
        false,
    ),
    (
        "RewriteEngine On\nRewriteRule ^/a$ /b [R=301]",
        "redirect = { to = \"/b{query}\", status = 301 }",
        false,
    ),
    ("RewriteEngine On\nRewriteRule ^/a$ /b?x=1 [QSA,R]", "to = \"/b?x=1{more-query}\"", false),
    ("RewriteEngine On\nRewriteRule ^/a$ /b?x=1 [R]", "to = \"/b?x=1\"", false),
    (
        "RewriteEngine On\nRewriteRule ^ https://%{SERVER_NAME}:8443/ [R,QSD]",
        "to = \"https://{host-name}:8443/\"",
        false,
    ),
    (
        "RewriteEngine On\nRewriteCond %{REMOTE_HOST} x\nRewriteRule ^/a$ - [F]",
        "path-regex = \"/a\" } deny = true",
        true,
    ),
    ("RewriteEngine On\nRewriteRule ^/a$ /b", "path-regex = \"/a\" } answer = 502", true),
    (
        "RewriteEngine On\nRewriteCond %{SERVER_PORT} !^443$\nRewriteRule ^ - [F]",
        "deny = true",
        false,
    ),
    ("RewriteEngine Off\nRewriteRule ^/a$ - [F]", "pool = \"10-0-0-1-8080\"", true),
    (
        "AddOutputFilterByType DEFLATE text/html",
        "compress = { codings = \"gzip\", types = \"text/html\"",
        false,
    ),
    (
        "RemoteIPHeader X-Forwarded-For\nRemoteIPInternalProxy 10.0.0.0/8",
        "trust = \"10.0.0.0/8\"",
        false,
    ),
    ("RemoteIPHeader X-Forwarded-For", "pool = \"10-0-0-1-8080\"", true),
    ("RemoteIPProxyProtocol On", "accept-proxy = { from = [\"0.0.0.0/0\", \"::/0\"] }", false),
    ("SecRuleEngine On", "deny = true", true),
    ("Include /x.conf", "deny = true", true),
    ("<IfModule mod_x.c>\nProxyVia On\n</IfModule>", "via = true", false),
    ("<IfDefine X>\nProxyVia On\n</IfDefine>", "via = false", true),
];

const FORWARDS: &[ApacheCase] = &[
    ("ProxyPass /a http://b/c", "strip = \"/a\", prefix = \"/c\"", false),
    ("ProxyPass /a/ http://b/", "when = { path = \"/a/*\" } pool = \"b\"", false),
    (
        "ProxyPass /a !\nProxyPass / http://b/",
        "when = { path = [\"/a\", \"/a/*\"] } answer = 404",
        false,
    ),
    (
        "ProxyPass / http://b/ timeout=5 connectiontimeout=1",
        "connect = \"1s\", first-byte = \"5s\"",
        false,
    ),
    ("ProxyPass / http://b/ unheard=1", "pool = \"b\"", true),
    ("ProxyPass / ajp://b/", "answer = 502", true),
    ("ProxyPass / https://b/", "answer = 502", true),
    ("SSLProxyEngine on\nProxyPass / https://b/", "tls = { verify = \"off\" }", false),
    (
        "SSLProxyEngine on\nSSLProxyVerify require\nSSLProxyCACertificateFile /ca.pem\nProxyPass / https://b/",
        "tls = { verify = \"on\", ca = \"/ca.pem\" }",
        false,
    ),
    ("ProxyPassMatch ^/x/(.*)$ http://b/y/$1", "path = \"/y/{1}\"", false),
    (
        "<Location /a>\nProxyPass http://b/a\n</Location>",
        "path = [\"/a\", \"/a/*\"] } pool = \"b\"",
        false,
    ),
    (
        "Redirect permanent /a https://c/d",
        "redirect = { to = \"https://c/d/{rest}{query}\", status = 301 }",
        false,
    ),
    (
        "Redirect permanent /a https://c/d\nProxyPass /a !\nProxyPass / http://b/",
        "path = [\"/a\", \"/a/*\"], all = [{ path = \"/a\" }] } redirect = { to = \"https://c/d{query}\"",
        false,
    ),
    ("Redirect gone /a", "answer = 410", false),
    (
        "Redirect /a https://c/d",
        "when = { path = \"/a/\" } redirect = { to = \"https://c/d/{query}\", status = 302 }",
        false,
    ),
    (
        "Redirect /a/ https://c/d/",
        "when = { path = \"/a/\" } redirect = { to = \"https://c/d/{query}\", status = 302 }",
        false,
    ),
    ("RedirectMatch ^/a/(.*)$ /b/$1", "redirect = { to = \"/b/{1}{query}\", status = 302 }", false),
    (
        "<Proxy balancer://u>\nBalancerMember http://a loadfactor=2\nBalancerMember http://b status=+H\n</Proxy>\nProxyPass / balancer://u/",
        "{ address = \"a:80\", weight = 2 }",
        false,
    ),
    (
        "<Proxy balancer://u>\nBalancerMember http://a\nBalancerMember http://b status=+H\n</Proxy>\nProxyPass / balancer://u/",
        "retries = 1 retry = { unsent-only = true, backup = true }",
        false,
    ),
    (
        "<Proxy balancer://u>\nBalancerMember http://a\nBalancerMember http://b lbset=1\n</Proxy>\nProxyPass / balancer://u/",
        "retries = 1 retry = { unsent-only = true, backup = true }",
        false,
    ),
    (
        "<Proxy balancer://u>\nBalancerMember http://a\nBalancerMember http://b\n</Proxy>\nProxyPass / balancer://u/",
        "retries = 1 retry = { unsent-only = true } timeout",
        false,
    ),
    (
        "<Proxy balancer://u>\nBalancerMember http://a\nBalancerMember http://b lbset=1\nProxySet maxattempts=0\n</Proxy>\nProxyPass / balancer://u/",
        "retries = 0 timeout",
        false,
    ),
    (
        "<Proxy balancer://u>\nBalancerMember http://a\nProxySet lbmethod=bybusyness stickysession=S\n</Proxy>\nProxyPass / balancer://u/",
        "sticky = { by = \"cookie\", name = \"S\", cookie = \"learn\", expire = \"1h\" }",
        false,
    ),
];

/// Lines of a section of `/a`, what the output has to contain, and whether something is left out.
const ACCESS: &[ApacheCase] = &[
    ("Require all granted", "pool = \"10-0-0-1-8080\"", false),
    ("Require all denied", "path = [\"/a\", \"/a/*\"] } deny = true", false),
    ("Require ip 10.0.0.0/8", "not = { client = \"10.0.0.0/8\" } } deny = true", false),
    ("Require valid-user", "path = [\"/a\", \"/a/*\"] } answer = 401", true),
    ("Require host x.example", "path = [\"/a\", \"/a/*\"] } deny = true", true),
    ("Require env x", "path = [\"/a\", \"/a/*\"] } deny = true", true),
    (
        "Order deny,allow\nDeny from all\nAllow from 10.1",
        "not = { client = \"10.1.0.0/16\" } } deny = true",
        false,
    ),
    ("<RequireAll>\nRequire ip 10\nRequire valid-user\n</RequireAll>", "answer = 401", true),
    (
        "<RequireNone>\nRequire ip 10.0.0.1\n</RequireNone>",
        "client = \"10.0.0.1/32\" } deny = true",
        false,
    ),
    ("<Limit POST>\nRequire all denied\n</Limit>", "method = \"POST\" } deny = true", false),
    ("SSLRequireSSL", "path = [\"/a\", \"/a/*\"] } deny = true", false),
    ("SSLVerifyClient require", "path = [\"/a\", \"/a/*\"] } deny = true", true),
    // What is forwarded never comes to a handler.
    ("SetHandler server-status", "[[service.web.rule]] pool = \"10-0-0-1-8080\"", true),
    ("Redirect 403", "path = [\"/a\", \"/a/*\"] } answer = 403", false),
    (
        "Redirect permanent https://c/d",
        "redirect = { to = \"https://c/d{query}\", status = 301 }",
        false,
    ),
    ("RewriteEngine On\nRewriteRule x - [F,L]", "path = [\"/a\", \"/a/*\"] } deny = true", true),
    ("<If \"x\">\nRequire all denied\n</If>", "path = [\"/a\", \"/a/*\"] } deny = true", true),
    (
        "<If \"%{HTTP_USER_AGENT} =~ /bad/\">\nRequire all denied\n</If>",
        "path = [\"/a\", \"/a/*\"], header-regex = \"User-Agent: .*bad.*\" } deny = true",
        false,
    ),
    (
        "<If \"%{REQUEST_METHOD} != 'GET'\">\nRequire all denied\n</If>",
        "path = [\"/a\", \"/a/*\"], not = { method = \"GET\" } } deny = true",
        false,
    ),
    ("OIDCX y", "path = [\"/a\", \"/a/*\"] } deny = true", true),
];

pub fn check(lines: &str, written: &str, left: bool) {
    let text = format!("Listen 80\n<VirtualHost *:80>\n{lines}\n</VirtualHost>\n");
    let converted = convert(&text, "x", Dialect::Apache);
    let toml = converted.text.clone().unwrap_or_else(|| panic!("{text}: {converted:?}"));
    model::config::load(&toml, "x").unwrap_or_else(|findings| panic!("{text}: {findings}"));
    let squeezed = toml.split_whitespace().collect::<Vec<_>>().join(" ");
    // A pool without further keys is the end of its rule.
    let written = written.strip_suffix(" path").unwrap_or(written);
    assert!(squeezed.contains(written), "{text}: no {written} in\n{toml}");
    let out = converted.notes.iter().any(|note| note.kind == NoteKind::LeftOut);
    assert_eq!(out, left, "{text}: {:?}", converted.notes);
    assert_eq!(converted.unsettled, 0, "{text}: {:?}", converted.notes);
}

#[test]
fn hosts() {
    for (lines, written, left) in HOSTS {
        check(&format!("{lines}\nProxyPass / http://10.0.0.1:8080/"), written, *left);
    }
}

#[test]
fn forwards() {
    FORWARDS.iter().for_each(|(lines, written, left)| check(lines, written, *left));
}

#[test]
fn access() {
    for (lines, written, left) in ACCESS {
        let text =
            format!("<Location /a>\n{lines}\n</Location>\nProxyPass / http://10.0.0.1:8080/");
        check(&text, written, *left);
    }
}

#[test]
fn of_a_damaged_file_of_apache_nothing_is_written() {
    for (text, line) in [
        ("Listen 80\n<VirtualHost *:80>\nProxyPass / http://a/\n", 2),
        ("Listen 80\n<VirtualHost *:80>\nServerName \"a\n</VirtualHost>\n", 3),
        ("Listen 80\n<VirtualHost *:80>\n</Location>\n", 3),
        ("Listen 80\nProxyPass / http://${HOST}/\n", 2),
        ("<Macro X>\nListen 80\n", 1),
    ] {
        let converted = convert(text, "x", Dialect::Apache);
        assert_eq!(converted.text, None, "{text}");
        let lines: Vec<u32> = converted.notes.iter().map(|note| note.line).collect();
        assert!(lines.contains(&line), "{text}: {lines:?}");
    }
}

#[test]
fn a_later_section_replaces_the_access_of_an_earlier_one() {
    let text = "Listen 80\nProxyPass / http://a/\n<Location />\nRequire all denied\n</Location>\n\
                <Location /open>\nRequire all granted\n</Location>\n";
    let toml = convert(text, "x", Dialect::Apache).text.unwrap();
    assert!(toml.contains("not = { path = [\"/open\", \"/open/*\"] } }\ndeny = true"), "{toml}");
}

/// A section replaces only what is of the same kind as its own rules.
#[test]
fn rules_of_access_of_another_kind_stay() {
    for (first, second) in [
        ("Require ip 10", "Order allow,deny\nAllow from all"),
        ("Order allow,deny\nAllow from 10", "Require all granted"),
        ("SSLRequireSSL", "Require all granted"),
        ("<Limit POST>\nRequire all denied\n</Limit>", "Require all granted"),
    ] {
        let text = format!(
            "Listen 80\nProxyPass / http://a/\n<Location />\n{first}\n</Location>\n\
             <Location /open>\n{second}\n</Location>\n"
        );
        let toml = convert(&text, "x", Dialect::Apache).text.unwrap();
        assert!(toml.contains("deny = true") && !toml.contains("not = { path"), "{text}\n{toml}");
    }
}

#[test]
fn inherited_rules_of_rewriting_refuse() {
    let text = "Listen 80\nRewriteEngine On\nRewriteRule ^/secret - [F]\n<VirtualHost *:80>\nRewriteEngine On\n\
                RewriteOptions Inherit\nProxyPass / http://a/\n</VirtualHost>\n";
    let toml = convert(text, "x", Dialect::Apache).text.unwrap();
    assert!(toml.contains("path-regex = \"/secret.*\" }\ndeny = true"), "{toml}");
}

#[test]
fn a_listener_of_tls_is_not_served_without_it() {
    let tls = "SSLEngine on\nSSLCertificateFile /c.pem\n";
    for more in [
        "",
        "SSLVerifyClient require\n",
        "SSLVerifyClient require\nSSLCACertificateFile relative.pem\n",
    ] {
        let own = if more.is_empty() { "SSLEngine on\n" } else { tls };
        let text = format!(
            "Listen 443\n<VirtualHost *:443>\n{own}{more}ProxyPass / http://a/\n</VirtualHost>\n"
        );
        let converted = convert(&text, "x", Dialect::Apache);
        let written = converted.text.unwrap_or_default();
        assert!(!written.contains("443") && converted.left_out > 0, "{text}\n{written}");
    }
}
