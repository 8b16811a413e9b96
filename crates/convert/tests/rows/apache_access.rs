//! Conversion of what Apache decides about access, targets and identity, one row each: nothing that was closed opens.

use convert::dialect::Dialect;
use convert::run::convert;

use super::apache::{ApacheCase, check};

const BACK: &str = "\nProxyPass / http://10.0.0.1:8080/";

const HOSTS: &[ApacheCase] = &[
    // A status without a target ends the request.
    (
        "RewriteEngine On\nRewriteRule ^/secret - [R=404,L]",
        "when = { path-regex = \"/secret.*\" } answer = 404",
        false,
    ),
    ("RewriteEngine On\nRewriteRule ^/a - [R=301,L]", "answer = 502", true),
    (
        "RewriteEngine On\nRewriteCond %{REMOTE_ADDR} !^10\\.1\\.\nRewriteRule ^/a - [F]",
        "when = { path-regex = \"/a.*\", not = { client = \"10.1.0.0/16\" } } deny = true",
        false,
    ),
    (
        "RewriteEngine On\nRewriteCond %{REMOTE_ADDR} !^10\\.1\nRewriteRule ^/a - [F]",
        "when = { path-regex = \"/a.*\" } deny = true",
        true,
    ),
    (
        "RemoteIPHeader X-Forwarded-For\nRemoteIPInternalProxy 10.0.0.1\nRewriteEngine On\nRewriteCond %{REMOTE_ADDR} !=10.1.2.3\nRewriteRule ^/a - [F]",
        "any = [{ not = { client = \"10.0.0.1/32\" }, all = [{ not = { client = \"10.1.2.3/32\" } }] }, { client = \"10.0.0.1/32\" }] } deny = true",
        true,
    ),
    // Port 80 is no part of the listener's when it stands alone.
    (
        "RewriteEngine On\nRewriteCond %{SERVER_PORT} 8\nRewriteRule ^ - [F]",
        "[[service.web.rule]] deny = true",
        false,
    ),
    // What fits the first rule of a chain is closed, and nobody reaches the second one.
    (
        "RewriteEngine On\nRewriteRule ^/a - [C]\nRewriteRule ^ https://c/ [R]",
        "when = { path-regex = \"/a.*\" } answer = 502",
        true,
    ),
    (
        "RewriteEngine On\nRewriteRule ^/a - [PT]\nRewriteRule ^ - [F]",
        "when = { not = { path-regex = \"/a.*\" } } deny = true",
        false,
    ),
    // A map of mod_rewrite is no variable of the configuration.
    ("RewriteEngine On\nRewriteRule ^/(.*)$ http://b/${m:$1} [P]", "answer = 502", true),
    ("TraceEnable off", "when = { method = \"TRACE\" } answer = 405", false),
    ("LimitRequestBody 1000", "body-bytes = \"1000B\"", false),
    ("LuaHookAccessChecker /x.lua check", "deny = true", true),
    ("PerlAccessHandler X", "deny = true", true),
    ("Use Guarded", "deny = true", true),
    ("<IfVersion < 2.4>\nProxyVia On\n</IfVersion>", "via = false", false),
    ("<IfVersion >= 2.4>\nProxyVia On\n</IfVersion>", "via = true", false),
    ("<IfDirective ProxyVia>\nProxyVia On\n</IfDirective>", "via = true", false),
    ("<IfDefine !X>\nDefine X\nProxyVia On\n</IfDefine>", "via = true", false),
    (
        "<IfDefine Y>\nDefine X\n</IfDefine>\n<IfDefine X>\nProxyVia On\n</IfDefine>",
        "via = false",
        true,
    ),
    // What servers believe is not the client's, even where a condition writes it.
    ("<If \"%{HTTPS} == 'on'\">\nRequestHeader set X-User a\n</If>", "remove = [\"X-User\"]", true),
    ("<If \"x\">\nRedirect 403 /\n</If>", "[[service.web.rule]] deny = true", true),
];

