//! Conversion of single nginx directives, one row each.

#[path = "nginx_closed.rs"]
mod nginx_closed;

use convert::dialect::Dialect;

use super::{ConversionCase, rows};

const NGINX: &[ConversionCase] = &[
    ("location = /a { proxy_pass http://c; }", "when = { path = \"/a\" } pool = \"c\"", false),
    ("location /a { proxy_pass http://c; }", "when = { path = \"/a*\" } pool = \"c\"", false),
    // Access that cannot be expressed is closed.
    (
        "location /a { auth_request /auth; proxy_pass http://c; }",
        "when = { path = \"/a*\" } answer = 401",
        true,
    ),
    ("auth_jwt \"x\"; location /a { proxy_pass http://c; }", "answer = 401", true),
    (
        "location /a { auth_request off; proxy_pass http://c; }",
        "when = { path = \"/a*\" } pool = \"c\"",
        false,
    ),
    (
        "location /a { internal; proxy_pass http://c; }",
        "when = { path = \"/a*\" } answer = 404",
        false,
    ),
    (
        "location /a { limit_except GET { deny all; } proxy_pass http://c; }",
        "when = { path = \"/a*\", not = { method = [\"GET\", \"HEAD\"] } } deny = true",
        false,
    ),
    (
        "location /a { limit_except POST { allow 10.0.0.1; deny all; } proxy_pass http://c; }",
        "deny = true",
        false,
    ),
    (
        "location /a { limit_except GET { auth_jwt x; } proxy_pass http://c; }",
        "not = { method = [\"GET\", \"HEAD\"] } } answer = 401",
        true,
    ),
    (
        "location /a { location /a/in { deny all; } proxy_pass http://c; }",
        "when = { path = \"/a/in*\" } deny = true",
        false,
    ),
    (
        "location /a { deny all; location /a/in { proxy_pass http://c; } }",
        "when = { path = \"/a/in*\" } deny = true",
        false,
    ),
    (
        "location /a { location ~ \\.php$ { deny all; } proxy_pass http://c; }",
        "when = { path = \"/a*\", path-regex = \".*\\\\.php\" } deny = true",
        false,
    ),
    (
        "location ~ ^/x { location /x/y { deny all; } proxy_pass http://c; }",
        "when = { path-regex = \"/x.*\", path = \"/x/y*\" } deny = true",
        false,
    ),
    (
        "location /a { try_files $uri @app; } location @app { proxy_pass http://c; }",
        "when = { path = \"/a*\" } pool = \"c\"",
        true,
    ),
    (
        "location /a { try_files $uri @app; } location @app { deny all; proxy_pass http://c; }",
        "when = { path = \"/a*\" } deny = true",
        true,
    ),
    ("location @app { proxy_pass http://c; }", "pool = \"b\"", true),
    (
        "location /a { return 403 \"no $remote_addr\"; }",
        "when = { path = \"/a*\" } answer = 403",
        false,
    ),
    ("location /a { auth_ldap x; proxy_pass http://c; }", "answer = 401", true),
    ("location /a { modsecurity on; proxy_pass http://c; }", "answer = 401", true),
    ("location /a { access_by_lua_block { x } proxy_pass http://c; }", "answer = 401", true),
    (
        "location = /a { return 200 \"a\\tb\\n\"; }",
        "answer = { status = 200, body = \"a\\tb\\n\" }",
        false,
    ),
    (
        "location = /a { return 301 https://$host$request_uri; }",
        "redirect = { to = \"https://{host-name}{path}{query}\", status = 301 }",
        false,
    ),
    ("if ($blocked) { return 403; }", "answer = 403", true),
    (
        "if ($http_user_agent ~* bot) { return 444; }",
        "when = { header = \"user-agent: *bot*\", value-case = \"ignore\" } deny = true",
        false,
    ),
    // A field that is not there is empty.
    (
        "if ($http_user_agent = \"\") { return 403; }",
        "when = { not = { header-regex = \"user-agent: .+\" } } answer = 403",
        false,
    ),
    ("if ($http_a = x*) { return 403; }", "when = { header = \"a: x\\\\*\" } answer = 403", false),
    (
        "if ($cookie_a) { return 302 /x; }",
        "when = { cookie = \"a\", not = { cookie = [\"a=\", \"a=0\"] } } redirect",
        false,
    ),
    ("if ($uri ~ ^/(a|b)/) { return 403; }", "path-regex = \"/(a|b)/.*\" } answer = 403", false),
    ("if ($request_uri = /a) { return 301 /b; }", "when = { path = \"/a\" } redirect", false),
    ("if ($request_uri ~ x) { return 403; }", "] answer = 403", true),
    (
        "if ($remote_addr ~ ^10\\.) { return 403; }",
        "when = { client = \"10.0.0.0/8\" } answer = 403",
        false,
    ),
    ("if ($ssl_client_verify != SUCCESS) { return 403; }", "] answer = 403", false),
    // A page for maintenance protects nothing, so that nobody is refused.
    ("if (-f /x) { return 503; }", "pool = \"b\"", true),
    ("if (!-f /x) { return 403; }", "] answer = 403", true),
    (
        "if ($http_user_agent ~ (bot|crawl)) { return 403; }",
        "when = { header = [\"user-agent: *bot*\", \"user-agent: *crawl*\"] } answer = 403",
        false,
    ),
    (
        "if ($cookie_a !~ ^x) { return 403; }",
        "when = { not = { cookie = \"a=x*\" } } answer = 403",
        false,
    ),
    (
        "if ($http_x ~ ^a|b$) { return 403; }",
        "when = { header-regex = \"x: .*(?:^a|b$).*\" } answer = 403",
        false,
    ),
    ("if ($http_x ~ a(?=b)) { return 403; }", "] answer = 403", true),
    (
        "set $p c; location /a { proxy_pass http://$p; }",
        "when = { path = \"/a*\" } pool = \"c\"",
        false,
    ),
    (
        "location /a { set $p b; if ($cookie_x = 1) { set $p c; } proxy_pass http://$p; }",
        "when = { path = \"/a*\", cookie = \"x=1\" } pool = \"c\"",
        false,
    ),
    (
        "set $n 0; if ($http_a = 1) { set $n 1; } if ($http_b = 1) { set $n \"${n}1\"; } if ($n = 11) { return 403; }",
        "when = { header = \"b: 1\", all = [{ header = \"a: 1\" }] } answer = 403",
        false,
    ),
    (
        "if ($request_method !~ ^(GET|POST)$) { return 405; }",
        "when = { not = { method = [\"GET\", \"POST\"] } } answer = 405",
        false,
    ),
    (
        "if ($host !~* ^(a\\.example|b)$) { return 444; }",
        "when = { not = { host = [\"a.example\", \"b\"] } } deny = true",
        false,
    ),
    ("if ($blocked) { return 301 /x; }", "[[service.web.rule]] answer = 502", true),
    (
        "valid_referers none blocked a.example *.b.example/x/; if ($invalid_referer) { return 403; }",
        "header-regex = [\"referer: (?i)https?://a\\\\.example(?:[:/].*)?\", \
         \"referer: (?i)https?://[^/:]+\\\\.b\\\\.example(?::[^/]*)?/x/.*\"]",
        false,
    ),
    (
        "location /a { valid_referers none server_names ~^google; if ($invalid_referer) { return 403; } proxy_pass http://c; }",
        "\"referer: (?i)https?://google.*\"",
        true,
    ),
    (
        "deny 10.1.0.1; deny 10.1.0.2; deny 10.1.0.3;",
        "client = [\"10.1.0.1\", \"10.1.0.2\", \"10.1.0.3\"]",
        false,
    ),
    // Behind `all` no line decides anything.
    (
        "location /a { allow all; deny 10.1.0.1; proxy_pass http://c; }",
        "when = { path = \"/a*\" } pool = \"c\"",
        false,
    ),
    (
        "location /a { deny all; allow 10.1.0.1; proxy_pass http://c; }",
        "when = { path = \"/a*\" } deny = true",
        false,
    ),
    (
        "location /a { satisfy any; allow 10.1.0.1; deny all; auth_basic x; proxy_pass http://c; }",
        "not = { client = \"10.1.0.1\" } } answer = 401",
        true,
    ),
    ("include proxy_params;", "deny = true", true),
    (
        "location /a { include proxy_params; proxy_pass http://c; }",
        "when = { path = \"/a*\" } deny = true",
        true,
    ),
    ("include mime.types;", "pool = \"b\"", false),
    ("proxy_pass_request_headers on;", "pool = \"b\"", false),
    ("proxy_pass_request_headers off;", "answer = 502", true),
    ("listen [::]:81 ipv6only=off;", "\":81\"", false),
    ("listen 81; listen [::]:81 ipv6only=off;", "\":81\", # line 3 ] forward", false),
    (
        "location /a/ { proxy_pass http://c/b/; }",
        "rewrite = { path = \"/b/{rest}\", host = \"c\"",
        false,
    ),
    ("location ~ ^/[0-9]+$ { proxy_pass http://c; }", "path-regex = \"/[0-9]+\"", false),
    ("location ~* \\.js$ { proxy_pass http://c; }", "path-regex = \"(?i).*\\\\.js\"", false),
    ("location /a { return 302 /b; }", "redirect = { to = \"/b\", status = 302 }", false),
    ("location /a { return 200 hi; }", "answer = { status = 200, body = \"hi\" }", false),
    (
        "location /a { deny 10.0.0.1; allow 10.0.0.0/8; deny all; proxy_pass http://c; }",
        "not = { client = \"10.0.0.0/8\" } } deny = true",
        false,
    ),
    ("location /a { proxy_pass http://10.9.0.1:81; }", "servers = [   \"10.9.0.1:81\"", false),
    ("location /a { proxy_pass https://c; }", "tls = { verify = \"off\" }", false),
    ("location /a { root /srv; }", "answer = 404", true),
    ("location /a { proxy_pass http://$arg_x; }", "answer = 502", true),
    ("location /a { auth_basic x; proxy_pass http://c; }", "answer = 401", true),
    ("location ~ (?=a) { proxy_pass http://c; }", "pool = \"b\"", true),
    ("rewrite ^/a$ /b permanent;", "redirect = { to = \"/b{query}\", status = 301 }", false),
    ("rewrite ^/a$ /b permanent;", "when = { path = \"/a\" }", false),
    ("rewrite ^/a /b permanent;", "when = { path = \"/a*\" }", false),
    ("rewrite ^/a.c$ /b permanent;", "when = { path-regex = \"/a(?:[^%]|%[0-9A-F]{2})c\" }", false),
    // nginx appends the query of the request to that of the new URL.
    ("rewrite ^/a$ /b?x=1 permanent;", "to = \"/b?x=1{more-query}\"", false),
    ("rewrite ^/a$ /b?x=1? permanent;", "to = \"/b?x=1\"", false),
    ("location /a { return 301 /b?x=1&$args; }", "to = \"/b?x=1{more-query}\"", false),
    ("location /a { return 301 /b?$args&x=1; }", "answer = 502", true),
    (
        "location /a { add_header Content-Type a/b; return 200 x; }",
        "{ field = \"Content-Type: a/b\", statuses = [200,",
        false,
    ),
    (
        "if ($host = a.example) { return 301 https://b.example$request_uri; }",
        "when = { host = \"a.example\" } redirect",
        false,
    ),
    ("if ($x) { set $y 1; }", "pool = \"b\"", false),
    (
        "set_real_ip_from 10.0.0.0/8; real_ip_header X-Forwarded-For; location /a { allow 10.1.0.0/16; deny all; proxy_pass http://c; }",
        "when = { path = \"/a*\", client = \"10.0.0.0/8\" } deny = true",
        true,
    ),
    (
        "set_real_ip_from 10.0.0.0/8; proxy_set_header X-Real-IP $remote_addr;",
        "remove = \"X-Real-IP\"",
        true,
    ),
    ("add_header X-A b;", "response-add = [{ field = \"X-A: b\", statuses = [200, ", false),
    (
        "add_header X-A $host always;",
        "response-add = [{ field = \"X-A: {host-name}\", own = true }]",
        false,
    ),
    (
        "location /a { add_header X-A b; return 204; }",
        "answer = 204 rewrite = { response-add = ",
        false,
    ),
    (
        "proxy_redirect http://x:1/ /y/;",
        "location = [{ from = \"http://x:1/\", to = \"http://{host-name}/y/\" }]",
        false,
    ),
    ("proxy_redirect off;", "rewrite = { host = \"b\" }", false),
    ("proxy_redirect ~^http(.*) $1;", "pool = \"b\"", true),
    (
        "proxy_cookie_domain b.example a.example;",
        "cookie-domain = [{ from = \"b.example\", to = \"a.example\" }]",
        false,
    ),
    ("proxy_cookie_path /b /;", "cookie-path = [{ from = \"/b\", to = \"/\" }]", false),
    ("proxy_connect_timeout 2s;", "timeout = { connect = \"2s\", first-byte = \"1m\"", false),
    ("unheard_of x;", "pool = \"b\"", true),
];

