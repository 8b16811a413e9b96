//! Conversion of what Apache sees otherwise than rules do, one row each: absent fields, encoded characters, early changes.

use convert::dialect::Dialect;
use convert::run::convert;

use super::apache::{ApacheCase, check};

const HOSTS: &[ApacheCase] = &[
    // An expression may find something in the empty text of a field that is not there.
    (
        "RewriteEngine On\nRewriteCond %{HTTP_USER_AGENT} ^-?$\nRewriteRule ^/a - [F]",
        "any = [{ not = { header = \"User-Agent\" } }, { header-regex = \"User-Agent: -?\" }] } deny = true",
        false,
    ),
    (
        "RewriteEngine On\nRewriteCond %{HTTP_USER_AGENT} =\"\"\nRewriteRule ^/a - [F]",
        "any = [{ not = { header = \"User-Agent\" } }, { header-regex = \"User-Agent: \" }] } deny = true",
        false,
    ),
    (
        "RewriteEngine On\nRewriteCond %{HTTP_USER_AGENT} \"\"\nRewriteRule ^/a - [F]",
        "when = { path-regex = \"/a.*\" } deny = true",
        false,
    ),
    (
        "<If \"%{HTTP_USER_AGENT} == ''\">\nRequire all denied\n</If>",
        "any = [{ not = { header = \"User-Agent\" } }, { header-regex = \"User-Agent: \" }] } deny = true",
        false,
    ),
    // A comparison by order is none of a host.
    (
        "RewriteEngine On\nRewriteCond %{HTTP_HOST} >m\nRewriteRule ^/a - [F]",
        "when = { path-regex = \"/a.*\" } deny = true",
        true,
    ),
    // Whom a rule that is not certain would take comes to no later one.
    (
        "RewriteEngine On\nRewriteCond %{QUERY_STRING} x\nRewriteRule ^/a https://c/ [R]",
        "when = { path-regex = \"/a.*\" } answer = 502",
        true,
    ),
    (
        "RewriteEngine On\nRewriteCond %{ENV:x} x\nRewriteRule ^/a http://c/ [P]",
        "when = { path-regex = \"/a.*\" } answer = 502",
        true,
    ),
    // What is not visible in a path stays encoded where rules compare.
    (
        "<LocationMatch \"^/x y$\">\nRequire all denied\n</LocationMatch>",
        "when = { path-regex = \"/x%20y\" } deny = true",
        false,
    ),
    (
        "<Location \"/x y\">\nRequire all denied\n</Location>",
        "when = { path = [\"/x%20y\", \"/x%20y/*\"] } deny = true",
        false,
    ),
    (
        "RewriteEngine On\nRewriteRule \\s - [F]",
        "when = { path-regex = \".*(?:%(?:0[9A-D]|20)).*\" } deny = true",
        false,
    ),
    (
        "<LocationMatch ^/a.c$>\nRequire all denied\n</LocationMatch>",
        "path-regex = \".*%0A.*\" } deny = true",
        false,
    ),
    ("Redirect 403 \"/x y\"\nProxyPass /q !", "answer = 404", false),
    // A field that changes before rules look at it is not the client's any more.
    (
        "RequestHeader unset X-A early\nRewriteEngine On\nRewriteCond %{HTTP:X-A} !=1\nRewriteRule ^/a - [F]",
        "when = { path-regex = \"/a.*\" } deny = true",
        true,
    ),
    (
        "RequestHeader unset X-A early\n<Location /s>\n<If \"%{HTTP:X-A} != '1'\">\nRequire all denied\n</If>\n</Location>",
        "when = { path = [\"/s\", \"/s/*\"] } deny = true",
        true,
    ),
    ("<Proxy *>\nRequestHeader set X-A b\n</Proxy>", "\"X-A: b\"", false),
    ("<Proxy http://c/*>\nRequestHeader set X-A b\n</Proxy>", "remove = [\"X-A\"]", true),
    (
        "<Location /s>\n<Limit GET>\nRequestHeader set X-A b\n</Limit>\n</Location>",
        "remove = [\"X-A\"]",
        true,
    ),
    ("RequestHeader set X-A %{REMOTE_ADDR}e", "remove = [\"X-A\"]", true),
    // What mod_proxy adds comes behind the directives.
    ("RequestHeader unset X-Forwarded-For", "\"X-Forwarded-For: {client}\"", false),
    ("RequestHeader set X-Forwarded-For 1.1.1.1", "\"X-Forwarded-For: 1.1.1.1, {client}\"", false),
    (
        "<If \"%{HTTP:X-A} == '1'\">\nRedirect / http://c/\n</If>",
        "when = { header-regex = \"X-A: 1\" } redirect = ",
        false,
    ),
    ("<If \"true\">\nRedirect /s http://c/\n</If>", "[[service.web.rule]] answer = 502", true),
];

#[test]
fn nothing_opens_that_rules_do_not_see() {
    for (lines, written, left) in HOSTS {
        check(&format!("{lines}\nProxyPass / http://10.0.0.1:8080/"), written, *left);
    }
}

#[test]
fn balancers_of_one_name_in_two_virtual_hosts_are_two() {
    let host = |name: &str| {
        format!(
            "<VirtualHost *:80>\nServerName {name}\n<Proxy balancer://app>\nBalancerMember http://{name}:80/in\n</Proxy>\n\
             ProxyPass / balancer://app/\n</VirtualHost>\n"
        )
    };
    let text = format!("Listen 80\n{}{}", host("one"), host("two"));
    let toml = convert(&text, "x", Dialect::Apache).text.unwrap();
    assert!(toml.contains("\"one:80\"") && toml.contains("\"two:80\""), "{toml}");
    assert_eq!(toml.matches("[pool.").count(), 2, "{toml}");
    // The path of a member stands before that of the request.
    assert_eq!(toml.matches("prefix = \"/in\"").count(), 2, "{toml}");
}

#[test]
fn members_with_different_paths_answer_502() {
    let text = "Listen 80\n<Proxy balancer://app>\nBalancerMember http://a/x\nBalancerMember http://b/y\n</Proxy>\nProxyPass / balancer://app/\n";
    let converted = convert(text, "x", Dialect::Apache);
    assert!(converted.left_out > 0, "{converted:?}");
    assert!(converted.text.unwrap().contains("answer = 502"));
}

#[test]
fn a_redirect_of_the_server_comes_before_access() {
    let text = "Listen 80\n<VirtualHost *:80>\n<Location /s>\nRequire all denied\n</Location>\nRedirect / https://c/\n</VirtualHost>\n";
    let toml = convert(text, "x", Dialect::Apache).text.unwrap();
    let redirect = toml.find("redirect = ").unwrap();
    assert!(toml.find("deny = true").is_none_or(|deny| redirect < deny), "{toml}");
}

#[test]
fn a_named_file_of_the_main_server_closes() {
    for (file, is_closed) in [
        ("/etc/apache2/acl.conf", true),
        ("mods-enabled/*.conf", false),
        ("/etc/apache2/ports.conf", false),
    ] {
        let text = format!(
            "Listen 80\nInclude {file}\n<VirtualHost *:80>\nProxyPass / http://a/\n</VirtualHost>\n"
        );
        let toml = convert(&text, "x", Dialect::Apache).text.unwrap();
        assert_eq!(toml.contains("deny = true"), is_closed, "{toml}");
    }
}