const FORWARDS: &[ApacheCase] = &[
    // What follows the slash stands right behind the path of the URL.
    ("ProxyPass /b/ http://b/c", "path = \"/c{rest}\", host = \"b\"", false),
    ("ProxyPass / unix:/run/a.sock|http://app.example/", "host = \"app.example\"", false),
    ("ProxyPass / http://b:80/", "host = \"b\"", false),
    (
        "<Location /a>\nProxyPass http://b/a\nProxyPreserveHost On\n</Location>\nProxyAddHeaders Off",
        "path = [\"/a\", \"/a/*\"] } pool = \"b\" path",
        false,
    ),
    // Groups are those of the rule's own expression.
    (
        "<LocationMatch ^/(x|y)/>\nHeader set X-A b\n</LocationMatch>\nProxyPassMatch ^/x/(.*)$ http://b/z/$1",
        "when = { path-regex = \"/x/(.*)\", all = [{ path-regex = \"/(x|y)/.*\" }] } pool = \"b\"",
        false,
    ),
    // Servers of a section are verified as the section says.
    (
        "SSLProxyEngine on\n<Proxy https://b/>\nSSLProxyVerify require\nSSLProxyCACertificateFile /ca.pem\n</Proxy>\nProxyPass / https://b/",
        "tls = { verify = \"on\", ca = \"/ca.pem\" }",
        false,
    ),
    (
        "SSLProxyEngine on\n<ProxyMatch b>\nSSLProxyVerify require\n</ProxyMatch>\nProxyPass / https://b/",
        "answer = 502",
        true,
    ),
    (
        "<Proxy *>\nRequire ip 10\n</Proxy>\nRewriteEngine On\nRewriteRule ^/(.*)$ http://b/$1 [P]",
        "when = { not = { client = \"10.0.0.0/8\" } } deny = true",
        false,
    ),
];

/// Lines of a section of `/a`.
const SECTIONS: &[ApacheCase] = &[
    (
        "AllowMethods GET POST",
        "not = { method = [\"GET\", \"POST\", \"HEAD\"] } } deny = true",
        false,
    ),
    (
        "RewriteEngine On\nRewriteCond %{REMOTE_ADDR} !^10\nRewriteRule .* /denied [R]",
        "path = [\"/a\", \"/a/*\"] } deny = true",
        true,
    ),
    ("Require ssl", "path = [\"/a\", \"/a/*\"] } deny = true", false),
    ("<If \"x\">\nRequestHeader unset X-User\n</If>", "remove = [\"X-User\"]", true),
];

#[test]
fn hosts_stay_as_closed_as_they_were() {
    for (lines, written, left) in HOSTS {
        check(&format!("ServerName web\n{lines}{BACK}"), written, *left);
    }
}

#[test]
fn requests_go_where_they_went() {
    FORWARDS.iter().for_each(|(lines, written, left)| check(lines, written, *left));
}

#[test]
fn sections_stay_as_closed_as_they_were() {
    for (lines, written, left) in SECTIONS {
        check(&format!("<Location /a>\n{lines}\n</Location>{BACK}"), written, *left);
    }
}

/// Rules see who connects, which is the proxy where proxies name clients.
#[test]
fn addresses_behind_a_trusted_proxy_are_not_known() {
    for (more, written) in [
        (
            "RemoteIPInternalProxy 10.9.0.0/16",
            "not = { not = { client = \"10.9.0.0/16\" }, client = \"10.0.0.0/8\" } } deny = true",
        ),
        ("", "path = [\"/a\", \"/a/*\"] } deny = true"),
        ("RemoteIPInternalProxyList /x", "path = [\"/a\", \"/a/*\"] } deny = true"),
        ("RemoteIPTrustedProxy proxy.example", "path = [\"/a\", \"/a/*\"] } deny = true"),
    ] {
        for access in ["Require ip 10", "Order deny,allow\nDeny from all\nAllow from 10"] {
            let lines = format!(
                "RemoteIPHeader X-Forwarded-For\n{more}\n<Location /a>\n{access}\n</Location>{BACK}"
            );
            let text = format!("Listen 80\n<VirtualHost *:80>\n{lines}\n</VirtualHost>\n");
            let toml = convert(&text, "x", Dialect::Apache).text.unwrap();
            let squeezed = toml.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(squeezed.contains(written), "{text}\n{toml}");
        }
    }
}