#[test]
fn nginx() {
    rows(Dialect::Nginx, NGINX);
}

const NGINX_CONNECTIONS_AND_ANSWERS: &[ConversionCase] = &[
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
        "timeout = { first-byte = \"1h\", between-bytes = \"1h\", stream = \"1h\", tunnel = \"1h\" }",
        false,
    ),
    ("uwsgi_temp_path /x; scgi_temp_path /x; fastcgi_temp_path /x;", "pool = \"b\"", false),
];

#[test]
fn nginx_connections_and_answers() {
    rows(Dialect::Nginx, NGINX_CONNECTIONS_AND_ANSWERS);
}

const NGINX_FIELDS: &[ConversionCase] = &[
    ("", "field-names = \"drop\"", false),
    ("proxy_set_header X-Real-IP $remote_addr;", "set = \"X-Real-IP: {client}\"", false),
    (
        "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;",
        "set = \"X-Forwarded-For: {client-chain}\"",
        false,
    ),
    ("proxy_set_header X-Forwarded-For \"\";", "remove = \"X-Forwarded-For\"", false),
    ("proxy_set_header X-A $http_x_b;", "set = \"X-A: {header.x-b}\"", false),
    ("proxy_set_header X-A $cookie_a;", "remove = \"X-A\"", true),
    ("proxy_set_header Host $host:$server_port;", "host = \"{host-name}:{port}\"", false),
    ("proxy_set_header Host $host;", "pool = \"b\"", false),
    ("proxy_set_header Content-Length 1;", "pool = \"b\"", true),
    (
        "location /a { rewrite ^/a /b; proxy_pass http://c; }",
        "when = { path = \"/a*\", path-regex = \"/a.*\" } pool = \"b\" rewrite = { path = \"/b\", host = \"b\"",
        false,
    ),
];

#[test]
fn fields_of_requests_are_set_from_what_is_known_of_the_client() {
    rows(Dialect::Nginx, NGINX_FIELDS);
}

#[test]
fn fields_with_underscores_pass_where_nginx_passes_them() {
    let text = "http { server { listen 127.0.0.1:80; underscores_in_headers on;\n\
                location / { proxy_pass http://10.0.0.1:80; } } }";
    let written = convert::run::convert(text, "x", Dialect::Nginx).text.unwrap();
    assert!(!written.contains("field-names"), "{written}");
}