/// A pattern does not reach below what it fits, so that less is let through.
#[test]
fn a_section_with_a_pattern_opens_no_more_than_it_fits() {
    let text = "Listen 80\nProxyPass / http://a/\n<Location /pub>\nRequire all denied\n</Location>\n\
                <Location \"/pub/*\">\nRequire all granted\n</Location>\n";
    let toml = convert(text, "x", Dialect::Apache).text.unwrap();
    assert!(toml.contains("not = { path-regex = \"/pub/[^/]*\" }"), "{toml}");
}

#[test]
fn the_main_server_forwards_before_its_virtual_hosts() {
    let text = "Listen 80\nProxyPass /a http://main/\n<VirtualHost *:80>\nProxyPass /a http://own/\n</VirtualHost>\n";
    let toml = convert(text, "x", Dialect::Apache).text.unwrap();
    let at = |pool: &str| toml.find(pool).unwrap_or_else(|| panic!("no {pool} in\n{toml}"));
    assert!(at("pool = \"main\"") < at("pool = \"own\""), "{toml}");
}

#[test]
fn the_first_of_two_virtual_hosts_with_one_name_is_taken() {
    let host = |to: &str| {
        format!(
            "<VirtualHost *:80>\nServerName a.example\nProxyPass / http://{to}/\n</VirtualHost>\n"
        )
    };
    let text = format!("Listen 80\n{}{}", host("first"), host("second"));
    let toml = convert(&text, "x", Dialect::Apache).text.unwrap();
    // The first rule is about encoded slashes.
    let rule = toml.split("[[service.").nth(2).unwrap();
    assert!(rule.contains("host = \"a.example\"") && rule.contains("pool = \"first\""), "{toml}");
}

#[test]
fn a_listener_of_https_speaks_tls_without_the_engine() {
    for (listen, tls) in [("443", true), ("8443 https", true), ("443 http", false), ("8080", false)]
    {
        let port = listen.split(' ').next().unwrap();
        let text = format!(
            "Listen {listen}\n<VirtualHost *:{port}>\nSSLCertificateFile /c.pem\nProxyPass / http://a/\n</VirtualHost>\n"
        );
        let toml = convert(&text, "x", Dialect::Apache).text.unwrap();
        assert_eq!(toml.contains("certificates = \"/c.pem\""), tls, "{text}\n{toml}");
    }
}

#[test]
fn a_virtual_host_that_asks_for_other_certificates_is_closed() {
    let host = |name: &str, more: &str| {
        format!(
            "<VirtualHost *:443>\nServerName {name}\nSSLEngine on\nSSLCertificateFile /c.pem\n{more}ProxyPass / http://{name}/\n</VirtualHost>\n"
        )
    };
    let optional = "SSLVerifyClient optional\nSSLCACertificateFile /a.pem\n";
    let required = "SSLVerifyClient require\nSSLCACertificateFile /b.pem\n";
    for (second, is_closed) in [(required, true), (optional, false), ("", false)] {
        let text = format!("Listen 443\n{}{}", host("one", optional), host("two", second));
        let toml = convert(&text, "x", Dialect::Apache).text.unwrap();
        assert_eq!(!toml.contains("pool = \"two\""), is_closed, "{text}\n{toml}");
    }
    // Who is revoked is asked from nobody here.
    let text = format!("Listen 443\n{}", host("one", &format!("{required}SSLOCSPEnable on\n")));
    let toml = convert(&text, "x", Dialect::Apache).text.unwrap_or_default();
    assert!(!toml.contains("443"), "{toml}");
}

#[test]
fn values_that_hold_other_values_many_times_are_refused() {
    let mut defines = String::from("Define a0 xxxxxxxxxxxxxxxx\n");
    let mut macros = String::from("<Macro m0 $p>\nServerName $p\n</Macro>\n");
    for at in 1..16 {
        let before = at - 1;
        defines.push_str(&format!("Define a{at} {}\n", format!("${{a{before}}}").repeat(16)));
        macros
            .push_str(&format!("<Macro m{at} $p>\nUse m{before} {}\n</Macro>\n", "$p".repeat(16)));
    }
    for text in [defines, format!("{macros}Use m15 xxxxxxxxxxxxxxxx\n")] {
        let result = convert(&format!("Listen 80\n{text}"), "x", Dialect::Apache);
        assert!(result.text.is_none() && result.left_out > 0);
    }
}
